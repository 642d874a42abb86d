#pragma once

#include "backlog/aligned_array.h"
#include "backlog/backlog.h"
#include "backlog/touch.h"
#include "steering/bucket_index.h"
#include "steering/flow_limit.h"
#include "steering/hold_fifo.h"
#include "steering/steering_table.h"

#include <mqsteer/counter.h>
#include <mqsteer/id.h>
#include <mqsteer/packet_meta.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

namespace mqsteer {

/// What one RX lcore did towards one worker. Written by the RX lcore.
struct alignas(kCacheLine) PairCounters {
  Counter moves;         ///< buckets that came to this worker from another
  Counter moves_held;    ///< moves to this worker that had to wait: once a hold, once a packet that
                         ///< stayed
  Counter wrong_worker;  ///< packets that came to this worker while their flow was wanted elsewhere
  DropCounters drops;    ///< not admitted to this worker's backlog
};

/// Off only in the tests that show what the rule is for.
enum class DrainRule : std::uint8_t { kOn, kOff };

/// Whether a pair has drained to a bucket's last position, of which a bucket keeps the low 48 bits.
///
/// True for positions less than 2^47 behind; a bucket idle for longer than that reads as
/// outstanding, which is what Dispatcher::sweep prevents (2^47 packets are 54 days at 30 Mpps).
[[nodiscard]] constexpr bool has_drained(std::uint64_t drained_to, std::uint64_t last) noexcept {
  return static_cast<std::int64_t>((drained_to - last) << 16U) >= 0;
}

/// The steering stage of one RX lcore: bucket -> worker under the drain rule, admission, staging.
///
/// Drain rule: a bucket moves from its current worker to its desired one only when nothing of it is
/// outstanding at the current one. A forced move, and under rfs one away from a worker that is not
/// live, holds the bucket's packets here until then; an unforced one leaves the bucket where it
/// is. Order is thereby kept per (flow, RX queue).
///
/// thread: the RX lcore, but for counters()
template <DrainRule rule = DrainRule::kOn>
class Dispatcher {
 public:
  struct Config {
    std::vector<Backlog*> backlogs;  ///< by worker; outlive the dispatcher
    std::uint16_t self = kNoWorker;  ///< the worker this very lcore is, if it is one
    std::uint32_t budget = 65536;    ///< packets in flight over all workers
    /// log2 of the most buckets that a table it adopts may have
    unsigned current_bits = SteeringTable::kMaxBits;
  };
  static constexpr std::uint16_t kNoWorker = 0xffff;
  /// Packets staged for one worker before they are published whatever else; a quarter of a backlog
  /// that is shorter than four times that.
  static constexpr std::uint32_t kFlushAt = 128;
  /// Hold FIFO and one burst: the most that one call can drop.
  static constexpr std::size_t kMaxDropped = HoldFifo::kPackets + kMaxBurst;

  Dispatcher(const Config& config, std::pmr::memory_resource& memory)
      : backlogs_{config.backlogs},
        self_{config.self},
        budget_{config.budget},
        words_{std::size_t{1} << config.current_bits, memory},
        loads_{std::size_t{1} << SteeringTable::kMaxBits, memory},
        limits_{config.backlogs.size(), memory},
        counters_{config.backlogs.size(), memory},
        hold_{std::make_unique<HoldFifo>()} {}

  /// Takes over a table; nothing may be outstanding or held. The table outlives its use here.
  void adopt(const SteeringTable& table) noexcept {
    assert(hold_->packets() == 0);
    assert(table.current_buckets() <= words_.size());
    table_ = &table;
    for (std::uint32_t bucket = 0; bucket < table.current_buckets(); ++bucket) {
      set_word(bucket, kFresh);
    }
    sweep_at_ = 0;
  }
  void set_flow_limit(bool on) noexcept { flow_limit_ = on; }
  /// On: a bucket moves when its packets have left the old worker's TX queue, not just the worker.
  void set_tx_guard(bool on) noexcept { tx_guard_.store(on, std::memory_order_relaxed); }
  /// On: load_of() counts.
  void set_count_loads(bool on) noexcept { count_loads_ = on; }

  /// rfs: asks for the cache lines that the packets' flows need. Call it between their hash and
  /// dispatch(), as early as can be.
  void look_ahead(std::span<const PacketMeta> burst) const noexcept {
    const unsigned bits = table_->current_bits();
    for (const PacketMeta& packet : burst) {
      table_->rfs()->touch(packet.hash);
      mqsteer::touch(words_[rps_bucket(packet.hash, bits)]);
    }
  }

