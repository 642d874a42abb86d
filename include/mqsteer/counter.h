#pragma once

#include <mqsteer/drop_reason.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace mqsteer {

/// A 64-bit counter with one writing thread and any number of readers.
///
/// add() is a plain memory add, not a locked one: the owner is the only writer. Relaxed order is
/// enough, since a counter publishes nothing but itself.
class Counter {
 public:
  void add(std::uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t read() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// One counter a drop reason; written by one thread.
class DropCounters {
 public:
  void add(DropReason reason, std::uint64_t n) noexcept {
    counters_[static_cast<std::size_t>(reason)].add(n);
  }
  [[nodiscard]] std::uint64_t read(DropReason reason) const noexcept {
    return counters_[static_cast<std::size_t>(reason)].read();
  }

 private:
  std::array<Counter, kDropReasons> counters_;
};

}  // namespace mqsteer
