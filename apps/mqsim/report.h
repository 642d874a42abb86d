#pragma once

#include "mqsim/simulation.h"

#include <string>

namespace mqsteer::sim {

/// The largest worker's packets over the mean of all; 0 without packets.
[[nodiscard]] double max_over_mean(const Summary& summary);

/// What people read.
[[nodiscard]] std::string to_text(const Options& options, const Summary& summary);

/// The same as one JSON object: {"file", "mode", "buckets", "packets", "flows", "unreadable",
/// "max_over_mean", "workers": [{"worker", "packets", "share"}], "kinds": {name: packets}}.
[[nodiscard]] std::string to_json(const Options& options, const Summary& summary);

/// The header and a line of --per-packet, with line feeds.
[[nodiscard]] std::string per_packet_header();
[[nodiscard]] std::string per_packet_line(const Verdict& verdict);

}  // namespace mqsteer::sim
