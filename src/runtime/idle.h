#pragma once

#include <mqsteer/config.h>

#include <rte_pause.h>

#include <time.h>

#include <cstdint>

namespace mqsteer {

/// What an lcore does in a turn without work: pause, then ever longer sleeps (policy adaptive), or
/// pauses only (poll).
///
/// A core that pauses first answers the next packet of a busy flow at once; one that sleeps does
/// not burn power, and costs the first packet after idle at most the longest sleep on each lcore it
/// passes. Pauses matter under `poll` too: each look at a backlog takes a cache line from its
/// producer (facts: hot path).
class Idle {
 public:
  void configure(IdlePolicy policy, std::uint32_t max_sleep_us) noexcept {
    policy_ = policy;
    max_sleep_ns_ = max_sleep_us * 1000U;
  }

  void worked() noexcept { turns_ = 0; }

  /// Nothing may be left staged: this may sleep.
  void rest() noexcept {
    if (turns_ < kPauseTurns || policy_ == IdlePolicy::kPoll) {
      ++turns_;
      const std::uint32_t pauses = turns_ < kMaxPauses ? turns_ : kMaxPauses;
      for (std::uint32_t i = 0; i < pauses; ++i) rte_pause();
      return;
    }
    const std::uint32_t doublings = turns_ - kPauseTurns;
    const std::uint32_t ns = doublings < 8 ? kFirstSleepNs << doublings : max_sleep_ns_;
    ++turns_;
    const timespec span{0, static_cast<long>(ns < max_sleep_ns_ ? ns : max_sleep_ns_)};
    nanosleep(&span, nullptr);
  }

 private:
  static constexpr std::uint32_t kPauseTurns = 256;
  static constexpr std::uint32_t kMaxPauses = 16;
  static constexpr std::uint32_t kFirstSleepNs = 1000;

  IdlePolicy policy_ = IdlePolicy::kAdaptive;
  std::uint32_t max_sleep_ns_ = 100'000;
  std::uint32_t turns_ = 0;
};

}  // namespace mqsteer
