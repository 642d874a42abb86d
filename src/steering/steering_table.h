#pragma once

#include "packet/flow_hasher.h"

#include <mqsteer/config.h>
#include <mqsteer/id.h>

#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <span>

namespace mqsteer {

/// The worker that a bucket should be on, and whether its packets may be held to get it there.
struct Desired {
  std::uint16_t bits = 0;

  static constexpr std::uint16_t kForce = 0x8000;
  [[nodiscard]] static constexpr Desired of(WorkerId worker, bool force) noexcept {
    return {static_cast<std::uint16_t>(worker.value() | (force ? kForce : 0U))};
  }
  [[nodiscard]] constexpr std::uint16_t worker() const noexcept {
    return static_cast<std::uint16_t>(bits & ~kForce);
  }
  [[nodiscard]] constexpr bool force() const noexcept { return (bits & kForce) != 0; }
};

/// What all RX lcores share of one steering set-up: how a packet becomes a bucket, and the desired
/// worker of every bucket. All but `desired` is constant; a change of anything else is a new table,
/// taken over in a quiesce.
class SteeringTable {
 public:
  struct Shape {
    SteeringMode mode = SteeringMode::kRps;
    unsigned bits = 12;  ///< log2 of the bucket count; not used by none
    unsigned shift = 0;  ///< soft-rss: hash bits left to the NIC
  };
  static constexpr unsigned kMaxBits = 16;

  SteeringTable(const Shape& shape, const HasherConfig& hasher)
      : shape_{shape},
        hasher_{hasher},
        desired_{std::make_unique<std::atomic<std::uint16_t>[]>(buckets())} {
    assert(shape.bits <= kMaxBits);
  }

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] const FlowHasher& hasher() const noexcept { return hasher_; }
  [[nodiscard]] std::uint32_t buckets() const noexcept { return 1U << shape_.bits; }

  /// Any thread. Relaxed: a bucket's desired worker publishes nothing but itself, and an RX lcore
  /// that sees it late only moves the bucket late.
  [[nodiscard]] Desired desired(std::uint32_t bucket) const noexcept {
    return {desired_[bucket].load(std::memory_order_relaxed)};
  }
  void want(std::uint32_t bucket, Desired desired) noexcept {
    desired_[bucket].store(desired.bits, std::memory_order_relaxed);
  }

  /// Sets every bucket's desired worker. workers: buckets() of them. returns: how many changed.
  std::uint32_t want_all(std::span<const WorkerId> workers, bool force) noexcept {
    std::uint32_t changed = 0;
    for (std::uint32_t bucket = 0; bucket < buckets(); ++bucket) {
      if (desired(bucket).worker() != workers[bucket].value()) ++changed;
      want(bucket, Desired::of(workers[bucket], force));
    }
    return changed;
  }

 private:
  Shape shape_;
  FlowHasher hasher_;
  std::unique_ptr<std::atomic<std::uint16_t>[]> desired_;
};

}  // namespace mqsteer
