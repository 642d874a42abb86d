#pragma once

#include "options.h"
#include "output.h"

#include <mqsteer/error.h>

namespace mqsteer {

/// `top`: a table of rates at every interval, over the last one on a terminal and below it
/// elsewhere; with a JSON format one object each. Ends after `count`, or at SIGINT or SIGTERM.
///
/// errors: of wrong usage where the keys are at fault rather than the daemon
[[nodiscard]] Outcome<void> run_top(const Invocation& invocation);

}  // namespace mqsteer
