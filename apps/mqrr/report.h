#pragma once

#include "mqrr/client.h"

#include <string>

namespace mqsteer::rr_kernel {

/// `1.5 s`
[[nodiscard]] std::string seconds_text(double seconds);

/// The client's figures for people, over several lines.
[[nodiscard]] std::string text_report(const ClientConfig& config, const ClientResult& result);

/// The same as one JSON object on one line: {"server", "connections", "threads", "size", "seconds",
/// "transactions", "tps", "latency_us": {"p50", "p90", "p99", "p99_9", "max"}, "series", "lost",
/// "wrong", "silent", "trouble"}. Times are microseconds, "tps" is per second, "trouble" is empty
/// where there was none
[[nodiscard]] std::string json_report(const ClientConfig& config, const ClientResult& result);

}  // namespace mqsteer::rr_kernel