  /// Steers a burst; owns its mbufs from here: staged, held, or in dropped().
  void dispatch(std::span<const PacketMeta> burst) noexcept {
    const SteeringTable& table = *table_;
    const auto& shape = table.shape();
    switch (shape.mode) {
      case SteeringMode::kNone:
        return;  // the loop runs such bursts to completion and never asks
      case SteeringMode::kRps:
        steer(burst, [bits = shape.bits](std::uint32_t hash) { return rps_bucket(hash, bits); });
        return;
      case SteeringMode::kSoftRss:
        if (count_loads_) count_loads(burst);
        steer(burst, [bits = shape.bits, shift = shape.shift](std::uint32_t hash) {
          return soft_rss_bucket(hash, bits, shift);
        });
        return;
      case SteeringMode::kRfs:
        steer_by_flow(burst);
        return;
    }
  }

  /// Publishes what is staged: everything, or only where kFlushAt packets wait.
  void flush(bool everything) noexcept {
    for (Backlog* backlog : backlogs_) {
      const std::uint32_t enough = everything ? 1 : std::min(kFlushAt, backlog->slots() / 4);
      if (backlog->staged() >= enough) backlog->publish();
    }
  }

  /// Lets go of held buckets whose old worker is rid of them. Call when holding() and regularly.
  void release_held() noexcept {
    for (std::uint16_t i = 0; i < hold_->entries();) {
      const HoldFifo::Entry entry = hold_->entry(i);
      const Desired desired = table_->desired_of(entry.hash);
      if (desired.worker() != entry.from && !drained(entry.from, entry.last)) {
        ++i;
        continue;
      }
      hold_->close(i, [&](const PacketMeta& packet) { admit(desired.worker(), packet); });
      if (i < hold_->entries()) set_word(hold_->entry(i).bucket, held_word(i));
      set_word(entry.bucket, word(desired.worker(), backlogs_[desired.worker()]->tail()));
      if (desired.worker() != entry.from) counters_[desired.worker()].moves.add(1);
    }
  }

  /// At the end: what is still held goes to dropped(), counted as lost to the worker it waited for.
  void drop_held() noexcept {
    while (hold_->entries() != 0) {
      const HoldFifo::Entry entry = hold_->entry(0);
      hold_->close(0, [&](const PacketMeta& packet) {
        drop(entry.from, packet, DropReason::kWorkerStalled);
      });
    }
  }

  /// The packets not admitted since the last call; they are yours to free, and counted already.
  [[nodiscard]] std::span<rte_mbuf*> dropped() noexcept {
    const std::size_t count = dropped_count_;
    dropped_count_ = 0;
    return {dropped_.data(), count};
  }

  /// After the in-place packets were handled and finished: they are in flight no more.
  void settle_in_place() noexcept {
    in_flight_ -= backlogs_[self_]->refresh_head();
    backlogs_[self_]->rewind();
  }

  /// Gives up what a stalled worker has not finished; its buckets count as drained.
  void abandon(WorkerId worker) noexcept {
    backlogs_[worker.value()]->publish();
    backlogs_[worker.value()]->abandon();
  }

  [[nodiscard]] bool holding() const noexcept { return hold_->packets() != 0; }
  [[nodiscard]] std::uint16_t held_packets() const noexcept { return hold_->packets(); }
  [[nodiscard]] bool staging() const noexcept {
    for (const Backlog* backlog : backlogs_) {
      if (backlog->staged() != 0) return true;
    }
    return false;
  }

  /// Nothing staged, held, or outstanding at a worker that is not given up.
  [[nodiscard]] bool quiet() const noexcept {
    return !holding() && unfinished_worker() == kNoWorker;
  }

  /// A worker with packets of ours that it has not finished, or kNoWorker.
  [[nodiscard]] std::uint16_t unfinished_worker() const noexcept {
    for (std::size_t worker = 0; worker < backlogs_.size(); ++worker) {
      if (settled_to(worker) != backlogs_[worker]->tail()) {
        return static_cast<std::uint16_t>(worker);
      }
    }
    return kNoWorker;
  }

  /// Renews the positions of idle buckets, so that they are never half of 2^48 packets behind: the
  /// drain rule's comparison would then read them as outstanding. Call it rarely.
  void sweep(std::uint32_t buckets) noexcept {
    if (table_->shape().mode == SteeringMode::kNone) return;
    for (std::uint32_t i = 0; i < buckets; ++i) {
      const std::uint64_t bucket = word_at(sweep_at_);
      const std::uint16_t current = worker_of(bucket);
      if (current < kHeld && drained(current, bucket)) {
        set_word(sweep_at_, word(current, settled_to(current)));
      }
      sweep_at_ = (sweep_at_ + 1) & (table_->current_buckets() - 1);
    }
  }

