#pragma once

#include <mqsteer/packet_meta.h>

#include <array>
#include <cassert>
#include <cstdint>

namespace mqsteer {

/// The packets of buckets that wait for a forced move: in order per bucket, 1,024 in all. One per
/// RX lcore, used by it alone. The mbufs in it belong to the RX lcore.
class HoldFifo {
 public:
  static constexpr std::uint16_t kPackets = 1024;

  /// A bucket with at least one packet held: where it came from, and since when.
  struct Entry {
    std::uint32_t bucket = 0;
    std::uint32_t hash = 0;  ///< of the packet that the entry began with
    std::uint16_t from = 0;  ///< the worker that must be rid of it first
    std::uint64_t last = 0;  ///< that pair's tail after the bucket's latest packet, 48 bits
    std::uint16_t first_packet = 0;
    std::uint16_t last_packet = 0;
  };

  HoldFifo() {
    for (std::uint16_t i = 0; i < kPackets; ++i) next_[i] = static_cast<std::uint16_t>(i + 1);
  }

  [[nodiscard]] bool full() const noexcept { return held_ == kPackets; }
  [[nodiscard]] std::uint16_t packets() const noexcept { return held_; }
  [[nodiscard]] std::uint16_t entries() const noexcept { return entries_in_use_; }
  [[nodiscard]] const Entry& entry(std::uint16_t index) const noexcept { return entries_[index]; }

  /// Starts an entry with its first packet. Needs !full(). returns: its index.
  std::uint16_t open(std::uint32_t bucket, std::uint16_t from, std::uint64_t last,
                     const PacketMeta& packet) noexcept {
    const std::uint16_t slot = store(packet);
    entries_[entries_in_use_] = {bucket, packet.hash, from, last, slot, slot};
    return entries_in_use_++;
  }

  /// Appends to an entry. Needs !full().
  void append(std::uint16_t index, const PacketMeta& packet) noexcept {
    const std::uint16_t slot = store(packet);
    next_[entries_[index].last_packet] = slot;
    entries_[index].last_packet = slot;
  }

  /// Closes an entry and gives its packets, oldest first, to `sink`. The last entry takes its
  /// index.
  template <class Sink>
  void close(std::uint16_t index, Sink&& sink) noexcept {
    const Entry entry = entries_[index];
    std::uint16_t slot = entry.first_packet;
    for (;;) {
      const std::uint16_t next = next_[slot];
      sink(packets_[slot]);
      next_[slot] = free_;
      free_ = slot;
      --held_;
      if (slot == entry.last_packet) break;
      slot = next;
    }
    entries_[index] = entries_[--entries_in_use_];
  }

 private:
  std::uint16_t store(const PacketMeta& packet) noexcept {
    assert(!full());
    const std::uint16_t slot = free_;
    free_ = next_[slot];
    packets_[slot] = packet;
    ++held_;
    return slot;
  }

  std::array<PacketMeta, kPackets> packets_;
  std::array<std::uint16_t, kPackets> next_{};  ///< of a held packet, or of the free list
  std::array<Entry, kPackets> entries_;
  std::uint16_t free_ = 0;
  std::uint16_t held_ = 0;
  std::uint16_t entries_in_use_ = 0;
};

}  // namespace mqsteer
