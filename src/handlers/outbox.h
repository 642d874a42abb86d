#pragma once

#include "backlog/aligned_array.h"
#include "backlog/hand_over_ring.h"
#include "backlog/return_ring.h"
#include "port/port.h"
#include "steering/order_check.h"
#include "steering/steering_table.h"

#include <mqsteer/counter.h>
#include <mqsteer/id.h>
#include <mqsteer/packet_meta.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_spinlock.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace mqsteer {

/// What a worker did. Written by the worker's lcore.
struct alignas(kCacheLine) WorkerCounters {
  Counter packets;       ///< taken from its backlogs
  Counter originated;    ///< made by the handler
  Counter copies;        ///< made by flooding
  Counter tx;            ///< accepted by tx_burst; the port's own output errors are still in it
  Counter consumed;      ///< used up by the handler
  Counter pause_frames;  ///< consumed because a pause frame is never bridged
  Counter handed_over;   ///< to the workers where their flows are consumed; not out of the box
  Counter taken_over;    ///< from other workers
  OrderCounters order;   ///< of what was given to tx_burst, where order_check is on
  DropCounters drops;
};

/// Where a handler puts every packet of its burst: out of a port, used up, or dropped.
///
/// One per worker; thread: the worker's lcore. Packets transmitted wait here until flush().
class Outbox {
 public:
  /// A port as this worker transmits on it.
  struct Port {
    TxQueue queue;
    rte_spinlock_t* lock = nullptr;         ///< set where the queue is shared; taken once a burst
    const std::atomic<bool>* up = nullptr;  ///< link state; outlives the outbox
    std::uint32_t max_frame_bytes = 1518;
    bool single_segment = false;    ///< the driver sends only the first segment
    bool checksums_in_nic = false;  ///< IPv4, TCP and UDP checksums are computed on request
    std::uint64_t sent = 0;         ///< frames that tx_burst took from this worker
  };
  /// An RX lcore whose packets this worker gets.
  struct Source {
    rte_mempool* pool = nullptr;
    ReturnRing* returns = nullptr;  ///< nullptr: the worker's own lcore; straight into the pool
  };
  struct Config {
    std::vector<Port> ports_by_id;  ///< those not used are never named by a handler
    std::vector<Source> sources;    ///< by the number of the RX lcore among the RX lcores
    WorkerId worker;
    std::vector<HandOverRing*> hand_over;  ///< by worker, nullptr to itself; empty: never used
    rte_mempool* pool = nullptr;           ///< of mbufs that the handler makes
  };
  static constexpr std::size_t kTxBurst = 64;

  Outbox(Config config, WorkerCounters& counters)
      : ports_{std::move(config.ports_by_id)},
        sources_{config.sources.size()},
        waiting_(ports_.size()),
        worker_{config.worker},
        hand_over_{std::move(config.hand_over)},
        pool_{config.pool},
        counters_{counters},
        owner_{config.worker} {
    for (std::size_t i = 0; i < config.sources.size(); ++i) {
      sources_[i].source = config.sources[i];
    }
  }

  [[nodiscard]] WorkerId worker() const noexcept { return worker_; }

  /// Gives packets to a port; they are the outbox's from here, also where they must be dropped.
  void transmit(PortId port, std::span<const PacketMeta> packets) noexcept {
    const Port& out = ports_[port.value()];
    Waiting& waiting = waiting_[port.value()];
    const std::uint8_t unsendable = out.single_segment ? kSegmented : 0;
    std::size_t count = waiting.count;  // in a register: the loop must not wait for its own stores
    for (const PacketMeta& packet : packets) {
      if (__builtin_expect(packet.length > out.max_frame_bytes || (packet.flags & unsendable) != 0,
                           0)) {
        drop(packet, DropReason::kPktTooBig);
        continue;
      }
      if (count == kTxBurst) {
        waiting.count = count;
        send(port.value());
        count = 0;
      }
      waiting.mbufs[count++] = packet.mbuf;
    }
    waiting.count = count;
  }
  void transmit(PortId port, const PacketMeta& packet) noexcept { transmit(port, {&packet, 1}); }

