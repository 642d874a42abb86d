#pragma once

#include "handlers/rr/engine.h"
#include "handlers/rr/frame.h"
#include "handlers/rr/neighbours.h"
#include "handlers/rr/shared.h"

#include <mqsteer/packet_meta.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>

namespace mqsteer::rr {

/// One worker of the rr handler: its own connections it serves, others' packets it hands over.
///
/// A flow's owner is looked up by the packet's flow hash, without touching the packet: a packet
/// that only passes leaves the cache lines where they are. Where the hash has no owner, or rfs has
/// steered it here because we are, the packet is read here; a SYN is given to the next worker in
/// turn, which claims the flow, everything else is answered. A packet that was handed over and is
/// of no connection asks the owner table again: its flow may have been closed, or claimed by
/// another worker, while it was on its way.
///
/// While the hash function of steering is changed, connections lose their owner: their next packet
/// is answered with RST.
///
/// thread: the worker's lcore. Out: Outbox, or what a test puts in its place
template <class Out>
class Responder {
 public:
  static constexpr bool kReadsHeaders = false;
  static constexpr bool kReadsFlow = true;
  static constexpr bool kHandsOver = true;

  /// shared: outlives this. memory: for the worker's connections; outlives this too.
  /// worker: at shared.workers() or above: an lcore that is no worker and is never given packets
  Responder(RrShared& shared, WorkerId worker, std::pmr::memory_resource& memory)
      : shared_{&shared}, worker_{worker} {
    if (worker.value() >= shared.workers()) return;
    counters_ = &shared.own_counters(worker);
    engine_ = std::make_unique<Engine<Out>>(shared, worker, memory);
    work_ = std::make_unique<Work>();
  }

  void run(PacketBurst burst, Out& outbox, TscCycles now) noexcept {
    engine_->begin(outbox, now);
    for (const PacketMeta& packet : burst.packets) {
      if (is_owned(packet)) shared_->owners().prefetch(packet.hash);
    }
    std::size_t ours = 0;
    for (const PacketMeta& packet : burst.packets) {
      const auto owner = owner_of(packet);
      if (owner && *owner != worker_) {
        outbox.hand_over(*owner, packet);
        continue;
      }
      add(ours, packet, owner ? Way::kOwned : Way::kFresh);
    }
    answer(ours, outbox);
  }

  void run_handed_over(PacketBurst burst, Out& outbox, TscCycles now) noexcept {
    engine_->begin(outbox, now);
    std::size_t ours = 0;
    for (const PacketMeta& packet : burst.packets) add(ours, packet, Way::kHandedOver);
    answer(ours, outbox);
  }

  void tick(Out& outbox, TscCycles now) noexcept {
    if (engine_ == nullptr) return;
    engine_->begin(outbox, now);
    engine_->run_timers();
  }

  /// For tests. thread: the worker's
  [[nodiscard]] Engine<Out>& engine() noexcept { return *engine_; }

 private:
  enum class Way : std::uint8_t {
    kFresh,  ///< from steering, and its hash has no owner that we know of
    kOwned,  ///< from steering, and we were its hash's owner
    kHandedOver,
  };
  struct Work {
    struct Item {
      PacketMeta packet;
      Way way = Way::kFresh;
      std::uint32_t bucket = 0;
      Frame frame;
    };
    std::array<Item, kMaxBurst> items;
  };
  using Item = typename Work::Item;

  /// Whether somebody is to be asked whose it is. TCP straight in Ethernet is owned, of everything
  /// else we keep no state; and what was steered to its consumer is ours unless we find that it is
  /// of no connection here.
  [[nodiscard]] static bool is_owned(const PacketMeta& packet) noexcept {
    return packet.kind == PacketKind::kTcp && packet.l3 == kEthernetBytes &&
           (packet.flags & kAtConsumer) == 0;
  }
  [[nodiscard]] std::optional<WorkerId> owner_of(const PacketMeta& packet) const noexcept {
    if (!is_owned(packet)) return std::nullopt;
    return shared_->owners().find(packet.hash);
  }

  void add(std::size_t& count, const PacketMeta& packet, Way way) noexcept {
    Item& item = work_->items[count++];
    item.packet = packet;
    item.way = way;
    __builtin_prefetch(packet.mbuf);
    // Where the data of most mbufs begins; asking the mbuf would wait for it.
    __builtin_prefetch(reinterpret_cast<const std::byte*>(packet.mbuf) + sizeof(rte_mbuf) +
                       RTE_PKTMBUF_HEADROOM);
  }

  /// In passes over the burst, so that the cache misses of its packets overlap.
  void answer(std::size_t count, Out& outbox) noexcept {
    const std::span<Item> items{work_->items.data(), count};
    for (Item& item : items) {
      read(item);
      if (item.frame.kind != FrameKind::kTcp) continue;
      item.bucket = engine_->table().bucket_of(item.frame.segment.peer);
      engine_->table().prefetch_bucket(item.bucket);
    }
    for (const Item& item : items) {
      if (item.frame.kind == FrameKind::kTcp) engine_->table().prefetch_connection(item.bucket);
    }
    for (const Item& item : items) answer(item, outbox);
  }

