#pragma once

#include "backlog/aligned_array.h"
#include "backlog/touch.h"

#include <mqsteer/id.h>

#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstdint>
#include <memory_resource>
#include <optional>

namespace mqsteer {

/// Where flows are consumed: flow hash -> worker, for mode rfs. One for all lcores.
///
/// Sets of eight entries, half a cache line each. The hash's high bits name the set and the others
/// stand in the entry, so an entry is of one hash exactly and nothing misleads a flow but another
/// one with the same 32 bits. There is room for four times the flows asked for: at a quarter full a
/// set of eight overflows once in some tens of thousands. In a full set a new flow takes the place
/// of one that has not been recorded lately; pins stay.
///
/// thread: any, all members; entries are changed by compare-and-swap and publish nothing but
///         themselves (relaxed)
/// Source: Linux Documentation/networking/scaling.rst, "RFS" (rps_sock_flow_table)
class RfsTable {
 public:
  static constexpr unsigned kWays = 8;
  static constexpr unsigned kMinSetBits = 10;  ///< fewer would leave more than 22 bits to check
  static constexpr std::uint32_t kMinFlows = 1024;
  static constexpr std::uint32_t kMaxFlows = 1U << 24U;

  struct Consumer {
    WorkerId worker;
    bool pinned = false;
    bool recent = false;  ///< recorded since its set was last full
  };

  /// flows: kMinFlows..kMaxFlows, rounded up to a power of two
  RfsTable(std::uint32_t flows, std::pmr::memory_resource& memory)
      : set_bits_{set_bits_of(flows)}, entries_{std::size_t{kWays} << set_bits_, memory} {}

  [[nodiscard]] static std::size_t bytes(std::uint32_t flows) noexcept {
    return (std::size_t{kWays} << set_bits_of(flows)) * sizeof(std::uint32_t);
  }
  [[nodiscard]] std::size_t entries() const noexcept { return entries_.size(); }

  /// Where a flow was last consumed. hash: host order, 0 is as good as any other
  [[nodiscard]] std::optional<Consumer> find(std::uint32_t hash) const noexcept {
    const std::atomic<std::uint32_t>* set = set_of(hash);
    const std::uint32_t wanted = identity(hash);
    for (unsigned way = 0; way < kWays; ++way) {
      const std::uint32_t entry = set[way].load(std::memory_order_relaxed);
      if ((entry & kIdentityMask) == wanted) return consumer_of(entry);
    }
    return std::nullopt;
  }

  /// Ahead of find() and record().
  void touch(std::uint32_t hash) const noexcept { mqsteer::touch(*set_of(hash)); }

  /// The flow is consumed at a worker now. Cheap where that is known already; a pin stays.
  void record(std::uint32_t hash, WorkerId worker) noexcept {
    std::atomic<std::uint32_t>* set = set_of(hash);
    const std::uint32_t wanted = identity(hash);
    const std::uint32_t recorded = wanted | bits_of(worker) | kRecent;
    for (unsigned way = 0; way < kWays; ++way) {
      std::uint32_t entry = set[way].load(std::memory_order_relaxed);
      if ((entry & kIdentityMask) != wanted) continue;
      if (entry == recorded || (entry & kPinned) != 0) return;
      set[way].compare_exchange_strong(entry, recorded, std::memory_order_relaxed);
      return;  // somebody else was faster: as good as ours a moment earlier
    }
    if (auto* put = insert(set, recorded); put != nullptr) remove_twin(set, put, recorded);
  }

  /// Pins a flow, whatever its consumers say. returns: false where its set has no place left but
  /// for pins
  [[nodiscard]] bool pin(std::uint32_t hash, WorkerId worker) noexcept {
    std::atomic<std::uint32_t>* set = set_of(hash);
    const std::uint32_t pinned = identity(hash) | bits_of(worker) | kRecent | kPinned;
    std::atomic<std::uint32_t>* put = nullptr;
    for (unsigned way = 0; way < kWays && put == nullptr; ++way) {
      std::uint32_t entry = set[way].load(std::memory_order_relaxed);
      while ((entry & kIdentityMask) == identity(hash) && put == nullptr) {
        if (set[way].compare_exchange_weak(entry, pinned, std::memory_order_seq_cst))
          put = &set[way];
      }
    }
    if (put == nullptr) put = insert(set, pinned);
    if (put == nullptr) return false;
    for (unsigned way = 0; way < kWays; ++way) {
      std::uint32_t entry = set[way].load(std::memory_order_seq_cst);
      while (&set[way] != put && (entry & kIdentityMask) == identity(hash) &&
             !set[way].compare_exchange_weak(entry, 0, std::memory_order_relaxed)) {
      }
    }
    return true;
  }

  /// Forgets a flow, pinned or not.
  void forget(std::uint32_t hash) noexcept {
    std::atomic<std::uint32_t>* set = set_of(hash);
    for (unsigned way = 0; way < kWays; ++way) {
      std::uint32_t entry = set[way].load(std::memory_order_relaxed);
      while ((entry & kIdentityMask) == identity(hash) &&
             !set[way].compare_exchange_weak(entry, 0, std::memory_order_relaxed)) {
      }
    }
  }

