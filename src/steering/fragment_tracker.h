#pragma once

#include "backlog/aligned_array.h"
#include "eal/clock.h"
#include "packet/flow_hasher.h"
#include "packet/fragment.h"

#include <mqsteer/counter.h>
#include <mqsteer/packet_meta.h>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

namespace mqsteer {

/// What became of fragments. Written by the RX lcore. At rest, tracked + missed are all fragments.
struct alignas(kCacheLine) FragmentCounters {
  Counter tracked;  ///< went by their flow's hash
  Counter missed;   ///< went by addresses and protocol: no first fragment came in time
  Counter held;     ///< had to wait for their first fragment; they are in one of the others too
};

/// `fragments: track`: gives every fragment the hash of its flow, which the first one names. Where
/// the first comes first, the others follow it at once; others are held until it comes, and go on
/// right behind it, in their order.
///
/// Held at most for a time and in number; then the whole datagram goes by the key that fragments
/// have anyway (addresses, protocol), so that its parts still meet at one worker, in order:
///   - held too long: its fragments go on, and those that come a while later, the first too, go
///     the same way
///   - 256 held already: the datagram that has waited longest goes on so, to make room. (Not the
///     new one: under a flood of strays a datagram whose first fragment comes soon is still put
///     right.)
///   - the first fragment is cut within the headers that name the flow: at once
/// Nothing is put together or checked: fragments that overlap or come twice are of their datagram,
/// and a new first fragment begins a new one (an id used again). A datagram is over when as many
/// bytes have come as its last fragment says; it is remembered for a while then, so that fragments
/// that come twice follow the others.
///
/// One per RX lcore, used by it alone but for counters(); no memory is taken after creation. Mbufs
/// in it belong to the RX lcore. A packet of another kind costs one comparison, and overtakes held
/// fragments of its flow: those came out of order already.
class FragmentTracker {
 public:
  static constexpr std::size_t kDatagrams = 4096;  ///< remembered at once, in sets of eight
  static constexpr std::uint16_t kPackets = 256;   ///< held at once
  static constexpr std::uint64_t kHoldNs = 10'000'000;
  /// A datagram of which nothing comes for this long is forgotten.
  static constexpr std::uint64_t kRememberNs = 1'000'000'000;

  /// hz: of the TSC, not 0
  FragmentTracker(std::uint64_t hz, std::pmr::memory_resource& memory);

  /// What one takes of `memory`, and of its own place, in bytes.
  [[nodiscard]] static constexpr std::size_t bytes() noexcept;

  /// Tracks by this hasher from here on, which outlives its use; forgets all datagrams. Nothing may
  /// be held.
  void adopt(const FlowHasher& hasher) noexcept;

  /// A burst that has passed FlowHasher::run of the adopted hasher.
  ///
  /// burst: at most kMaxBurst packets; fragments that wait stay here, the others come back
  /// returns: what goes on now, in order: the burst itself where it has no fragment, else up to
  ///   kPackets + kMaxBurst packets, in memory that is valid until the next call
  [[nodiscard]] std::span<PacketMeta> track(std::span<PacketMeta> burst, TscCycles now) noexcept {
    std::size_t whole = 0;
    while (whole < burst.size() && burst[whole].kind != PacketKind::kFragment) ++whole;
    if (whole == burst.size()) return burst;
    return track_from(whole, burst, now);
  }

  /// What has been held too long; call it in every turn of the loop where held() is not 0. returns:
  /// as track(), at most kPackets
  [[nodiscard]] std::span<PacketMeta> expire(TscCycles now) noexcept;

  /// Everything that is held, for a quiesce or a stop. returns: as expire()
  [[nodiscard]] std::span<PacketMeta> release_all(TscCycles now) noexcept;

  [[nodiscard]] std::uint16_t held() const noexcept { return held_; }
  /// Any thread.
  [[nodiscard]] const FragmentCounters& counters() const noexcept { return counters_; }

