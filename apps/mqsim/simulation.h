#pragma once

#include "packet/flow_hasher.h"
#include "packet/flow_key.h"

#include <mqsteer/config.h>
#include <mqsteer/error.h>
#include <mqsteer/id.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mqsteer::sim {

/// What to simulate: one steering table, as mqsteerd would build it.
struct Options {
  std::string file;                        ///< pcap or pcapng; "-": standard input
  SteeringMode mode = SteeringMode::kRps;  ///< kRps or kSoftRss
  std::uint16_t workers = 1;               ///< 1..kMaxWorkers
  bool symmetric = true;
  TunnelKey tunnels = TunnelKey::kInner;
  std::uint32_t rss_buckets = 128;  ///< of soft-rss; a power of two, 2..65536
};

/// Where one packet would go.
struct Verdict {
  std::uint64_t n = 0;  ///< from 1
  const FlowKey& key;
  std::uint32_t hash = 0;
  std::uint32_t bucket = 0;
  WorkerId worker;
};

struct Summary {
  std::uint64_t packets = 0;
  std::uint64_t flows = 0;       ///< distinct keys
  std::uint64_t unreadable = 0;  ///< keyed by what could be read of them
  std::uint32_t buckets = 0;
  std::vector<std::uint64_t> worker_packets;
  std::array<std::uint64_t, kPacketKinds> kind_packets{};
};

/// The way from a packet to a worker: the data path's own functions, without its threads.
class Steering {
 public:
  explicit Steering(const Options& options);
  struct Choice {
    Dissection dissection;
    std::uint32_t hash = 0;
    std::uint32_t bucket = 0;
    WorkerId worker;
  };
  /// Parameters as for dissect().
  [[nodiscard]] Choice choose(const std::byte* data, std::size_t readable,
                              std::size_t frame_length) const;
  [[nodiscard]] std::uint32_t buckets() const { return std::uint32_t{1} << bits_; }

 private:
  SteeringMode mode_;
  unsigned bits_;
  FlowHasher hasher_;
  std::vector<WorkerId> table_;
};

/// Sends every packet of a capture file through the steering table.
///
/// each: called for every packet, in order; may be empty
/// error: the file cannot be opened, is no capture, is not Ethernet, or cannot be read to its end;
///   then the message says how many packets came before
[[nodiscard]] Expected<Summary> simulate(const Options& options,
                                         const std::function<void(const Verdict&)>& each);

}  // namespace mqsteer::sim
