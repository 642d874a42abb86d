#pragma once

#include "backlog/backlog.h"
#include "backlog/return_ring.h"
#include "eal/clock.h"
#include "handlers/handler.h"
#include "port/port.h"
#include "runtime/idle.h"
#include "runtime/lcore_parts.h"
#include "runtime/lcore_state.h"
#include "steering/dispatcher.h"
#include "steering/fragment_tracker.h"

#include <mqsteer/counter.h>
#include <mqsteer/packet_meta.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <sys/prctl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

namespace mqsteer {

/// The loop of one lcore: RX, steering and handling, each where it has that role.
template <Handler H, class Rx = RxQueue, DrainRule rule = DrainRule::kOn>
class LcoreLoop final : public LcoreRunner {
 public:
  LcoreLoop(LcoreParts<Rx> parts, H handler, std::pmr::memory_resource& memory)
      : parts_{std::move(parts)}, handler_{std::move(handler)} {
    if (!parts_.queues.empty()) {
      const auto self = parts_.own_source ? parts_.worker : Dispatcher<rule>::kNoWorker;
      alone_ = parts_.own_source.has_value() && parts_.to_workers.size() == 1;
      dispatcher_.emplace(typename Dispatcher<rule>::Config{.backlogs = parts_.to_workers,
                                                            .self = self,
                                                            .budget = parts_.budget,
                                                            .current_bits = parts_.current_bits},
                          memory);
      fragments_ = std::make_unique<FragmentTracker>(tsc_hz(), memory);
    }
  }

  void run() noexcept override {
    prctl(PR_SET_TIMERSLACK, 1UL);  // or a sleep of 1 us takes 50 us more
    now_ = tsc_now();
    while (obey()) {
      std::size_t work = 0;
      if (receiving_) {
        for (auto& queue : parts_.queues) work += receive(queue);
      }
      if (dispatcher_) work += settle();
      work += drain_backlogs();
      if (tx_guard_ || H::kHandsOver) parts_.tx_guard.run(tsc_now(), tx_guard_);
      housekeeping(work != 0);
      if (work == 0) {
        if (dispatcher_) dispatcher_->flush(true);  // nothing waits while we rest
        idle_.rest();
      } else {
        idle_.worked();
      }
    }
    if (dispatcher_) leave();
  }

  [[nodiscard]] const PairCounters* towards(WorkerId worker) const noexcept override {
    return dispatcher_ ? &dispatcher_->counters(worker) : nullptr;
  }
  [[nodiscard]] const FragmentCounters* fragments() const noexcept override {
    return fragments_ ? &fragments_->counters() : nullptr;
  }
  [[nodiscard]] std::uint32_t load_of(std::uint32_t bucket) const noexcept override {
    return dispatcher_ ? dispatcher_->load_of(bucket) : 0;
  }
  [[nodiscard]] Position position(std::uint32_t current_bucket) const noexcept override {
    const auto at = dispatcher_->position(current_bucket);
    const bool held = at.worker == Dispatcher<rule>::kHeld;
    return {held ? Dispatcher<rule>::kNoWorker : at.worker, at.drained, held};
  }

 private:
  static constexpr std::uint64_t kFlushHz = 50'000;        ///< staged packets wait at most 20 us
  static constexpr std::uint64_t kHousekeepingHz = 1'000;  ///< once a millisecond
  static constexpr std::uint32_t kSweptBuckets = 64;       ///< 65,536 buckets in a second

  /// One burst from the wire to the backlogs; our own share is handled at once.
  std::size_t receive(PolledQueue<Rx>& queue) noexcept {
    std::array<rte_mbuf*, kMaxBurst> mbufs;
    const std::size_t count = queue.queue.receive(mbufs);
    if (count == 0) return 0;
    const std::span<PacketMeta> burst{burst_.data(), count};
    const bool all_ours = alone_ || table_->shape().mode == SteeringMode::kNone;
    if (all_ours && !H::kReadsFlow && order_check_ == nullptr) {
      for (std::size_t i = 0; i < count; ++i) {
        start_meta(burst[i], *mbufs[i], queue);
        skim(burst[i]);
      }
    } else {
      for (std::size_t i = 0; i < count; ++i) start_meta(burst[i], *mbufs[i], queue);
      hash(burst);
    }
    count_received(queue, burst);
    if (all_ours) {
      stamp(burst, queue);
      run_to_completion(burst);
      return count;
    }
    const bool last = count < kMaxBurst;
    const auto going_on = track_ ? fragments_->track(burst, now_) : burst;
    stamp(going_on, queue);  // in the order in which they go on
    if (queue.consumer != Dispatcher<rule>::kNoWorker) learn(going_on, queue);
    steer(going_on, last);
    return count;
  }

