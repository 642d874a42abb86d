#pragma once

#include "packet/flow_key.h"
#include "steering/steering_table.h"

#include <mqsteer/config.h>
#include <mqsteer/error.h>
#include <mqsteer/id.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mqsteer::sim {

/// What to simulate: one steering table, as mqsteerd would build it.
struct Options {
  std::string file;                        ///< pcap or pcapng; "-": standard input
  SteeringMode mode = SteeringMode::kRps;  ///< kRps, kSoftRss or kRfs
  std::uint16_t workers = 1;               ///< 1..kMaxWorkers
  bool symmetric = true;
  TunnelKey tunnels = TunnelKey::kInner;
  std::uint32_t rss_buckets = 128;  ///< of soft-rss; a power of two, 2..65536
  /// Of soft-rss: entries of the NIC's table, whose hash bits are left to it (rss_bits: above_nic,
  /// what several RX queues get); 0: none are (rss_bits: hardware)
  std::uint32_t reta_entries = 0;
  // Of rfs:
  std::uint32_t rfs_flows = 65536;   ///< RfsTable::kMinFlows..kMaxFlows
  std::uint64_t consumers_move = 0;  ///< after so many packets of a flow; 0: they hold still
  std::uint32_t backlog = 64;        ///< packets on the way at once, 1..4096
};

/// Where one packet would go.
struct Verdict {
  std::uint64_t n = 0;  ///< from 1
  const FlowKey& key;
  std::uint32_t hash = 0;
  std::uint32_t bucket = 0;
  WorkerId worker;
};

/// What rfs did for the consumers of flows. A hop: a packet that came to another worker than its
/// flow's consumer and had to be handed over.
struct RfsSummary {
  std::uint64_t hops = 0;
  std::uint64_t hops_under_rps = 0;
  std::uint64_t consumer_moves = 0;
  std::uint64_t moves = 0;       ///< flows' buckets that went to another worker
  std::uint64_t moves_held = 0;  ///< packets that stayed at the old one, to keep their order
  std::uint64_t displaced = 0;   ///< flows that lost their place in the table to others
};

struct Summary {
  std::uint64_t packets = 0;
  std::uint64_t flows = 0;       ///< distinct keys
  std::uint64_t unreadable = 0;  ///< keyed by what could be read of them
  std::uint32_t buckets = 0;
  std::vector<std::uint64_t> worker_packets;
  std::array<std::uint64_t, kPacketKinds> kind_packets{};
  std::optional<RfsSummary> rfs;
};

/// The steering table as mqsteerd builds it, all workers live and of equal weight.
[[nodiscard]] std::unique_ptr<SteeringTable> table_of(const Options& options);

/// Sends every packet of a capture file through the steering table.
///
/// each: called for every packet, in order; may be empty
/// error: the file cannot be opened, is no capture, is not Ethernet, or cannot be read to its end;
///   then the message says how many packets came before
[[nodiscard]] Expected<Summary> simulate(const Options& options,
                                         const std::function<void(const Verdict&)>& each);

}  // namespace mqsteer::sim
