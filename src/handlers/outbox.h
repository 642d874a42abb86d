#pragma once

#include "backlog/aligned_array.h"
#include "backlog/return_ring.h"
#include "port/port.h"

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
    bool single_segment = false;  ///< the driver sends only the first segment
  };
  /// An RX lcore whose packets this worker gets.
  struct Source {
    rte_mempool* pool = nullptr;
    ReturnRing* returns = nullptr;  ///< nullptr: the worker's own lcore; straight into the pool
  };
  static constexpr std::size_t kTxBurst = 64;

  Outbox(std::vector<Port> ports_by_id, const std::vector<Source>& sources,
         WorkerCounters& counters)
      : ports_{std::move(ports_by_id)},
        sources_{sources.size()},
        waiting_(ports_.size()),
        counters_{counters} {
    for (std::size_t i = 0; i < sources.size(); ++i) sources_[i].source = sources[i];
  }

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

  void count_pause_frames(std::size_t packets) noexcept { counters_.pause_frames.add(packets); }

  // --- the lcore loop's side -----------------------------------------------------------------

  /// The packets to come are from this source.
  void begin(std::size_t source) noexcept { source_ = source; }

  /// Everything that waits leaves: to the ports, to the pools.
  void flush() noexcept {
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
    if (port.lock != nullptr) rte_spinlock_lock(port.lock);
    const std::size_t sent = port.queue.send(mbufs);
    if (port.lock != nullptr) rte_spinlock_unlock(port.lock);
    counters_.tx.add(sent);
    if (sent != mbufs.size()) free_dropped(mbufs.subspan(sent), DropReason::kTxRingFull);
  }

  void free_dropped(std::span<rte_mbuf*> mbufs, DropReason reason) noexcept {
    counters_.drops.add(reason, mbufs.size());
    rte_pktmbuf_free_bulk(mbufs.data(), static_cast<unsigned>(mbufs.size()));
  }

  std::vector<Port> ports_;  ///< by PortId; those not used are never named by a handler
  std::vector<ReturningSource> sources_;
  std::vector<Waiting> waiting_;
  std::size_t source_ = 0;
  WorkerCounters& counters_;
};

}  // namespace mqsteer
