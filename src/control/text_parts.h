#pragma once

#include "control/text_table.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

// What the texts of answers are made of. All of these throw Json::exception where an answer lacks
// what they need, which text_of() makes a message of.

namespace mqsteer {

using Json = nlohmann::ordered_json;

[[nodiscard]] std::string decimal(double value, int digits);
/// share: 0..1
[[nodiscard]] std::string percent(double share);

/// A number or a text as it is in the answer; null: "-".
[[nodiscard]] std::string plain(const Json& value);

/// A member that must be a list.
[[nodiscard]] const Json& list(const Json& object, const char* name);

[[nodiscard]] Cell cell(const Json& object, const char* name);
/// A number that is bad unless 0.
[[nodiscard]] Cell bad(const Json& object, const char* name);
[[nodiscard]] Cell link_cell(const Json& port);
[[nodiscard]] Cell state_cell(const Json& worker);

/// Of drops by reason.
[[nodiscard]] std::uint64_t sum_of(const Json& drops);

/// "fragments: 5 went with their flow, …", a line; counts: as `fragments` in stats
[[nodiscard]] std::string fragments_text(const Json& counts);

// --- tables of workers ------------------------------------------------------------------------

/// busy: with their share of busy time since the start, which `worker show` has
[[nodiscard]] std::string worker_table(const Json& workers, bool busy, const Paint& paint);

/// Hops, what the order check found, and what the handlers count; each where there is something.
[[nodiscard]] std::string more_of_workers(const Json& workers, const Paint& paint);

/// totals: of all drops by reason; nullptr: none
[[nodiscard]] std::string drops_table(const Json& workers, const Json* totals, const Paint& paint);

// --- steering and flows -------------------------------------------------------------------------

[[nodiscard]] std::string steering_show_text(const Json& answer, const Paint& paint);
[[nodiscard]] std::string steering_set_text(const Json& answer, const Paint& paint);
[[nodiscard]] std::string flow_explain_text(const Json& answer, const Paint& paint);
[[nodiscard]] std::string flow_show_text(const Json& answer, const Paint& paint);

}  // namespace mqsteer