  /// What the dispatcher will look up of the first packets is asked for while the next are hashed.
  void hash(std::span<PacketMeta> burst) const noexcept {
    if (table_->rfs() == nullptr) return table_->hasher().run(burst);
    for (; burst.size() > kHashedAtOnce; burst = burst.subspan(kHashedAtOnce)) {
      table_->hasher().run(burst.first(kHashedAtOnce));
      dispatcher_->look_ahead(burst.first(kHashedAtOnce));
    }
    table_->hasher().run(burst);
    dispatcher_->look_ahead(burst);
  }

  void stamp(std::span<const PacketMeta> packets, PolledQueue<Rx>& queue) noexcept {
    if (__builtin_expect(order_check_ == nullptr, 1)) return;
    while (!packets.empty()) {
      PolledQueue<Rx>& from = came_from(packets[0], queue) ? queue : queue_of(packets[0]);
      std::size_t run = 1;
      while (run < packets.size() && came_from(packets[run], from)) ++run;
      order_check_->stamp(packets.first(run), from.stream, from.order_number);
      packets = packets.subspan(run);
    }
  }

  /// Of a burst that goes on, fragments held before may have come from another queue.
  [[nodiscard]] static bool came_from(const PacketMeta& packet,
                                      const PolledQueue<Rx>& queue) noexcept {
    return packet.queue == queue.id.value() && packet.port == queue.port.value();
  }
  [[nodiscard]] PolledQueue<Rx>& queue_of(const PacketMeta& packet) noexcept {
    std::size_t at = 0;
    while (at + 1 < parts_.queues.size() && !came_from(packet, parts_.queues[at])) ++at;
    return parts_.queues[at];
  }

  /// Packets on their way to the workers; those for us are handled at once. More than a burst come
  /// where held fragments go on.
  void steer(std::span<const PacketMeta> packets, bool flush) noexcept {
    do {
      const auto burst = packets.first(std::min(packets.size(), kMaxBurst));
      dispatcher_->dispatch(burst);
      free_dropped();
      packets = packets.subspan(burst.size());
      dispatcher_->flush(flush && packets.empty());
      handle_in_place();
    } while (!packets.empty());
  }

  /// Field by field, each as wide as it is read next: a struct put together elsewhere and copied
  /// would wait for its own stores.
  void start_meta(PacketMeta& packet, rte_mbuf& mbuf, const PolledQueue<Rx>& queue) const noexcept {
    packet.mbuf = &mbuf;
    packet.queue = queue.id.value();
    packet.port = queue.port.value();
    const bool recyclable = RTE_MBUF_DIRECT(&mbuf) && mbuf.nb_segs == 1 &&
                            mbuf.pool == parts_.pool && rte_mbuf_refcnt_read(&mbuf) == 1;
    packet.flags = recyclable ? kRecyclable : mbuf.nb_segs > 1 ? kSegmented : 0;
    packet.header_bytes = 0;
    packet.source = parts_.source;
  }

  /// The reverse path: the queue on which an endpoint sent a flow names the worker that it wants to
  /// get the flow from.
  void learn(std::span<const PacketMeta> burst, const PolledQueue<Rx>& queue) const noexcept {
    RfsTable* rfs = table_->rfs();
    if (rfs == nullptr) return;
    for (const PacketMeta& packet : burst) {
      if (came_from(packet, queue)) rfs->record(packet.hash, WorkerId{queue.consumer});
    }
  }

