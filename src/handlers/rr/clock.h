#pragma once

#include "eal/clock.h"

#include <bit>
#include <cstdint>

namespace mqsteer::rr {

/// A point in time in ticks of the TSC's own making: the power of two of its cycles next below a
/// millisecond, so that no packet costs a division. Wraps after weeks; points less than half of
/// that apart can be compared.
using Tick = std::uint32_t;

[[nodiscard]] constexpr bool is_due(Tick deadline, Tick now) noexcept {
  return static_cast<std::int32_t>(now - deadline) >= 0;
}

class TickClock {
 public:
  /// tsc_hz: cycles per second, at least 1,000
  explicit constexpr TickClock(std::uint64_t tsc_hz) noexcept
      : hz_{tsc_hz}, shift_{static_cast<unsigned>(std::bit_width(tsc_hz / 1000)) - 1} {}

  [[nodiscard]] constexpr Tick at(TscCycles now) const noexcept {
    return static_cast<Tick>(now.value() >> shift_);
  }
  /// Ticks that last at least so long. ms: at most a week
  [[nodiscard]] constexpr Tick ticks(std::uint64_t ms) const noexcept {
    return static_cast<Tick>((ms * (hz_ / 1000) >> shift_) + 1);
  }
  /// The clock of initial sequence numbers, which advances every 4 microseconds.
  /// Source: RFC 9293, section 3.4.1
  [[nodiscard]] std::uint32_t isn_clock(TscCycles now) const noexcept {
    return static_cast<std::uint32_t>(tsc_to_ns(now, hz_) / 4000);
  }

 private:
  std::uint64_t hz_;
  unsigned shift_;
};

}  // namespace mqsteer::rr
