#pragma once

#include "backlog/aligned_array.h"
#include "handlers/rr/connection_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory_resource>

namespace mqsteer::rr {

/// Looks at connections whose timer may be due, in the order in which they asked.
///
/// Two circular arrays of (connection, when to look): one for those that are due soon, one for the
/// others. Within one all wait equally long, so that it is in order of time by itself and asking is
/// one sequential store: nothing is searched, linked or taken out again. A connection has at most
/// one entry, which stays when its timer is stopped or set anew; when it comes up, what the
/// connection says counts. A connection that is busy all the time costs one look per long wait,
/// which must therefore be no longer than the shortest timer.
///
/// So a timer fires up to one short wait late, and where many have asked at once kShare calls of
/// run() later. A call makes kMostLooks at most: of more entries than kShare times that each one is
/// looked at every entries / kMostLooks calls, where this is longer than its wait.
class TimerQueue {
 public:
  struct Waits {
    Tick due_soon = 0;  ///< and for timers that are due before `others`
    Tick others = 0;
  };
  static constexpr std::uint64_t kShare = 32;         ///< 1 / kShare of the entries, in one call
  static constexpr std::uint64_t kLeastLooks = 2048;  ///< in one call, where so many are due
  static constexpr std::uint64_t kMostLooks = 8192;

  TimerQueue(std::uint32_t connections, Waits waits, std::pmr::memory_resource& memory)
      : queues_{Queue{connections, waits.due_soon, memory},
                Queue{connections, waits.others, memory}} {}

  [[nodiscard]] static std::size_t bytes(std::uint32_t connections) noexcept {
    return 2 * Queue::entries_of(connections) * sizeof(Entry);
  }

  /// Has a connection looked at before its deadline, or a short wait later, unless that will happen
  /// anyway.
  void ask(Connection& connection, std::uint32_t index, Tick now) noexcept {
    if (connection.timed) return;
    connection.timed = true;
    const bool soon = !is_due(now + queues_[1].wait, connection.deadline);
    queues_[soon ? 0 : 1].put(index, now);
  }

  /// Calls look(connection) for those that are to be looked at, a bounded number; its entry is gone
  /// by then, and look() may ask() again. Call about once a millisecond.
  template <class Look>
  void run(const ConnectionTable& table, Tick now, Look look) noexcept {
    const std::uint64_t share = (queues_[0].size() + queues_[1].size()) / kShare;
    std::uint64_t most = std::clamp(share, kLeastLooks, kMostLooks);
    for (Queue& queue : queues_) {
      for (; most > 0 && queue.size() != 0; --most) {
        const Entry entry = queue.at(0);
        if (!is_due(entry.at, now)) break;
        if (queue.size() > kAhead) prefetch(table[queue.at(kAhead).index]);
        ++queue.head;
        Connection& connection = table[entry.index];
        connection.timed = false;
        look(connection);
      }
    }
  }

 private:
  static constexpr std::uint64_t kAhead = 8;
  struct Entry {
    std::uint32_t index;
    Tick at;
  };
  struct Queue {
    Queue(std::uint32_t connections, Tick its_wait, std::pmr::memory_resource& memory)
        : entries{entries_of(connections), memory}, wait{its_wait} {}

    [[nodiscard]] static std::size_t entries_of(std::uint32_t connections) noexcept {
      return std::bit_ceil(std::size_t{connections});
    }
    [[nodiscard]] std::uint64_t size() const noexcept { return tail - head; }
    [[nodiscard]] const Entry& at(std::uint64_t behind_head) const noexcept {
      return entries[(head + behind_head) & (entries.size() - 1)];
    }
    void put(std::uint32_t index, Tick now) noexcept {
      entries[tail++ & (entries.size() - 1)] = {.index = index, .at = now + wait};
    }

    AlignedArray<Entry> entries;
    Tick wait;
    std::uint64_t head = 0;
    std::uint64_t tail = 0;
  };

  static void prefetch(const Connection& connection) noexcept {
    const auto* line = reinterpret_cast<const std::byte*>(&connection);
    __builtin_prefetch(line, 1);
    __builtin_prefetch(line + kCacheLine, 1);
  }

  std::array<Queue, 2> queues_;
};

}  // namespace mqsteer::rr