  /// All of a packet that matters where nobody asks for its flow; hash, kind and offsets stay as
  /// they are in burst_.
  void skim(PacketMeta& packet) const noexcept {
    const rte_mbuf& mbuf = *packet.mbuf;
    if (__builtin_expect(mbuf.data_len < kEtherHeaderBytes, 0)) {
      table_->hasher().run({&packet, 1});
      return;
    }
    const auto* bytes = rte_pktmbuf_mtod(&mbuf, const std::uint8_t*);
    const bool pause = bytes[12] == 0x88 && bytes[13] == 0x08;
    packet.length = static_cast<std::uint16_t>(std::min<std::uint32_t>(mbuf.pkt_len, UINT16_MAX));
    packet.flags = static_cast<std::uint8_t>(packet.flags | (pause ? kPauseFrame : 0));
  }

  /// Mode none, or no other worker: every packet is ours and nothing waits, so the ring is passed
  /// by.
  void run_to_completion(std::span<const PacketMeta> burst) noexcept {
    take_over();
    parts_.worker_counters->packets.add(burst.size());
    parts_.outbox->begin(*parts_.own_source);
    std::array<HeaderLine, H::kReadsHeaders ? kMaxBurst : 0> headers;
    if constexpr (H::kReadsHeaders) {
      for (std::size_t i = 0; i < burst.size(); ++i) {
        burst_[i].header_bytes = copy_header(*burst[i].mbuf, headers[i], LineStore::kCached);
      }
    }
    handler_.run({burst, H::kReadsHeaders ? headers.data() : nullptr}, *parts_.outbox, now_);
    parts_.outbox->flush();
    parts_.to_workers[parts_.worker]->pass_by(burst.size());
  }

  static void count_received(PolledQueue<Rx>& queue, std::span<const PacketMeta> burst) noexcept {
    std::uint64_t bytes = 0;
    for (const PacketMeta& packet : burst) bytes += packet.length;
    queue.packets->add(burst.size());
    queue.bytes->add(bytes);
  }

  /// The RX side between bursts: old stage, moves that may go on, mbufs that came back.
  std::size_t settle() noexcept {
    std::size_t work = 0;
    if (dispatcher_->holding()) {
      dispatcher_->release_held();
      free_dropped();
      handle_in_place();
      ++work;
    }
    if (__builtin_expect(track_ && fragments_->held() != 0, 0)) {
      const auto late = fragments_->expire(now_);
      if (!late.empty()) steer(late, true);
      ++work;
    }
    if (dispatcher_->staging() && tsc_between(flushed_, now_).value() > tsc_hz() / kFlushHz) {
      dispatcher_->flush(true);
      flushed_ = now_;
    }
    for (ReturnRing* ring : parts_.returns) {
      if (ring != nullptr) take_back(*ring);
    }
    return work;
  }

  /// A burst at a time, so that the pool's cache takes it: what spills into the pool comes back
  /// cold.
  void take_back(ReturnRing& ring) noexcept {
    std::array<rte_mbuf*, kMaxBurst> mbufs;
    const std::size_t count = ring.take(mbufs);
    if (count == 0) return;
    rte_mempool_put_bulk(parts_.pool, reinterpret_cast<void**>(mbufs.data()),
                         static_cast<unsigned>(count));
  }

  /// The end of the loop: what is held will not be released any more.
  void leave() noexcept {
    if (track_) steer(fragments_->release_all(now_), true);
    dispatcher_->drop_held();
    free_dropped();
    parts_.report->held.store(0, std::memory_order_relaxed);
  }

  void free_dropped() noexcept {
    const auto dropped = dispatcher_->dropped();
    if (!dropped.empty()) {
      rte_pktmbuf_free_bulk(dropped.data(), static_cast<unsigned>(dropped.size()));
    }
  }

  /// Our own packets: numbered and finished like all others, but without a hop.
  void handle_in_place() noexcept {
    if (!parts_.own_source) return;
    Backlog& own = *parts_.to_workers[parts_.worker];
    own.publish();
    if (own.look() != 0) take_over();
    if (handle(own, *parts_.own_source, own.look()) == 0) return;
    parts_.outbox->flush();
    own.finish();
    dispatcher_->settle_in_place();
  }

