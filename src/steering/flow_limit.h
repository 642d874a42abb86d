#pragma once

#include <array>
#include <cstdint>

namespace mqsteer {

/// Finds the elephant of a backlog that is over half full: a flow with more than half of the last
/// 256 packets. One per (RX lcore, worker) pair; called by the RX lcore alone.
///
/// Flows are told apart by 4,096 hashed counters, so two of them can share one; an elephant is
/// always found, a mouse beside it may suffer once in 4,096. Source: Linux
/// Documentation/networking/scaling.rst, "RPS Flow Limit"
class FlowLimit {
 public:
  /// Counts a packet and says whether it should be dropped first.
  [[nodiscard]] bool exceeded(std::uint32_t hash) noexcept {
    const std::uint16_t flow = static_cast<std::uint16_t>((hash * kSpread) >> (32U - kFlowBits));
    const std::uint16_t oldest = history_[at_];
    if (packets_[oldest] != 0) --packets_[oldest];
    history_[at_] = flow;
    ++at_;  // wraps at 256
    return ++packets_[flow] > kHistory / 2;
  }

 private:
  static constexpr unsigned kHistory = 256;
  static constexpr unsigned kFlowBits = 12;
  /// 2^32 / golden ratio: mixes hash bits that one worker's flows have in common.
  static constexpr std::uint32_t kSpread = 0x9e3779b1U;

  std::array<std::uint16_t, kHistory> history_{};
  std::array<std::uint16_t, 1U << kFlowBits> packets_{};
  std::uint8_t at_ = 0;
};

}  // namespace mqsteer