  void read(Item& item) noexcept {
    const rte_mbuf& mbuf = *item.packet.mbuf;
    if (item.packet.port != shared_->local().port.value()) {
      item.frame = {.reason = RrCount::kNotForUs};
    } else if (mbuf.nb_segs != 1 || mbuf.pkt_len != mbuf.data_len) {
      item.frame = {.reason = RrCount::kSegmentedMbufs};
    } else {
      item.frame = read_frame({rte_pktmbuf_mtod(&mbuf, const std::byte*), mbuf.data_len},
                              mbuf.ol_flags, shared_->local());
    }
  }

  void answer(const Item& item, Out& outbox) noexcept {
    if (item.frame.kind == FrameKind::kRefused) {
      counters_->add(item.frame.reason);
      outbox.consume(item.packet);
    } else if (item.frame.kind == FrameKind::kTcp) {
      answer_segment(item, outbox);
    } else {
      answer_neighbour(item, outbox);
    }
  }

  void answer_segment(const Item& item, Out& outbox) noexcept {
    const Segment& segment = item.frame.segment;
    const bool open_port = segment.local_port == shared_->local().tcp_port;
    if (open_port) {
      if (Connection* found = engine_->table().find(segment.peer, item.bucket); found != nullptr) {
        return engine_->receive(*found, segment, item.packet);
      }
      if (pass_on(item, outbox)) return;
      if (segment.opens()) return answer_syn(item, outbox);
    }
    engine_->refuse(segment, item.packet);
  }

  /// No connection of it here. Is its flow another worker's by now?
  bool pass_on(const Item& item, Out& outbox) const noexcept {
    const auto owner = shared_->owners().find(item.packet.hash);
    if (!owner || *owner == worker_) return false;
    outbox.hand_over(*owner, item.packet);
    return true;
  }

  void answer_syn(const Item& item, Out& outbox) noexcept {
    if (item.way == Way::kFresh && !shared_->owners().find(item.packet.hash)) {
      if (const WorkerId next = outbox.next_owner(); next != worker_) {
        return outbox.hand_over(next, item.packet);
      }
    }
    switch (shared_->owners().claim(item.packet.hash, worker_)) {
      case OwnerTable::Claim::kOurs:
        if (engine_->open(item.frame.segment, item.bucket, item.packet)) return;
        shared_->owners().release(item.packet.hash, worker_);
        return drop_syn(item, RrCount::kConnectionsRefused, outbox);
      case OwnerTable::Claim::kFull:
        return drop_syn(item, RrCount::kConnectionsRefused, outbox);
      case OwnerTable::Claim::kAnother:  // the next one finds the owner
        return drop_syn(item, RrCount::kSynDropped, outbox);
    }
  }

  /// Without an answer: the client sends it again, where RST would end its attempt.
  void drop_syn(const Item& item, RrCount why, Out& outbox) noexcept {
    counters_->add(why);
    outbox.consume(item.packet);
  }

  void answer_neighbour(const Item& item, Out& outbox) noexcept {
    Carrier carrier{item.packet};
    const std::size_t most = item.frame.bytes + kAnswerGrowth;
    if (carrier.holds(most)) {
      turn(item, *item.packet.mbuf);
      outbox.transmit(shared_->local().port, carrier.take());
      return counters_->add(count_of(item.frame.kind));
    }
    rte_mbuf* made = outbox.allocate();
    if (made != nullptr && most <= rte_pktmbuf_tailroom(made)) {
      std::memcpy(rte_pktmbuf_mtod(made, std::byte*),
                  rte_pktmbuf_mtod(item.packet.mbuf, const std::byte*), item.frame.bytes);
      turn(item, *made);
      outbox.transmit_made(shared_->local().port, made);
      counters_->add(count_of(item.frame.kind));
    } else {
      if (made != nullptr) outbox.free_made(made);
      counters_->add(RrCount::kUnanswered);
    }
    outbox.consume(item.packet);
  }

  void turn(const Item& item, rte_mbuf& mbuf) const noexcept {
    const std::size_t bytes =
        answer_in_place(item.frame, rte_pktmbuf_mtod(&mbuf, std::byte*), shared_->local());
    reset_for_tx(mbuf, bytes);
  }

  [[nodiscard]] static RrCount count_of(FrameKind kind) noexcept {
    if (kind == FrameKind::kArp) return RrCount::kArpAnswers;
    return kind == FrameKind::kNeighbour ? RrCount::kNeighbourAnswers : RrCount::kIcmpAnswers;
  }

  RrShared* shared_;
  WorkerId worker_;
  RrCounters* counters_ = nullptr;
  std::unique_ptr<Engine<Out>> engine_;
  std::unique_ptr<Work> work_;
};

}  // namespace mqsteer::rr
