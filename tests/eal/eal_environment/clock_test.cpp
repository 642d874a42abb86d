#include "eal/clock.h"

#include "environment.h"

#include <gmock/gmock.h>

#include <chrono>

namespace mqsteer {
namespace {

TEST(Clock, ConvertsCyclesAndNanosecondsWithoutOverflow) {
  constexpr std::uint64_t kHz = 2'400'000'000;
  EXPECT_EQ(tsc_to_ns(TscCycles{24}, kHz), 10U);
  EXPECT_EQ(ns_to_tsc(10, kHz), TscCycles{24});
  constexpr std::uint64_t kYearNs = 365ULL * 86400 * 1'000'000'000;
  EXPECT_EQ(tsc_to_ns(ns_to_tsc(kYearNs, kHz), kHz), kYearNs);
}

TEST(Clock, NeverGivesANegativeSpan) {
  EXPECT_EQ(tsc_between(TscCycles{5}, TscCycles{9}), TscCycles{4});
  EXPECT_EQ(tsc_between(TscCycles{9}, TscCycles{5}), TscCycles{0});
}

TEST(Clock, RunsAsFastAsTheSteadyClock) {
  eal();
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const TscCycles from = tsc_now();
  while (Clock::now() - start < std::chrono::milliseconds{20}) {
  }
  const auto passed = static_cast<double>((Clock::now() - start).count());
  const auto measured = static_cast<double>(tsc_to_ns(tsc_between(from, tsc_now()), tsc_hz()));
  EXPECT_NEAR(measured / passed, 1.0, 0.05);
}

}  // namespace
}  // namespace mqsteer
