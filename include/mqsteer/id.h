#pragma once

#include <compare>
#include <cstdint>

namespace mqsteer {

/// An index that cannot be mistaken for another kind of index. Costs nothing at run time.
template <class Tag, class Rep>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(Rep value) noexcept : value_{value} {}
  [[nodiscard]] constexpr Rep value() const noexcept { return value_; }
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy takes the comparison's 0 for a pointer
  constexpr auto operator<=>(const Id&) const = default;

 private:
  Rep value_ = 0;
};

using PortId = Id<struct PortTag, std::uint16_t>;      ///< DPDK's ethdev port number
using QueueId = Id<struct QueueTag, std::uint16_t>;    ///< a queue of one port
using LcoreId = Id<struct LcoreTag, std::uint16_t>;    ///< the CPU an lcore is pinned to
using WorkerId = Id<struct WorkerTag, std::uint16_t>;  ///< 0..n-1 in plan order

/// The most workers a plan may have. Buckets keep a worker in 16 bits; the values above this one
/// have meanings of their own (see steering/bucket_table.h). DPDK's RTE_MAX_LCORE is 128 in Debian.
inline constexpr std::uint16_t kMaxWorkers = 128;

}  // namespace mqsteer
