#pragma once

#include <mqsteer/id.h>

#include <rte_cycles.h>

#include <cstdint>

namespace mqsteer {

/// A point in time, or a span, in cycles of this CPU's time stamp counter.
using TscCycles = Id<struct TscTag, std::uint64_t>;

/// Now. A few nanoseconds; no system call. thread: any
[[nodiscard]] inline TscCycles tsc_now() noexcept {
  return TscCycles{rte_rdtsc()};
}

/// Cycles per second as EAL measured it; 0 before Eal::init.
[[nodiscard]] inline std::uint64_t tsc_hz() noexcept {
  return rte_get_tsc_hz();
}

/// Cycles from `earlier` to `later`; 0 where `later` is the earlier one, since the counters of two
/// CPUs may differ by a few cycles.
[[nodiscard]] constexpr TscCycles tsc_between(TscCycles earlier, TscCycles later) noexcept {
  return TscCycles{later > earlier ? later.value() - earlier.value() : 0};
}

/// hz: cycles per second, not 0. Exact for spans up to 584 years, by way of 128 bits.
[[nodiscard]] constexpr std::uint64_t tsc_to_ns(TscCycles span, std::uint64_t hz) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{span.value()} * 1'000'000'000U / hz);
}

/// The cycles that last `ns` nanoseconds, rounded down.
[[nodiscard]] constexpr TscCycles ns_to_tsc(std::uint64_t ns, std::uint64_t hz) noexcept {
  __extension__ using Wide = unsigned __int128;
  return TscCycles{static_cast<std::uint64_t>(Wide{ns} * hz / 1'000'000'000U)};
}

}  // namespace mqsteer