 private:
  enum class State : std::uint8_t {
    kFree,
    kWaiting,   ///< its fragments are held for its first one
    kKnown,     ///< its flow is
    kComplete,  ///< as kKnown, and all of it has come
    kGivenUp,   ///< it goes by the fragment key
  };

  static constexpr std::uint16_t kNone = 0xffff;
  static constexpr std::size_t kWays = 8;
  static constexpr std::size_t kSets = kDatagrams / kWays;

  /// A datagram. since: when it began to wait, was given up or complete; else of its latest packet
  struct alignas(kCacheLine) Entry {
    Datagram datagram;
    TscCycles since;
    std::uint32_t hash = 0;         ///< of its flow, where that is known
    std::uint16_t seen_bytes = 0;   ///< saturates
    std::uint16_t total_bytes = 0;  ///< 0: its last fragment has not come
    std::uint16_t older = kNone;    ///< among those waiting
    std::uint16_t newer = kNone;
    std::uint8_t first_packet = 0;  ///< held; only where it waits
    std::uint8_t last_packet = 0;
    State state = State::kFree;
  };
  static_assert(sizeof(Entry) == kCacheLine);
  static_assert(kPackets <= 256, "a slot's number has eight bits");

  [[nodiscard]] std::span<PacketMeta> track_from(std::size_t whole, std::span<PacketMeta> burst,
                                                 TscCycles now) noexcept;
  void place(const PacketMeta& packet, TscCycles now) noexcept;
  void first(Entry& entry, const PacketMeta& packet, const Fragment& fragment,
             TscCycles now) noexcept;
  void later(Entry& entry, const PacketMeta& packet, TscCycles now) noexcept;

  [[nodiscard]] Entry& entry_of(const Datagram& datagram, TscCycles now) noexcept;
  [[nodiscard]] bool alive(const Entry& entry, TscCycles now) const noexcept;
  [[nodiscard]] bool better_victim(const Entry& a, const Entry& b, TscCycles now) const noexcept;
  static void account(Entry& entry, const Fragment& fragment, TscCycles now) noexcept;

  void hold(Entry& entry, const PacketMeta& packet, TscCycles now) noexcept;
  void give_up(Entry& entry, TscCycles now) noexcept;
  template <class Sink>
  void release(Entry& entry, Sink sink) noexcept;

  void emit(const PacketMeta& packet) noexcept {
    assert(out_count_ < out_.size());
    out_[out_count_++] = packet;
  }
  void emit_tracked(PacketMeta packet, std::uint32_t hash) noexcept {
    packet.hash = hash;
    counters_.tracked.add(1);
    emit(packet);
  }
  void emit_missed(const PacketMeta& packet) noexcept {
    counters_.missed.add(1);
    emit(packet);
  }
  [[nodiscard]] std::span<PacketMeta> out() noexcept { return {out_.data(), out_count_}; }
  [[nodiscard]] std::uint16_t index_of(const Entry& entry) const noexcept {
    return static_cast<std::uint16_t>(&entry - entries_.data());
  }

  TscCycles hold_cycles_;
  TscCycles remember_cycles_;
  const FlowHasher* hasher_ = nullptr;
  AlignedArray<Entry> entries_;
  std::uint16_t oldest_ = kNone;  ///< of the waiting datagrams
  std::uint16_t newest_ = kNone;
  std::uint8_t free_ = 0;  ///< a free slot, where there is one
  std::uint16_t held_ = 0;
  std::size_t out_count_ = 0;
  FragmentCounters counters_;
  std::array<std::uint8_t, kPackets> next_{};  ///< of a held packet, or of the free list
  std::array<PacketMeta, kPackets> packets_;
  std::array<PacketMeta, kPackets + kMaxBurst> out_;
};

constexpr std::size_t FragmentTracker::bytes() noexcept {
  return sizeof(FragmentTracker) + kDatagrams * sizeof(Entry);
}

}  // namespace mqsteer
