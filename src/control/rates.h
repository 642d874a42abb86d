#pragma once

#include "control/text_table.h"

#include <mqsteer/error.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mqsteer {

using Json = nlohmann::ordered_json;

/// What happened from one answer of `stats show` to the next, per second:
/// {"interval_ms", "ports": [{"name", "link", "rx_pps", "rx_mbps", …, "queues": […]}],
///  "workers": [{"worker", "lcore", "state", "pps", "backlog", "moves_pps", "wrong_worker_pps",
///  "handed_over_pps", "originated_pps", "order_checked_pps", "reordered_pps", "drops_pps",
///  "busy_share"}], "totals": {"rx_pps", "tx_pps", "consumed_pps", "in_flight", "drops": {reason:
///  n}}}.
/// mbps: 10^6 bits of frames a second, as the port counts bytes. A counter that ran backwards
/// counts as 0.
///
/// errors: answers of two plans, or of a daemon of another version
[[nodiscard]] Expected<Json> rates_between(const Json& before, const Json& after);

/// The tables of `top`.
[[nodiscard]] Expected<std::string> rates_text(const Json& rates, const Paint& paint);

}  // namespace mqsteer
