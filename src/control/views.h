#pragma once

#include "runtime/flow_explanation.h"
#include "runtime/plan.h"
#include "runtime/snapshot.h"

#include <mqsteer/config.h>
#include <mqsteer/error.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace mqsteer {

struct DaemonFacts;

/// What the commands answer, as JSON; the only source of figures, since mqsteerctl makes its text
/// from the same objects. Names of members are public: add, never rename.
using Json = nlohmann::ordered_json;

/// {"ports": […], "workers": […], "totals": {…}, "time_ns": monotonic clock}
[[nodiscard]] Json stats_view(const Snapshot& snapshot);

/// {"ports": […]}: what the ports are and count. notes: by port; may be shorter.
[[nodiscard]] Json ports_view(const Snapshot& snapshot, const Plan& plan,
                              const std::vector<std::vector<std::string>>& notes);

/// {"queues": [{"port", "queue", "lcore", "worker", "rx_packets", "rx_bytes"}]}
[[nodiscard]] Json queues_view(const Snapshot& snapshot, const Plan& plan);

/// {"workers": […]}: as in stats, and the lifetime's share of turns that had work.
[[nodiscard]] Json workers_view(const Snapshot& snapshot);

/// {"lcores": […], "ports": […], "backlog_slots", …, "notes": […]}. A role "worker" is had by the
/// workers that steering lists now; the rest of the plan never changes. "rfs_flows_bytes" are those
/// of one table of flows; "steering_bytes" have two, since a change of the hash makes a new one.
[[nodiscard]] Json plan_view(const Plan& plan, const SteeringConfig& steering);

/// {"mode", …, "fragment_counts": as "fragments" in stats, "rfs": as in flows_view, "workers":
/// [{"worker", "lcore", "state", "buckets", "weight", "packets", "share"}]}
[[nodiscard]] Json steering_view(const Config& config, const Snapshot& snapshot,
                                 const RfsFigures& rfs);

/// {"config": the file's keys as JSON, "yaml": the same as the file's text}
[[nodiscard]] Json config_view(const Config& config);

/// {"changes": [{"key", "running", "file", "live"}]}
[[nodiscard]] Json config_diff_view(const Config& running, const Config& file);

/// {"flow", "kind", "key", "mode", "hash": "0x…", "hash_function", "bucket", "buckets", "desired",
/// "why": "bucket", "consumer", "pin" or "consumer_gone", "forced", "moves": "settled" (it is where
/// it should be), "held" (at once, its packets being held meanwhile) or "drained" (once nothing of
/// it is outstanding), "current": [{"lcore", "worker": null where no packet of its bucket has come
/// or they wait, "drained", "held"}]}. Under none nothing is desired: "bucket", "desired", "why",
/// "forced" and "moves" are null, "current" is empty.
///
/// snapshot: says which workers get flows; one that is not in it does
[[nodiscard]] Json explanation_view(const FlowExplanation& explanation,
                                    const Snapshot& snapshot = {});

/// A pin, and what the table says of its flow.
struct PinState {
  FlowPin pin;
  DesiredBy why = DesiredBy::kPin;
};

/// {"pins": [{"flow", "worker", "state": "pinned", "waits" (for rfs), "worker_gone" (it gets no
/// flows) or "no_place" (other pins have the places of the table that it can have)}], "rfs":
/// {"entries", "used", "displaced", "pins"}, or null in all other modes}
[[nodiscard]] Json flows_view(const std::vector<PinState>& pins, const RfsFigures& rfs);

/// Every reason by its name, those without a drop too.
[[nodiscard]] Json drops_view(const DropFigures& drops);

}  // namespace mqsteer
