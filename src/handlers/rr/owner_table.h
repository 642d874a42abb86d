#pragma once

#include "backlog/aligned_array.h"
#include "handlers/rr/siphash.h"
#include "packet/hash.h"

#include <mqsteer/id.h>

#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstdint>
#include <memory_resource>
#include <optional>

namespace mqsteer::rr {

/// Which worker owns the connections of a flow hash. One for all workers.
///
/// Sets of 8 entries, a cache line each; a hash belongs to two sets, of which the second is used
/// where the first is full. An entry {hash 32, owner + 1: 16, connections 16} is put into a free
/// place by compare-and-swap, by the worker that becomes the owner, and is changed by it alone from
/// then on; 0 is a free place. No locks. A secret of the run chooses the sets: the flow hash is
/// known outside, and whoever knew the sets of a victim could fill them with 16 flows.
///
/// **One owner a hash.** A worker claims in three steps: look whether there is an owner, put the
/// entry, look again. Of two workers that claim one hash at the same time, at least one sees the
/// other in its second look (the puts and the second looks are sequentially consistent), takes its
/// entry out again and yields. A connection is made only after the second look. For the moment in
/// between others may take the one that yields for the owner: a worker that is handed a packet of
/// no connection of its own therefore looks here again before it answers (see Rr).
class OwnerTable {
 public:
  static constexpr unsigned kWays = 8;
  static constexpr std::uint16_t kMostConnections = 0xffff;  ///< of one hash

  /// connections: of all workers; there are four places for each
  /// key: 128 random bits; small numbers would spread badly
  OwnerTable(std::uint64_t connections, const SipKey& key, std::pmr::memory_resource& memory)
      : sets_{sets_of(connections), memory}, key_{key[0], key[1] | 1U} {}

  [[nodiscard]] static std::size_t bytes(std::uint64_t connections) noexcept {
    return sets_of(connections) * sizeof(Set);
  }

  void prefetch(std::uint32_t hash) const noexcept { __builtin_prefetch(sets_of_hash(hash)[0]); }

  /// The owner of a hash. thread: any. Pairs with the claim of another worker.
  [[nodiscard]] std::optional<WorkerId> find(std::uint32_t hash) const noexcept {
    for (const Set* set : sets_of_hash(hash)) {
      for (const auto& place : set->places) {
        const std::uint64_t entry = place.load(std::memory_order_acquire);
        if (entry != 0 && hash_of(entry) == hash) return owner_of(entry);
      }
    }
    return std::nullopt;
  }

  enum class Claim : std::uint8_t {
    kOurs,     ///< one connection more is counted for us
    kAnother,  ///< find() says whose it is, or whose it is about to be
    kFull,     ///< no place left, or too many connections of this hash
  };

  /// The worker wants to own another connection of this hash. thread: the worker's
  [[nodiscard]] Claim claim(std::uint32_t hash, WorkerId worker) noexcept {
    if (std::atomic<std::uint64_t>* ours = find_place(hash); ours != nullptr) {
      const std::uint64_t entry = ours->load(std::memory_order_relaxed);
      if (entry == 0 || owner_of(entry) != worker) return Claim::kAnother;
      if (connections_of(entry) == kMostConnections) return Claim::kFull;
      ours->store(entry + 1, std::memory_order_relaxed);
      return Claim::kOurs;
    }
    const std::uint64_t wanted = entry_of(hash, worker);
    std::atomic<std::uint64_t>* put = put_entry(hash, wanted);
    if (put == nullptr) return Claim::kFull;
    if (!others_have(hash, put)) return Claim::kOurs;
    put->store(0, std::memory_order_release);
    return Claim::kAnother;
  }

  /// One connection less. The worker must have claimed it. thread: the worker's
  void release(std::uint32_t hash, WorkerId worker) noexcept {
    for (Set* set : sets_of_hash(hash)) {
      for (auto& place : set->places) {
        const std::uint64_t entry = place.load(std::memory_order_relaxed);
        if (entry == 0 || hash_of(entry) != hash || owner_of(entry) != worker) continue;
        place.store(connections_of(entry) == 1 ? 0 : entry - 1, std::memory_order_release);
        return;
      }
    }
    assert(false);
  }

  /// Hashes that have an owner. Reads all of it: for tests and tools. thread: any
  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t found = 0;
    for (const Set& set : sets_.span()) {
      for (const auto& place : set.places) found += place.load(std::memory_order_relaxed) != 0;
    }
    return found;
  }

 private:
  struct alignas(kCacheLine) Set {
    std::array<std::atomic<std::uint64_t>, kWays> places;
  };

  [[nodiscard]] static std::size_t sets_of(std::uint64_t connections) noexcept {
    return std::bit_ceil(connections * 4) / kWays + 1;
  }
  [[nodiscard]] static std::uint32_t hash_of(std::uint64_t entry) noexcept {
    return static_cast<std::uint32_t>(entry >> 32U);
  }
  [[nodiscard]] static WorkerId owner_of(std::uint64_t entry) noexcept {
    return WorkerId{static_cast<std::uint16_t>((entry >> 16U) - 1)};
  }
  [[nodiscard]] static std::uint16_t connections_of(std::uint64_t entry) noexcept {
    return static_cast<std::uint16_t>(entry);
  }
  [[nodiscard]] static std::uint64_t entry_of(std::uint32_t hash, WorkerId owner) noexcept {
    return std::uint64_t{hash} << 32U | (std::uint64_t{owner.value()} + 1) << 16U | 1U;
  }

  /// By multiplication, over all bits: a steering table's own choice of bits does not matter.
  [[nodiscard]] Set& set_at(std::uint32_t mixed) const noexcept {
    return sets_[static_cast<std::size_t>(std::uint64_t{mixed} * sets_.size() >> 32U)];
  }
  [[nodiscard]] std::array<Set*, 2> sets_of_hash(std::uint32_t hash) const noexcept {
    const std::uint64_t mixed = multiply_fold(hash ^ key_[0], key_[1]);
    return {&set_at(static_cast<std::uint32_t>(mixed >> 32U)),
            &set_at(static_cast<std::uint32_t>(mixed))};
  }

  [[nodiscard]] std::atomic<std::uint64_t>* find_place(std::uint32_t hash) const noexcept {
    for (Set* set : sets_of_hash(hash)) {
      for (auto& place : set->places) {
        const std::uint64_t entry = place.load(std::memory_order_acquire);
        if (entry != 0 && hash_of(entry) == hash) return &place;
      }
    }
    return nullptr;
  }

  /// returns: the place that is ours now; nullptr where there is none
  [[nodiscard]] std::atomic<std::uint64_t>* put_entry(std::uint32_t hash,
                                                      std::uint64_t wanted) const noexcept {
    for (Set* set : sets_of_hash(hash)) {
      for (auto& place : set->places) {
        std::uint64_t entry = 0;
        if (place.compare_exchange_strong(entry, wanted, std::memory_order_seq_cst)) return &place;
      }
    }
    return nullptr;
  }

  [[nodiscard]] bool others_have(std::uint32_t hash,
                                 const std::atomic<std::uint64_t>* ours) const noexcept {
    for (const Set* set : sets_of_hash(hash)) {
      for (const auto& place : set->places) {
        const std::uint64_t entry = place.load(std::memory_order_seq_cst);
        if (&place != ours && entry != 0 && hash_of(entry) == hash) return true;
      }
    }
    return false;
  }

  AlignedArray<Set> sets_;
  SipKey key_;
};

}  // namespace mqsteer::rr