  /// A burst from each RX lcore; what was made of it leaves before its head is published. What
  /// other workers hand over comes between the look at the backlogs and their packets: a flow that
  /// moves here meanwhile comes behind what was handed over of it.
  std::size_t drain_backlogs() noexcept {
    for (std::size_t i = 0; i < parts_.to_us.size(); ++i) waiting_[i] = parts_.to_us[i]->look();
    std::size_t work = 0;
    const std::size_t taken_over = take_over();
    for (std::size_t i = 0; i < parts_.to_us.size(); ++i) {
      if (waiting_[i] == 0) continue;
      work += handle(*parts_.to_us[i], parts_.to_us_from[i], std::min(waiting_[i], kMostAtOnce));
    }
    if (work == 0) return taken_over;
    parts_.outbox->flush();
    for (Backlog* backlog : parts_.to_us) backlog->finish();
    return work + taken_over;
  }

  /// All that other workers have handed over, before anything else is handled.
  std::size_t take_over() noexcept {
    std::size_t work = 0;
    if constexpr (H::kHandsOver) {
      for (HandOverRing* ring : parts_.taken_over) {
        const std::uint64_t count = ring->look();
        if (count == 0) continue;
        for (std::uint64_t left = count; left != 0;) {
          const auto packets = ring->take(std::min<std::uint64_t>(left, kMaxBurst));
          handle_handed_over(packets);
          left -= packets.size();
        }
        parts_.outbox->flush();
        ring->finish();
        work += count;
      }
    }
    return work;
  }

  /// In runs of one RX lcore each, since their mbufs go back to it.
  void handle_handed_over(std::span<const PacketMeta> packets) noexcept {
    parts_.worker_counters->taken_over.add(packets.size());
    while (!packets.empty()) {
      std::size_t run = 1;
      while (run < packets.size() && packets[run].source == packets[0].source) ++run;
      parts_.outbox->begin(packets[0].source);
      if constexpr (H::kHandsOver) {
        handler_.run_handed_over({packets.first(run)}, *parts_.outbox, now_);
      }
      packets = packets.subspan(run);
    }
  }

  std::size_t handle(Backlog& backlog, std::size_t source, std::uint64_t count) noexcept {
    parts_.outbox->begin(source);
    for (std::uint64_t left = count; left != 0;) {
      const std::uint64_t given_up = backlog.given_up();
      const std::uint64_t most = given_up != 0 ? std::min(left, given_up) : left;
      const PacketBurst burst = backlog.take(std::min<std::uint64_t>(most, kMaxBurst));
      parts_.worker_counters->packets.add(burst.packets.size());
      if (__builtin_expect(given_up != 0, 0)) {
        for (const PacketMeta& packet : burst.packets) {
          parts_.outbox->drop(packet, DropReason::kWorkerStalled);
        }
      } else {
        handler_.run(burst, *parts_.outbox, now_);
      }
      left -= burst.packets.size();
    }
    return count;
  }

  /// Time, and what is due once a millisecond.
  void housekeeping(bool worked) noexcept {
    const TscCycles now = tsc_now();
    const std::uint64_t turn = tsc_between(now_, now).value();
    (worked ? parts_.report->busy_cycles : parts_.report->idle_cycles).add(turn);
    parts_.report->turns.add(1);
    now_ = now;
    if (tsc_between(kept_house_, now).value() < tsc_hz() / kHousekeepingHz) return;
    kept_house_ = now;
    if (parts_.outbox != nullptr) {
      handler_.tick(*parts_.outbox, now);
      parts_.outbox->flush();
    }
    if (!dispatcher_ || table_ == nullptr) return;
    dispatcher_->sweep(kSweptBuckets);
    report_held();
  }

  /// Packets that wait here: for a move, for their first fragment.
  void report_held() noexcept {
    const std::uint16_t fragments = fragments_ ? fragments_->held() : 0;
    parts_.report->held.store(static_cast<std::uint16_t>(dispatcher_->held_packets() + fragments),
                              std::memory_order_relaxed);
  }

  /// Acts on what the control thread has asked. returns: false to leave the loop.
  bool obey() noexcept {
    const std::uint32_t sequence = parts_.commands->sequence.load(std::memory_order_acquire);
    if (__builtin_expect(sequence != obeyed_, 0)) take_commands(sequence);
    if (__builtin_expect(!receiving_, 0)) report_quiet();
    return stage_ != Commands::Stage::kStop;
  }

