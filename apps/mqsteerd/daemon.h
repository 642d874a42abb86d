#pragma once

#include "eal/eal.h"
#include "options.h"
#include "runtime/runtime.h"

#include <mqsteer/config.h>
#include <mqsteer/error.h>

#include <memory>

namespace mqsteer {

/// EAL as the configuration wants it.
[[nodiscard]] Expected<Eal> start_eal(const Config& config);

/// Opens the ports, plans and starts. What an operator should know of it is logged.
[[nodiscard]] Expected<std::unique_ptr<Runtime>> start_runtime(const Eal& eal,
                                                               const Config& config);

/// Serves the control socket, signals, links and the watchdog until SIGINT or SIGTERM.
[[nodiscard]] Expected<void> serve(Runtime& runtime, const Options& options);

/// Stops, and says what became of every packet.
///
/// returns: kDone, or kLost where the stop itself lost packets
[[nodiscard]] Exit stop_and_sum_up(Runtime& runtime);

/// SIGINT, SIGTERM and SIGHUP are blocked from here on and wait for serve(). Before threads start.
void block_signals();

}  // namespace mqsteer