  /// The handler has used the packets up.
  void consume(std::span<const PacketMeta> packets) noexcept {
    counters_.consumed.add(packets.size());
    give_back(packets);
  }
  void consume(const PacketMeta& packet) noexcept { consume({&packet, 1}); }

  void drop(const PacketMeta& packet, DropReason reason) noexcept {
    counters_.drops.add(reason, 1);
    give_back({&packet, 1});
  }

  /// Gives a packet to the worker where its flow is consumed, in the order of the calls. Where it
  /// has no room left for it, the packet is dropped. Needs another worker than this one.
  void hand_over(WorkerId to, const PacketMeta& packet) noexcept {
    if ((packet.flags & kAtConsumer) != 0) return hand_over(to, without(packet, kAtConsumer));
    if (!hand_over_[to.value()]->put(packet)) {
      drop(packet, DropReason::kAppBacklogFull);
      return;
    }
    counters_.handed_over.add(1);
    handed_over_ = true;
  }

  // --- packets that the handler makes ---------------------------------------------------------

  /// A fresh mbuf without data, the handler's until transmit_made() or free_made(). nullptr: there
  /// is none, and the packet that was to be made is counted as made and dropped (nomem).
  [[nodiscard]] rte_mbuf* allocate() noexcept {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_);
    if (mbuf == nullptr) {
      counters_.originated.add(1);
      counters_.drops.add(DropReason::kNomem, 1);
    }
    return mbuf;
  }
  void transmit_made(PortId port, rte_mbuf* mbuf) noexcept {
    counters_.originated.add(1);
    PacketMeta packet{.mbuf = mbuf};
    packet.length = static_cast<std::uint16_t>(std::min<std::uint32_t>(mbuf->pkt_len, UINT16_MAX));
    transmit(port, packet);
  }
  static void free_made(rte_mbuf* mbuf) noexcept { rte_pktmbuf_free(mbuf); }
  [[nodiscard]] bool checksums_in_nic(PortId port) const noexcept {
    return ports_[port.value()].checksums_in_nic;
  }

  // --- where flows are consumed ---------------------------------------------------------------

  /// This worker consumes the flow: under rfs its packets come here from now on. hash: as steered
  void record_flow(std::uint32_t hash) noexcept {
    if (rfs_ != nullptr) rfs_->record(hash, worker_);
  }
  /// The same for the flow of a packet; nothing to do where it came here for that reason.
  void record_flow(const PacketMeta& packet) noexcept {
    if ((packet.flags & kAtConsumer) == 0) record_flow(packet.hash);
  }
  /// Where the next new flow is to be consumed: the live workers in turn; this one under none.
  [[nodiscard]] WorkerId next_owner() noexcept {
    if (table_ == nullptr || table_->shape().mode == SteeringMode::kNone) return worker_;
    owner_ = table_->live_after(owner_);
    return owner_;
  }

  void count_pause_frames(std::size_t packets) noexcept { counters_.pause_frames.add(packets); }

  // --- the lcore loop's side -----------------------------------------------------------------

  /// The packets to come are from this source.
  void begin(std::size_t source) noexcept { source_ = source; }

  void steer_by(const SteeringTable* table) noexcept {
    table_ = table;
    rfs_ = table != nullptr ? table->rfs() : nullptr;
  }
  /// nullptr: order is not checked. The check outlives its use here.
  void check_order(OrderCheck* check) noexcept { order_check_ = check; }
  /// Where the frames that tx_burst took for a port are counted; as long as this outbox.
  [[nodiscard]] const std::uint64_t* sent_to(PortId port) const noexcept {
    return &ports_[port.value()].sent;
  }

  /// Everything that waits leaves: to the ports, to other workers, to the pools.
  void flush() noexcept {
    if (handed_over_) publish_handed_over();
    for (std::size_t port = 0; port < waiting_.size(); ++port) {
      if (waiting_[port].count != 0) send(port);
    }
    for (ReturningSource& source : sources_) {
      if (source.count != 0) send_back(source);
    }
  }

 private:
  struct Waiting {
    std::array<rte_mbuf*, kTxBurst> mbufs;
    std::size_t count = 0;
  };
  struct ReturningSource {
    Source source;
    std::array<rte_mbuf*, kMaxBurst> mbufs;
    std::size_t count = 0;
  };

  [[nodiscard]] static PacketMeta without(PacketMeta packet, PacketFlag flag) noexcept {
    packet.flags &= static_cast<std::uint8_t>(~flag);
    return packet;
  }

  void give_back(std::span<const PacketMeta> packets) noexcept {
    ReturningSource& source = sources_[source_];
    std::size_t count = source.count;
    for (const PacketMeta& packet : packets) {
      if (__builtin_expect((packet.flags & kRecyclable) == 0, 0)) {
        rte_pktmbuf_free(packet.mbuf);
        continue;
      }
      if (count == source.mbufs.size()) {
        source.count = count;
        send_back(source);
        count = 0;
      }
      source.mbufs[count++] = packet.mbuf;
    }
    source.count = count;
  }

  [[gnu::noinline]] void publish_handed_over() noexcept {
    for (HandOverRing* ring : hand_over_) {
      if (ring != nullptr) ring->publish();
    }
    handed_over_ = false;
  }

  /// What the return ring does not take goes into the pool from here: dearer, but never stuck.
  static void send_back(ReturningSource& from) noexcept {
    std::span<rte_mbuf*> mbufs{from.mbufs.data(), from.count};
    if (from.source.returns != nullptr) mbufs = mbufs.subspan(from.source.returns->put(mbufs));
    if (!mbufs.empty()) {
      rte_mempool_put_bulk(from.source.pool, reinterpret_cast<void**>(mbufs.data()),
                           static_cast<unsigned>(mbufs.size()));
    }
    from.count = 0;
  }

  /// One tx_burst. What it leaves over is dropped, not retried: a full TX ring is the link's
  /// limit, and waiting would make every other flow late.
  void send(std::size_t port_index) noexcept {
    Port& port = ports_[port_index];
    std::span<rte_mbuf*> mbufs{waiting_[port_index].mbufs.data(), waiting_[port_index].count};
    waiting_[port_index].count = 0;
    if (!port.up->load(std::memory_order_relaxed)) {
      free_dropped(mbufs, DropReason::kDevReady);
      return;
    }
    if (__builtin_expect(order_check_ != nullptr, 0)) order_check_->check(mbufs, counters_.order);
    if (port.lock != nullptr) rte_spinlock_lock(port.lock);
    const std::size_t sent = port.queue.send(mbufs);
    if (port.lock != nullptr) rte_spinlock_unlock(port.lock);
    counters_.tx.add(sent);
    port.sent += sent;
    if (sent != mbufs.size()) free_dropped(mbufs.subspan(sent), DropReason::kTxRingFull);
  }

  void free_dropped(std::span<rte_mbuf*> mbufs, DropReason reason) noexcept {
    counters_.drops.add(reason, mbufs.size());
    rte_pktmbuf_free_bulk(mbufs.data(), static_cast<unsigned>(mbufs.size()));
  }

  std::vector<Port> ports_;
  std::vector<ReturningSource> sources_;
  std::vector<Waiting> waiting_;
  std::size_t source_ = 0;
  WorkerId worker_;
  std::vector<HandOverRing*> hand_over_;
  bool handed_over_ = false;  ///< something is staged in hand_over_
  rte_mempool* pool_;
  WorkerCounters& counters_;
  OrderCheck* order_check_ = nullptr;
  const SteeringTable* table_ = nullptr;
  RfsTable* rfs_ = nullptr;  ///< the table's; nullptr but under rfs
  WorkerId owner_;           ///< whose turn it was
};

}  // namespace mqsteer
