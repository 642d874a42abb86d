#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mqsteer {

/// Why a packet was not passed on. The one list of reasons: code, JSON, CLI, metrics and files all
/// take their names from here. Where the kernel has a word for it, it is the kernel's
/// (include/net/dropreason.h).
enum class DropReason : std::uint8_t {
  kBacklogFull,     ///< the worker's backlog had no slot left
  kBacklogBudget,   ///< the RX lcore had its whole budget in flight
  kFlowLimit,       ///< one flow took more than half of a backlog that was over half full
  kMoveHeld,        ///< the bucket was held for a forced move and the hold FIFO was full
  kWorkerStalled,   ///< still queued at a worker that was abandoned
  kAppBacklogFull,  ///< the hand-over ring to the flow's own worker was full
  kTxRingFull,      ///< the port's TX ring took no more
  kTxError,         ///< taken by tx_burst, then reported as an output error by the port
  kPktTooBig,       ///< longer than the out port can send
  kDevReady,        ///< the out port was down
  kNomem,           ///< no mbuf was left for a packet to be made
  kCount
};

inline constexpr std::size_t kDropReasons = static_cast<std::size_t>(DropReason::kCount);

inline constexpr std::array<std::string_view, kDropReasons> kDropReasonNames = {
    "backlog_full",   "backlog_budget",   "flow_limit",   "move_held",
    "worker_stalled", "app_backlog_full", "tx_ring_full", "tx_error",
    "pkt_too_big",    "dev_ready",        "nomem"};

[[nodiscard]] constexpr std::string_view name_of(DropReason reason) noexcept {
  return kDropReasonNames[static_cast<std::size_t>(reason)];
}

}  // namespace mqsteer
