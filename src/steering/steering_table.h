#pragma once

#include "packet/flow_hasher.h"
#include "steering/bucket_index.h"
#include "steering/rfs_table.h"

#include <mqsteer/config.h>
#include <mqsteer/id.h>
#include <mqsteer/packet_meta.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>

namespace mqsteer {

/// The worker that a bucket should be on, and whether its packets may be held to get it there.
struct Desired {
  std::uint16_t bits = 0;

  static constexpr std::uint16_t kForce = 0x8000;
  static constexpr std::uint16_t kConsumer = 0x4000;  ///< its flow was consumed there last
  [[nodiscard]] static constexpr Desired of(WorkerId worker, bool force) noexcept {
    return {static_cast<std::uint16_t>(worker.value() | (force ? kForce : 0U))};
  }
  [[nodiscard]] constexpr std::uint16_t worker() const noexcept {
    return static_cast<std::uint16_t>(bits & ~(kForce | kConsumer));
  }
  [[nodiscard]] constexpr bool force() const noexcept { return (bits & kForce) != 0; }
  /// PacketFlag bits of a packet that goes there.
  [[nodiscard]] constexpr std::uint8_t packet_flags() const noexcept {
    return (bits & kConsumer) != 0 ? kAtConsumer : 0;
  }
};

/// Why a flow is wanted where it is wanted; what `flow explain` says.
enum class DesiredBy : std::uint8_t {
  kBucket,        ///< its bucket's worker
  kConsumer,      ///< rfs: where it was last consumed
  kPin,           ///< rfs: the operator's pin
  kConsumerGone,  ///< rfs: its consumer or pin is a worker that is not live; its bucket's worker
};

/// What all RX lcores share of one steering set-up: how a packet becomes a bucket, and where every
/// bucket, under rfs every flow, should be. The shape and the hasher are constant; a change of them
/// is a new table, taken over in a quiesce.
///
/// Two counts of buckets: those with a desired worker (buckets()), and those whose current worker
/// each RX lcore knows (current_buckets()). Under rfs the second are many more, so that two flows
/// seldom share one; in all other modes they are the same.
class SteeringTable {
 public:
  struct Shape {
    SteeringMode mode = SteeringMode::kRps;
    unsigned bits = 12;           ///< log2 of the desired buckets; not used by none
    unsigned shift = 0;           ///< soft-rss: hash bits left to the NIC
    std::uint32_t rfs_flows = 0;  ///< rfs: flows to remember
    Fragments fragments = Fragments::kKey;
  };
  /// The live workers of one moment.
  struct LiveSet {
    std::array<std::uint64_t, kMaxWorkers / 64U> bits{};
    [[nodiscard]] bool has(WorkerId worker) const noexcept {
      return ((bits[worker.value() / 64U] >> (worker.value() % 64U)) & 1U) != 0;
    }
  };
  static constexpr unsigned kMaxBits = 16;

  /// memory: for rfs's table, outlives this
  SteeringTable(const Shape& shape, const HasherConfig& hasher,
                std::pmr::memory_resource& memory = *std::pmr::new_delete_resource())
      : shape_{shape},
        current_bits_{current_bits_of(shape)},
        hasher_{hasher},
        desired_{std::make_unique<std::atomic<std::uint16_t>[]>(buckets())} {
    assert(shape.bits <= kMaxBits);
    if (shape.mode == SteeringMode::kRfs) {
      rfs_ = std::make_unique<RfsTable>(shape.rfs_flows, memory);
    }
  }

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] const FlowHasher& hasher() const noexcept { return hasher_; }
  [[nodiscard]] std::uint32_t buckets() const noexcept { return 1U << shape_.bits; }
  [[nodiscard]] unsigned current_bits() const noexcept { return current_bits_; }
  [[nodiscard]] std::uint32_t current_buckets() const noexcept { return 1U << current_bits_; }
  /// Where flows are consumed; nullptr in all modes but rfs.
  [[nodiscard]] RfsTable* rfs() const noexcept { return rfs_.get(); }

  /// log2 of the buckets that an RX lcore keeps the current worker of.
  [[nodiscard]] static unsigned current_bits_of(const Shape& shape) noexcept {
    if (shape.mode != SteeringMode::kRfs) return shape.bits;
    // Four buckets a flow: at most one flow in five shares its bucket.
    const auto bits =
        static_cast<unsigned>(std::bit_width(std::bit_ceil(shape.rfs_flows) - 1U)) + 2;
    return bits < shape.bits ? shape.bits : bits;
  }