  /// Packets that came for a bucket under soft-rss while loads were counted, dropped ones too;
  /// wraps. Any thread.
  [[nodiscard]] std::uint32_t load_of(std::uint32_t bucket) const noexcept {
    return loads_[bucket].load(std::memory_order_relaxed);
  }

  /// Where a bucket of current_buckets() is now: the worker, and whether nothing of it is
  /// outstanding there. kNoWorker: no packet has come yet; kHeld: its packets wait for a move. Any
  /// thread; the bucket may move on at once.
  struct Position {
    std::uint16_t worker = kNoWorker;
    bool drained = true;
  };
  [[nodiscard]] Position position(std::uint32_t bucket) const noexcept {
    const std::uint64_t word = word_at(bucket);
    const std::uint16_t worker = worker_of(word);
    if (worker >= kHeld) return {worker, worker != kHeld};
    return {worker, has_drained(settled_to(worker), word)};
  }
  static constexpr std::uint16_t kHeld = 0xfffe;  ///< the position is an index into the hold FIFO

  /// Any thread.
  [[nodiscard]] const PairCounters& counters(WorkerId worker) const noexcept {
    return counters_[worker.value()];
  }

 private:
  // A bucket's word: the current worker in the top 16 bits, the position in the others.
  static constexpr unsigned kPositionBits = 48;
  static constexpr unsigned kCachedBits = 12;  ///< 32 KiB of words
  static constexpr std::uint64_t kPositionMask = (std::uint64_t{1} << kPositionBits) - 1;
  static constexpr std::uint64_t kFresh = std::uint64_t{kNoWorker} << kPositionBits;

  [[nodiscard]] static constexpr std::uint64_t word(std::uint16_t worker,
                                                    std::uint64_t position) noexcept {
    return (std::uint64_t{worker} << kPositionBits) | (position & kPositionMask);
  }
  [[nodiscard]] static constexpr std::uint64_t held_word(std::uint16_t entry) noexcept {
    return word(kHeld, entry);
  }
  [[nodiscard]] static constexpr std::uint16_t worker_of(std::uint64_t word) noexcept {
    return static_cast<std::uint16_t>(word >> kPositionBits);
  }

  /// Relaxed: the RX lcore alone writes, and who else reads wants only to show it.
  [[nodiscard]] std::uint64_t word_at(std::uint32_t bucket) const noexcept {
    return words_[bucket].load(std::memory_order_relaxed);
  }
  void set_word(std::uint32_t bucket, std::uint64_t word) noexcept {
    words_[bucket].store(word, std::memory_order_relaxed);
  }

  /// Nothing assigned to `worker` before `last` (48 bits) is outstanding.
  [[nodiscard]] bool drained(std::uint16_t worker, std::uint64_t last) const noexcept {
    if constexpr (rule == DrainRule::kOff) return true;
    return has_drained(settled_to(worker), last);
  }
  /// Everything assigned to a worker before this position is behind us.
  [[nodiscard]] std::uint64_t settled_to(std::size_t worker) const noexcept {
    const bool guarded = tx_guard_.load(std::memory_order_relaxed);
    return guarded ? backlogs_[worker]->left_to() : backlogs_[worker]->drained_to();
  }

