#pragma once

#include "backlog/aligned_array.h"
#include "handlers/rr/connection_table.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory_resource>

namespace mqsteer::rr {

/// Looks at connections whose timer may be due, in the order in which they asked.
///
/// A circular array of (connection, when to look). All wait equally long, so that the array is in
/// order of time by itself and asking is one sequential store: nothing is searched, linked or
/// taken out again. A connection has at most one entry, which stays when its timer is stopped or
/// set anew; when it comes up, what the connection says counts. A connection that is busy all the
/// time costs one look per wait.
///
/// So a timer fires up to one wait late, and where many have asked at once kShare calls of run()
/// later. A call makes kMostLooks at most: of more entries than kShare times that each one is
/// looked at every entries / kMostLooks calls, where this is longer than a wait.
class TimerQueue {
 public:
  static constexpr std::uint64_t kShare =
      32;  ///< of the queue is looked at in one call: 1 / kShare
  static constexpr std::uint64_t kLeastLooks = 2048;  ///< in one call, where so many are due
  static constexpr std::uint64_t kMostLooks = 8192;

  TimerQueue(std::uint32_t connections, Tick wait, std::pmr::memory_resource& memory)
      : entries_{entries_of(connections), memory}, wait_{wait} {}

  [[nodiscard]] static std::size_t bytes(std::uint32_t connections) noexcept {
    return entries_of(connections) * sizeof(Entry);
  }

  /// Has a connection looked at in one wait's time, unless that will happen anyway.
  void ask(Connection& connection, std::uint32_t index, Tick now) noexcept {
    if (connection.timed) return;
    connection.timed = true;
    entries_[tail_++ & (entries_.size() - 1)] = {.index = index, .at = now + wait_};
  }

  /// Calls look(connection) for those that are to be looked at, a bounded number; its entry is gone
  /// by then, and look() may ask() again. Call about once a millisecond.
  template <class Look>
  void run(const ConnectionTable& table, Tick now, Look look) noexcept {
    std::uint64_t most = std::clamp((tail_ - head_) / kShare, kLeastLooks, kMostLooks);
    for (; most > 0 && head_ != tail_; --most) {
      const Entry entry = entries_[head_ & (entries_.size() - 1)];
      if (!is_due(entry.at, now)) return;
      prefetch(table, head_ + kAhead);
      ++head_;
      Connection& connection = table[entry.index];
      connection.timed = false;
      look(connection);
    }
  }

 private:
  static constexpr std::uint64_t kAhead = 8;
  struct Entry {
    std::uint32_t index;
    Tick at;
  };
  [[nodiscard]] static std::size_t entries_of(std::uint32_t connections) noexcept {
    return std::bit_ceil(std::size_t{connections});
  }
  void prefetch(const ConnectionTable& table, std::uint64_t at) const noexcept {
    if (at >= tail_) return;
    const auto* line =
        reinterpret_cast<const std::byte*>(&table[entries_[at & (entries_.size() - 1)].index]);
    __builtin_prefetch(line, 1);
    __builtin_prefetch(line + kCacheLine, 1);
  }

  AlignedArray<Entry> entries_;
  Tick wait_;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
};

}  // namespace mqsteer::rr
