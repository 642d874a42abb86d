#pragma once

#include "backlog/aligned_array.h"

#include <mqsteer/counter.h>
#include <mqsteer/error.h>
#include <mqsteer/packet_meta.h>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <atomic>
#include <cstdint>
#include <memory_resource>
#include <span>

namespace mqsteer {

/// What the order check has seen. Written by the worker.
struct OrderCounters {
  Counter checked;    ///< packets judged: in order, or the first seen of their flow
  Counter reordered;  ///< of those: a later packet of the same flow and RX queue was given to
                      ///< tx_burst before
  Counter unjudged;   ///< the place of their flow was taken by another one; not in `checked`
};

/// Verifies the order of every flow at TX: the RX lcore stamps each packet with its number on its
/// RX queue, and the worker that transmits it holds that number against the highest one
/// transmitted of the flow, wherever that was.
///
/// Costs a store into the mbuf's second cache line at RX, a load of it and an atomic exchange at
/// TX, so it is a mode for those who want proof, not a default. A flow is its 32-bit hash on one RX
/// queue; 2^20 of them are remembered, and one whose place another took in between goes unjudged.
///
/// A worker is judged before it sends: two that send at once may be judged in the one order and
/// reach their TX queues in the other. What two queues of a NIC do afterwards is not seen either;
/// that is what the TX guard is for.
///
/// thread: stamp(): the RX lcore of the queue; check(): the transmitting worker; both at once
class OrderCheck {
 public:
  static constexpr unsigned kPlaceBits = 20;

  /// Registers the stamp's place in DPDK's mbufs. errors: no room left there
  static Expected<OrderCheck> create(std::pmr::memory_resource& memory);

  /// Numbers the packets of one RX queue. stream: which queue, below 2^16, unique in the box
  /// next: the queue's counter
  void stamp(std::span<const PacketMeta> burst, std::uint16_t stream,
             std::uint64_t& next) const noexcept {
    for (const PacketMeta& packet : burst) {
      auto* stamp = RTE_MBUF_DYNFIELD(packet.mbuf, field_, Stamp*);
      stamp->flow = (std::uint64_t{stream} << 32U) | packet.hash;
      stamp->number = ++next;
      packet.mbuf->ol_flags |= flag_;
    }
  }

  /// Judges what is given to tx_burst next, in this order.
  void check(std::span<rte_mbuf* const> mbufs, OrderCounters& counters) noexcept {
    for (const rte_mbuf* mbuf : mbufs) {
      if ((mbuf->ol_flags & flag_) == 0) continue;
      judge(*RTE_MBUF_DYNFIELD(mbuf, field_, const Stamp*), counters);
    }
  }

 private:
  struct Stamp {
    std::uint64_t flow;    ///< RX queue << 32 | flow hash
    std::uint64_t number;  ///< on the RX queue, from 1
  };
  // A place: 24 bits of the flow that their common place does not tell, 40 bits of number.
  static constexpr unsigned kNumberBits = 40;
  static constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kNumberBits) - 1;

  OrderCheck(int field, std::uint64_t flag, std::pmr::memory_resource& memory)
      : field_{field}, flag_{flag}, places_{std::size_t{1} << kPlaceBits, memory} {}

  void judge(const Stamp& stamp, OrderCounters& counters) noexcept {
    // An odd multiplier permutes the 64-bit values, so the high 44 bits tell flows apart well.
    const std::uint64_t mixed = stamp.flow * 0x9e3779b97f4a7c15ULL;
    auto& place = places_[mixed >> (64U - kPlaceBits)];
    const std::uint64_t flow = (mixed << kPlaceBits) & ~kNumberMask;
    const std::uint64_t ours = flow | (stamp.number & kNumberMask);
    // The exchange decides who was first where two workers transmit one flow at once.
    const std::uint64_t before = place.exchange(ours, std::memory_order_relaxed);
    if (before != 0 && (before & ~kNumberMask) != flow) {
      counters.unjudged.add(1);
      return;
    }
    counters.checked.add(1);
    if (before == 0 || is_later(ours, before)) return;
    counters.reordered.add(1);
    std::uint64_t still_ours = ours;  // or the next older packet would pass
    place.compare_exchange_strong(still_ours, before, std::memory_order_relaxed);
  }

  /// Numbers wrap at 2^40, ten hours at 30 Mpps.
  [[nodiscard]] static bool is_later(std::uint64_t a, std::uint64_t b) noexcept {
    return static_cast<std::int64_t>((a - b) << (64U - kNumberBits)) > 0;
  }

  int field_;
  std::uint64_t flag_;
  AlignedArray<std::atomic<std::uint64_t>> places_;
};

}  // namespace mqsteer