  /// Entries in use, of entries(); reads the whole table.
  [[nodiscard]] std::size_t used() const noexcept {
    std::size_t count = 0;
    for (const auto& entry : entries_.span()) {
      if ((entry.load(std::memory_order_relaxed) & kUsed) != 0) ++count;
    }
    return count;
  }
  /// Flows that lost their place to others so far.
  [[nodiscard]] std::uint64_t displaced() const noexcept {
    return displaced_.load(std::memory_order_relaxed);
  }

 private:
  // An entry: check bits, 7 bits of worker, and what it is. 0: free.
  static constexpr unsigned kCheckBits = 22;
  static constexpr unsigned kWorkerShift = kCheckBits;
  static constexpr std::uint32_t kWorkerMask = kMaxWorkers - 1U;
  static constexpr std::uint32_t kUsed = 1U << 31U;
  static constexpr std::uint32_t kPinned = 1U << 30U;
  static constexpr std::uint32_t kRecent = 1U << 29U;  ///< recorded since a set was last combed
  static constexpr std::uint32_t kIdentityMask = kUsed | ((1U << kCheckBits) - 1U);
  static_assert(((kWorkerMask << kWorkerShift) & (kIdentityMask | kPinned | kRecent)) == 0);
  static_assert(std::has_single_bit(unsigned{kMaxWorkers}));

  [[nodiscard]] static constexpr unsigned set_bits_of(std::uint32_t flows) noexcept {
    const auto sets = std::bit_ceil(flows) / (kWays / 4);
    const auto bits = static_cast<unsigned>(std::countr_zero(sets));
    return bits < kMinSetBits ? kMinSetBits : bits;
  }
  [[nodiscard]] std::atomic<std::uint32_t>* set_of(std::uint32_t hash) const noexcept {
    return entries_.data() + std::size_t{hash >> (32U - set_bits_)} * kWays;
  }
  [[nodiscard]] std::uint32_t identity(std::uint32_t hash) const noexcept {
    return kUsed | (hash & ((1U << (32U - set_bits_)) - 1U));
  }
  [[nodiscard]] static constexpr std::uint32_t bits_of(WorkerId worker) noexcept {
    return std::uint32_t{worker.value()} << kWorkerShift;
  }
  [[nodiscard]] static Consumer consumer_of(std::uint32_t entry) noexcept {
    return {WorkerId{static_cast<std::uint16_t>((entry >> kWorkerShift) & kWorkerMask)},
            (entry & kPinned) != 0, (entry & kRecent) != 0};
  }

  /// Into a free entry, or in place of one that was not recorded since the last time this set was
  /// full (the clock's hand goes round once at most: it takes the recent mark from all it passes).
  /// returns: the place; nullptr where there are only pins
  std::atomic<std::uint32_t>* insert(std::atomic<std::uint32_t>* set,
                                     std::uint32_t recorded) noexcept {
    for (unsigned way = 0; way < kWays; ++way) {
      std::uint32_t entry = 0;
      if (set[way].compare_exchange_strong(entry, recorded, std::memory_order_seq_cst)) {
        return &set[way];
      }
    }
    for (unsigned step = 0; step < 2 * kWays; ++step) {
      auto& place = set[step % kWays];
      std::uint32_t entry = place.load(std::memory_order_relaxed);
      if ((entry & kPinned) != 0) continue;
      const bool spared = (entry & kRecent) != 0;
      const std::uint32_t next = spared ? entry & ~kRecent : recorded;
      if (!place.compare_exchange_strong(entry, next, std::memory_order_seq_cst) || spared)
        continue;
      displaced_.fetch_add(1, std::memory_order_relaxed);
      return &place;
    }
    return nullptr;
  }

  /// Two workers that record a new flow at once, or one that does while it is pinned, may both have
  /// found no entry and put one. Whoever puts looks again afterwards, and of two at least one sees
  /// the other: a pin stays, and of two records the one that comes first in the set.
  void remove_twin(std::atomic<std::uint32_t>* set, std::atomic<std::uint32_t>* put,
                   std::uint32_t recorded) noexcept {
    for (unsigned way = 0; way < kWays; ++way) {
      std::uint32_t entry = set[way].load(std::memory_order_seq_cst);
      if (&set[way] == put || ((entry ^ recorded) & kIdentityMask) != 0) continue;
      const bool ours_stays = (entry & kPinned) == 0 && put < &set[way];
      std::uint32_t gone = ours_stays ? entry : recorded;
      (ours_stays ? set[way] : *put).compare_exchange_strong(gone, 0, std::memory_order_relaxed);
      if (!ours_stays) return;
    }
  }

  unsigned set_bits_;
  AlignedArray<std::atomic<std::uint32_t>> entries_;
  alignas(kCacheLine) std::atomic<std::uint64_t> displaced_{0};
};

}  // namespace mqsteer
