#pragma once

#include <mqsteer/counter.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mqsteer {

/// What a worker of the rr handler counts.
enum class RrCount : std::uint8_t {
  // connections; at rest opened = closed + reset + timed_out + those there are
  kConnectionsOpened,    ///< handshakes completed
  kConnectionsClosed,    ///< by FIN, both ways
  kConnectionsReset,     ///< by the client's RST
  kConnectionsTimedOut,  ///< reset by us: retransmitted too often, or idle for too long
  kConnectionsRefused,   ///< SYNs dropped: no room for another connection; the client sends them
                         ///< again
  kHandshakesFailed,     ///< half-open connections that ended: RST, no ACK for SYN-ACK, or replaced
  kHandshakesReplaced,  ///< of those: all places were in use, and a newer SYN took the oldest one's
  kSynDropped,          ///< SYNs lost in a race for who owns the flow; the client sends them again
  // traffic of connections
  kTransactions,      ///< data segments echoed
  kEchoedBytes,       ///< data bytes taken in, each echoed once
  kAcksReceived,      ///< segments that called for no answer
  kRetransmits,       ///< segments sent again, SYN-ACKs too
  kWindowProbes,      ///< bytes sent into a client's closed window
  kOutOfOrder,        ///< data segments ahead of their turn: dropped, answered with ACK
  kOldDuplicates,     ///< data segments that were there before: answered with ACK
  kOutsideWindow,     ///< segments beyond the window: answered with ACK
  kNoBuffer,          ///< data segments ignored: no buffer for the echo
  kChallengeAcks,     ///< RFC 5961
  kChallengesSpared,  ///< challenge ACKs not sent: one a connection in 200 ms is enough
  kResetsIgnored,     ///< RSTs outside the window, or of no connection
  kResetsSent,        ///< to segments of no connection or to closed ports
  // neighbours
  kArpAnswers,
  kNeighbourAnswers,  ///< advertisements sent for IPv6 neighbour solicitations
  kIcmpAnswers,       ///< echo replies, ICMP and ICMPv6
  // used up without an answer
  kBadChecksum,  ///< IPv4, TCP, ICMP or ICMPv6
  kMalformed,    ///< lengths that contradict each other, flags that make no sense
  kTagged,       ///< VLAN, MPLS, PPPoE, or in a tunnel
  kFragments,
  kIpOptions,       ///< IPv4 options or IPv6 extension headers
  kSegmentedMbufs,  ///< frames in several mbuf segments
  kNotForUs,        ///< other MAC, address or port of the box
  kBadSource,       ///< sent by a group, broadcast, unspecified or our own address
  kUnwanted,        ///< for us, but nothing that we answer
  kUnanswered,      ///< there was no mbuf for the answer
  // extra work
  kWorkSamples,  ///< packets whose extra work was timed
  kWorkCycles,   ///< TSC cycles it took, of all samples together
  kCount
};

inline constexpr std::size_t kRrCounts = static_cast<std::size_t>(RrCount::kCount);

inline constexpr std::array<std::string_view, kRrCounts> kRrCountNames = {
    "connections_opened",
    "connections_closed",
    "connections_reset",
    "connections_timed_out",
    "connections_refused",
    "handshakes_failed",
    "handshakes_replaced",
    "syn_dropped",
    "transactions",
    "echoed_bytes",
    "acks_received",
    "retransmits",
    "window_probes",
    "out_of_order",
    "old_duplicates",
    "outside_window",
    "no_buffer",
    "challenge_acks",
    "challenges_spared",
    "resets_ignored",
    "resets_sent",
    "arp_answers",
    "neighbour_answers",
    "icmp_answers",
    "bad_checksum",
    "malformed",
    "tagged",
    "fragments",
    "ip_options",
    "segmented_mbufs",
    "not_for_us",
    "bad_source",
    "unwanted",
    "unanswered",
    "work_samples",
    "work_cycles",
};
static_assert(!kRrCountNames.back().empty(), "every counter has a name");

[[nodiscard]] constexpr std::string_view name_of(RrCount count) noexcept {
  return kRrCountNames[static_cast<std::size_t>(count)];
}

/// One worker's counters. Written by its lcore; readers take snapshots.
class alignas(64) RrCounters {
 public:
  void add(RrCount count, std::uint64_t n = 1) noexcept {
    counters_[static_cast<std::size_t>(count)].add(n);
  }
  [[nodiscard]] std::uint64_t read(RrCount count) const noexcept {
    return counters_[static_cast<std::size_t>(count)].read();
  }

  /// Connections that there are now, half-open ones included.
  void set_connections(std::uint32_t now) noexcept {
    connections_.store(now, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t connections() const noexcept {
    return connections_.load(std::memory_order_relaxed);
  }

 private:
  std::array<Counter, kRrCounts> counters_;
  std::atomic<std::uint32_t> connections_{0};
};

}  // namespace mqsteer