  [[gnu::noinline]] void take_commands(std::uint32_t sequence) noexcept {
    const Commands& commands = *parts_.commands;
    obeyed_ = sequence;
    stage_ = commands.stage.load(std::memory_order_relaxed);
    receiving_ = stage_ == Commands::Stage::kRun;
    idle_.configure(commands.idle.load(std::memory_order_relaxed),
                    commands.idle_max_sleep_us.load(std::memory_order_relaxed));
    take_table(commands);
    if (dispatcher_) {
      dispatcher_->set_flow_limit(commands.flow_limit.load(std::memory_order_relaxed));
      dispatcher_->set_tx_guard(tx_guard_ || H::kHandsOver);
      dispatcher_->set_count_loads(commands.count_loads.load(std::memory_order_relaxed));
    }
    give_up_abandoned(commands);
    parts_.report->quiet.store(false, std::memory_order_relaxed);
    parts_.report->obeyed.store(sequence, std::memory_order_release);
  }

  /// What every lcore follows, whether it receives or not.
  void take_table(const Commands& commands) noexcept {
    tx_guard_ = commands.tx_guard.load(std::memory_order_relaxed);
    order_check_ = commands.order_check.load(std::memory_order_relaxed);
    if (parts_.outbox != nullptr) parts_.outbox->check_order(order_check_);
    const SteeringTable* table = commands.table.load(std::memory_order_relaxed);
    if (!receiving_ || table == table_) return;
    table_ = table;
    if (parts_.outbox != nullptr) parts_.outbox->steer_by(table);
    if (!dispatcher_) return;
    dispatcher_->adopt(*table);
    track_ = table->shape().fragments == Fragments::kTrack;
    if (track_) fragments_->adopt(table->hasher());
  }

  void give_up_abandoned(const Commands& commands) noexcept {
    for (std::uint16_t worker = 0; worker < kMaxWorkers; ++worker) {
      const std::uint32_t times = commands.abandoned[worker].load(std::memory_order_acquire);
      const std::uint32_t since = times - abandoned_[worker];
      if (since == 0) continue;
      abandoned_[worker] = times;
      const bool now_abandoned = times % 2 == 1;
      if (now_abandoned) {
        parts_.tx_guard.give_up(worker);
      } else {
        parts_.tx_guard.restore(worker);
      }
      const bool was_abandoned_since = now_abandoned || since > 1;
      if (dispatcher_ && was_abandoned_since) dispatcher_->abandon(WorkerId{worker});
    }
  }

  /// Not receiving: all that is staged goes out, and the control thread is told when it is done.
  void report_quiet() noexcept {
    if (dispatcher_) {
      if (track_ && fragments_->held() != 0) steer(fragments_->release_all(now_), true);
      dispatcher_->flush(true);
      report_held();
    }
    const bool quiet = !dispatcher_ || dispatcher_->quiet();
    parts_.report->quiet.store(quiet, std::memory_order_release);
  }

  static constexpr std::uint64_t kMostAtOnce = kMaxBurst;
  static constexpr std::size_t kHashedAtOnce = 16;
  static constexpr std::uint16_t kEtherHeaderBytes = 14;

  LcoreParts<Rx> parts_;
  H handler_;
  std::array<PacketMeta, kMaxBurst> burst_;
  std::optional<Dispatcher<rule>> dispatcher_;
  std::unique_ptr<FragmentTracker> fragments_;  ///< where there are queues
  bool track_ = false;
  const SteeringTable* table_ = nullptr;
  OrderCheck* order_check_ = nullptr;  ///< off
  bool tx_guard_ = false;
  std::array<std::uint64_t, kMaxWorkers> waiting_{};
  bool alone_ = false;  ///< no other worker to steer to, now or ever
  Idle idle_;
  TscCycles now_;
  TscCycles flushed_;
  TscCycles kept_house_;
  Commands::Stage stage_ = Commands::Stage::kQuiesce;
  bool receiving_ = false;
  std::uint32_t obeyed_ = 0;
  std::array<std::uint32_t, kMaxWorkers> abandoned_{};
};

}  // namespace mqsteer