  /// For the balancer, which looks at the differences.
  void count_loads(std::span<const PacketMeta> burst) noexcept {
    for (const PacketMeta& packet : burst) {
      auto& load = loads_[table_->bucket_of(packet.hash)];
      load.store(load.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  }

  /// A large table's words are asked for one burst ahead of their use; a small one is in the cache.
  template <class BucketOf>
  void steer(std::span<const PacketMeta> burst, BucketOf bucket_of) noexcept {
    if (table_->shape().bits > kCachedBits) {
      for (const PacketMeta& packet : burst) __builtin_prefetch(&words_[bucket_of(packet.hash)], 1);
    }
    for (const PacketMeta& packet : burst) {
      const std::uint32_t bucket = bucket_of(packet.hash);
      steer(packet, bucket, table_->desired(bucket));
    }
  }

  /// Under rfs the flow says where it should be, and its bucket where it is.
  void steer_by_flow(std::span<const PacketMeta> burst) noexcept {
    const SteeringTable& table = *table_;
    const auto live = table.live_set();
    const unsigned bits = table.current_bits();
    for (const PacketMeta& packet : burst) {
      steer(packet, rps_bucket(packet.hash, bits), table.desired_under_rfs(packet.hash, live));
    }
  }

  void steer(const PacketMeta& packet, std::uint32_t bucket, Desired desired) noexcept {
    std::uint16_t worker = worker_of(word_at(bucket));
    std::uint8_t flags = desired.packet_flags();
    if (__builtin_expect(worker != desired.worker(), 0)) {
      worker = move(bucket, desired, packet);
      if (worker == kHeld) return;
      if (worker != desired.worker()) flags = 0;
    }
    admit(worker, packet, flags);
    set_word(bucket, word(worker, backlogs_[worker]->tail()));
  }

  /// The worker for a packet whose bucket is not where it should be; kHeld: the packet is taken.
  [[gnu::noinline]] std::uint16_t move(std::uint32_t bucket, Desired desired,
                                       const PacketMeta& packet) noexcept {
    const std::uint16_t current = worker_of(word_at(bucket));
    if (current == kNoWorker) return desired.worker();
    if (current == kHeld) {
      hold(bucket, desired, packet);
      return kHeld;
    }
    if (drained(current, word_at(bucket))) {
      counters_[desired.worker()].moves.add(1);
      return desired.worker();
    }
    if (!desired.force() && (table_->rfs() == nullptr || table_->live(WorkerId{current}))) {
      counters_[desired.worker()].moves_held.add(1);
      counters_[current].wrong_worker.add(1);
      return current;
    }
    hold(bucket, desired, packet);
    return kHeld;
  }

  void hold(std::uint32_t bucket, Desired desired, const PacketMeta& packet) noexcept {
    if (hold_->full()) {
      drop(desired.worker(), packet, DropReason::kMoveHeld);
      return;
    }
    const std::uint64_t at = word_at(bucket);
    if (worker_of(at) == kHeld) {
      hold_->append(static_cast<std::uint16_t>(at & kPositionMask), packet);
      return;
    }
    set_word(bucket, held_word(hold_->open(bucket, worker_of(at), at & kPositionMask, packet)));
    counters_[desired.worker()].moves_held.add(1);
  }

  /// Stages a packet for a worker, or drops it: never waits. flags: PacketFlag bits to add
  void admit(std::uint16_t worker, const PacketMeta& packet, std::uint8_t flags = 0) noexcept {
    Backlog& backlog = *backlogs_[worker];
    const std::uint32_t plenty = flow_limit_ ? backlog.slots() / 2 : reserve(backlog);
    if (__builtin_expect(backlog.room() <= plenty || in_flight_ >= budget_, 0)) {
      if (const auto reason = refusal(worker, packet); reason != DropReason::kCount) {
        drop(worker, packet, reason);
        return;
      }
    }
    backlog.assign(packet, flags);
    ++in_flight_;
  }

  /// Why a packet is not admitted, after a new look at the heads; kCount: it is.
  [[gnu::noinline]] DropReason refusal(std::uint16_t worker, const PacketMeta& packet) noexcept {
    Backlog& backlog = *backlogs_[worker];
    backlog.publish();  // a worker that sees nothing cannot make room
    in_flight_ -= backlog.refresh_head();
    const bool control = (packet.flags & kControlTraffic) != 0;
    if (in_flight_ >= budget_) {
      for (Backlog* other : backlogs_) in_flight_ -= other->refresh_head();
      if (in_flight_ >= budget_) return DropReason::kBacklogBudget;
    }
    if (backlog.room() <= (control ? 0 : reserve(backlog))) return DropReason::kBacklogFull;
    const bool half_full = backlog.room() < backlog.slots() / 2;
    if (flow_limit_ && half_full && worker != self_ && !control &&
        limits_[worker].exceeded(packet.hash)) {
      return DropReason::kFlowLimit;
    }
    return DropReason::kCount;
  }

  /// The last sixteenth of a backlog is control traffic's.
  [[nodiscard]] static std::uint32_t reserve(const Backlog& backlog) noexcept {
    return backlog.slots() / 16;
  }

  void drop(std::uint16_t worker, const PacketMeta& packet, DropReason reason) noexcept {
    counters_[worker].drops.add(reason, 1);
    dropped_[dropped_count_++] = packet.mbuf;
  }

  std::vector<Backlog*> backlogs_;
  std::uint16_t self_;
  bool flow_limit_ = false;
  bool count_loads_ = false;
  std::atomic<bool> tx_guard_{false};  ///< read by position() as well
  std::uint64_t budget_;
  std::uint64_t in_flight_ = 0;  ///< assigned, and not finished as of the last look at each head
  const SteeringTable* table_ = nullptr;
  AlignedArray<std::atomic<std::uint64_t>> words_;
  std::uint32_t sweep_at_ = 0;
  AlignedArray<std::atomic<std::uint32_t>> loads_;  ///< by bucket of soft-rss
  AlignedArray<FlowLimit> limits_;
  AlignedArray<PairCounters> counters_;
  std::unique_ptr<HoldFifo> hold_;
  std::array<rte_mbuf*, kMaxDropped> dropped_;
  std::size_t dropped_count_ = 0;
};

}  // namespace mqsteer