  // --- from a hash to a worker: the data path, `flow explain` and mqsim use these -------------

  /// The bucket that has a desired worker.
  [[nodiscard]] std::uint32_t bucket_of(std::uint32_t hash) const noexcept {
    return shape_.mode == SteeringMode::kSoftRss ? soft_rss_bucket(hash, shape_.bits, shape_.shift)
                                                 : rps_bucket(hash, shape_.bits);
  }
  /// The bucket that has a current worker at each RX lcore.
  [[nodiscard]] std::uint32_t current_bucket_of(std::uint32_t hash) const noexcept {
    return shape_.mode == SteeringMode::kRfs ? rps_bucket(hash, current_bits_) : bucket_of(hash);
  }
  /// Where a flow should be, and why.
  [[nodiscard]] Desired desired_of(std::uint32_t hash, DesiredBy& why) const noexcept {
    why = DesiredBy::kBucket;
    if (rfs_ == nullptr) return desired(bucket_of(hash));
    if (const auto consumer = rfs_->find(hash)) {
      if (live(consumer->worker)) {
        why = consumer->pinned ? DesiredBy::kPin : DesiredBy::kConsumer;
        return of_consumer(*consumer);
      }
      why = DesiredBy::kConsumerGone;
    }
    return unforced(desired(rps_bucket(hash, shape_.bits)));
  }
  [[nodiscard]] Desired desired_of(std::uint32_t hash) const noexcept {
    DesiredBy why{};
    return desired_of(hash, why);
  }
  /// The same under rfs, for a burst's worth of calls: `live` is read once.
  [[nodiscard]] Desired desired_under_rfs(std::uint32_t hash, const LiveSet& live) const noexcept {
    const auto consumer = rfs_->find(hash);
    if (__builtin_expect(consumer && live.has(consumer->worker), 1)) {
      return of_consumer(*consumer);
    }
    return unforced(desired(rps_bucket(hash, shape_.bits)));
  }

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

  // --- live workers: those that may get flows -------------------------------------------------

  [[nodiscard]] LiveSet live_set() const noexcept {
    LiveSet set;
    for (std::size_t i = 0; i < live_.size(); ++i) {
      set.bits[i] = live_[i].load(std::memory_order_relaxed);
    }
    return set;
  }
  [[nodiscard]] bool live(WorkerId worker) const noexcept { return live_set().has(worker); }
  /// Only these may get flows from here on. Any thread but one at a time.
  void set_live(std::span<const WorkerId> workers) noexcept {
    std::array<std::uint64_t, kMaxWorkers / 64U> bits{};
    for (const WorkerId worker : workers) {
      bits[worker.value() / 64U] |= std::uint64_t{1} << (worker.value() % 64U);
    }
    for (std::size_t i = 0; i < bits.size(); ++i) {
      live_[i].store(bits[i], std::memory_order_relaxed);
    }
  }
  /// The live worker after this one, in turn; the same where it is the only one, or none is live.
  [[nodiscard]] WorkerId live_after(WorkerId worker) const noexcept {
    for (std::uint16_t step = 1; step < kMaxWorkers; ++step) {
      const WorkerId next{static_cast<std::uint16_t>((worker.value() + step) % kMaxWorkers)};
      if (live(next)) return next;
    }
    return worker;
  }

 private:
  /// Under rfs nothing is held for a bucket's share: the flow's consumer is not known yet, or is
  /// forgotten. A worker that is not live is left by force all the same (Dispatcher).
  [[nodiscard]] static Desired unforced(Desired desired) noexcept {
    desired.bits &= static_cast<std::uint16_t>(~Desired::kForce);
    return desired;
  }

  /// A consumer that is not recent is to record itself again, or a full set forgets it.
  [[nodiscard]] static Desired of_consumer(const RfsTable::Consumer& consumer) noexcept {
    Desired desired = Desired::of(consumer.worker, consumer.pinned);
    if (consumer.recent && !consumer.pinned) desired.bits |= Desired::kConsumer;
    return desired;
  }

  Shape shape_;
  unsigned current_bits_;
  FlowHasher hasher_;
  std::unique_ptr<std::atomic<std::uint16_t>[]> desired_;
  std::unique_ptr<RfsTable> rfs_;
  std::array<std::atomic<std::uint64_t>, kMaxWorkers / 64U> live_{};
};

}  // namespace mqsteer
