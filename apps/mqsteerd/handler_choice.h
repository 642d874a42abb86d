#pragma once

#include "port/port.h"
#include "runtime/plan.h"
#include "runtime/runtime.h"

#include <mqsteer/config.h>
#include <mqsteer/error.h>

#include <cstdint>
#include <vector>

namespace mqsteer {

/// What the workers of a box do: bridge, answer TCP, or use up what comes.
struct ChosenHandler {
  LoopFactory loops;
  HandlerFigures figures;  ///< empty: it counts nothing of its own
  HandlerNeeds needs;
  bool checksums = false;  ///< it can use a NIC's checksum offloads
};

/// The one place where a configuration becomes a handler. Needs EAL and opened ports, in the
/// configuration's order. What it makes lives as long as the loops.
[[nodiscard]] Expected<ChosenHandler> choose_handler(const Config& config,
                                                     const std::vector<PortCapabilities>& ports,
                                                     std::uint16_t lcores);

/// What that handler will need, as far as it is known before EAL is up.
[[nodiscard]] HandlerNeeds handler_needs(const Config& config);

}  // namespace mqsteer
