#pragma once

#include "backlog/aligned_array.h"

#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory_resource>
#include <span>

struct rte_mbuf;

namespace mqsteer {

/// Mbufs on their way back from a worker to the RX lcore whose pool they came from: an SPSC ring.
///
/// Only what is kRecyclable goes here: the RX lcore puts it into its pool unseen, so neither side
/// touches the mbuf (facts: hot path, "where the cycles go").
class ReturnRing {
 public:
  ReturnRing(std::uint32_t slots, std::pmr::memory_resource& memory)
      : slots_{slots, memory}, mask_{slots - 1} {
    assert((slots & mask_) == 0);
  }

  /// Worker: puts as many as fit. returns: how many, from the front; the rest is still yours.
  std::size_t put(std::span<rte_mbuf* const> mbufs) noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (slots_.size() - (tail - cached_head_) < mbufs.size()) {
      cached_head_ = head_.load(std::memory_order_acquire);  // pairs with the release in take()
    }
    const std::uint64_t room = slots_.size() - (tail - cached_head_);
    const std::size_t count = mbufs.size() < room ? mbufs.size() : room;
    for (std::size_t i = 0; i < count; ++i) slots_[(tail + i) & mask_] = mbufs[i];
    if (count != 0) tail_.store(tail + count, std::memory_order_release);  // pairs with take()
    return count;
  }

  /// RX lcore: takes up to `to.size()` mbufs. returns: how many, they are yours.
  std::size_t take(std::span<rte_mbuf*> to) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    const std::uint64_t there = tail_.load(std::memory_order_acquire) - head;
    const std::size_t count = there < to.size() ? there : to.size();
    for (std::size_t i = 0; i < count; ++i) to[i] = slots_[(head + i) & mask_];
    if (count != 0) head_.store(head + count, std::memory_order_release);
    return count;
  }

  /// RX lcore: mbufs waiting to be taken.
  [[nodiscard]] std::uint64_t waiting() const noexcept {
    return tail_.load(std::memory_order_acquire) - head_.load(std::memory_order_relaxed);
  }

 private:
  AlignedArray<rte_mbuf*> slots_;
  std::uint32_t mask_;
  alignas(kCacheLine) std::atomic<std::uint64_t> tail_{0};  ///< written by the worker
  std::uint64_t cached_head_ = 0;
  alignas(kCacheLine) std::atomic<std::uint64_t> head_{0};  ///< written by the RX lcore
};

}  // namespace mqsteer
