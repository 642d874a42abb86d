#pragma once

#include "backlog/aligned_array.h"

#include <mqsteer/packet_meta.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory_resource>
#include <span>

namespace mqsteer {

/// Packets that one worker gives to another, the one where their flow is consumed: an SPSC ring.
///
/// Order: the giver publishes before it publishes the head of the backlog the packets came from,
/// and the taker looks at its backlogs first, then empties these rings, then handles the backlogs.
/// So a flow that steering moves to the taker meanwhile is not overtaken by itself. A flow that
/// moves from one giver to another is kept in order by TxGuard, which waits for finished().
class HandOverRing {
 public:
  HandOverRing(std::uint32_t slots, std::pmr::memory_resource& memory)
      : slots_{slots, memory}, mask_{slots - 1} {
    assert((slots & mask_) == 0);
  }

  /// Giver: stages a packet, whose mbuf is the taker's from publish() on. returns: false when there
  /// is no room; the packet is still yours.
  [[nodiscard]] bool put(const PacketMeta& packet) noexcept {
    if (giver_.tail - giver_.cached_head == slots_.size()) {
      giver_.cached_head = head_.value.load(std::memory_order_acquire);  // pairs with finish()
      if (giver_.tail - giver_.cached_head == slots_.size()) return false;
    }
    slots_[giver_.tail++ & mask_] = packet;
    return true;
  }

  /// Giver: hands what is staged to the taker. Pairs with the acquire in look().
  void publish() noexcept {
    if (tail_.value.load(std::memory_order_relaxed) == giver_.tail) return;
    tail_.value.store(giver_.tail, std::memory_order_release);
  }

  /// Taker: how many packets may be taken.
  [[nodiscard]] std::uint64_t look() const noexcept {
    return tail_.value.load(std::memory_order_acquire) - taker_;
  }

  /// Taker: the next packets in one stretch of the ring, valid until finish(). max: at most look().
  [[nodiscard]] std::span<const PacketMeta> take(std::size_t max) noexcept {
    const std::size_t at = taker_ & mask_;
    const std::size_t count = std::min<std::size_t>(max, slots_.size() - at);
    taker_ += count;
    return {slots_.data() + at, count};
  }

  /// Taker: the slots of all packets taken so far are free again.
  void finish() noexcept { head_.value.store(taker_, std::memory_order_release); }

  /// Giver: everything handed over so far. Any thread: how much of it the taker has finished.
  [[nodiscard]] std::uint64_t published() const noexcept {
    return tail_.value.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t finished() const noexcept {
    return head_.value.load(std::memory_order_acquire);
  }

  /// Any thread: packets published and not finished.
  [[nodiscard]] std::uint64_t waiting() const noexcept {
    const std::uint64_t head = head_.value.load(std::memory_order_acquire);
    return tail_.value.load(std::memory_order_acquire) - head;
  }

 private:
  struct alignas(kCacheLine) Giver {
    std::uint64_t tail = 0;
    std::uint64_t cached_head = 0;
  };
  struct alignas(kCacheLine) Shared {
    std::atomic<std::uint64_t> value{0};
  };

  AlignedArray<PacketMeta> slots_;
  std::uint32_t mask_;
  Giver giver_;
  Shared tail_;  ///< written by the giver
  Shared head_;  ///< written by the taker
  alignas(kCacheLine) std::uint64_t taker_ = 0;
};

}  // namespace mqsteer
