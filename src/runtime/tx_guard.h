#pragma once

#include "backlog/backlog.h"
#include "backlog/hand_over_ring.h"
#include "eal/clock.h"

#include <cstdint>
#include <vector>

namespace mqsteer {

/// Tells when a worker's packets have left its TX queues for certain, not just its hands: it
/// publishes each backlog's `left`, a head of some time ago (design: "TX guard").
///
/// A head is noted, and published once nothing given to tx_burst before it can still wait: after
/// the longest time that a full TX ring takes at the link's rate, where a driver's descriptor
/// status can be trusted when the descriptor written last at that moment is done, and once other
/// workers have finished what was handed over to them. Where all ports copy and nothing is handed
/// over, at once.
///
/// thread: the worker's lcore
class TxGuard {
 public:
  /// A TX queue whose driver says which descriptors are done.
  struct StatusQueue {
    std::uint16_t port = 0;
    std::uint16_t queue = 0;
    std::uint16_t descriptors = 0;
    const std::uint64_t* sent = nullptr;  ///< frames given to it so far by this worker
  };
  /// Whether a descriptor is done; offset: as rte_eth_tx_descriptor_status counts, from the one
  /// that is written next.
  using IsDone = bool (*)(const StatusQueue& queue, std::uint16_t offset) noexcept;

  struct Config {
    TscCycles longest;  ///< 0: what tx_burst took has left
    std::vector<StatusQueue> by_status;
    IsDone is_done = nullptr;
    std::vector<const HandOverRing*> rings;  ///< by worker; nullptr: none
  };

  TxGuard() = default;
  TxGuard(Config config, std::vector<Backlog*> backlogs)
      : config_{std::move(config)},
        backlogs_{std::move(backlogs)},
        heads_(backlogs_.size()),
        sent_(config_.by_status.size()),
        handed_over_(config_.rings.size()) {}

  /// A worker given up is waited for no more, from here on; what other workers hand over to it
  /// when it comes back may be out of order.
  void give_up(std::size_t worker) noexcept {
    if (worker < config_.rings.size()) config_.rings[worker] = nullptr;
  }

  /// Once a turn, after the heads were published. tx: whether TX queues are waited for, as
  /// tx_guard says; hand-over rings always are.
  void run(TscCycles now, bool tx) noexcept {
    const bool tx_at_once = !tx || (config_.longest.value() == 0 && config_.by_status.empty());
    if (tx_at_once && config_.rings.empty()) {
      for (Backlog* backlog : backlogs_) backlog->leave(backlog->head());
      noted_ = false;
      return;
    }
    if (noted_) {
      if (!((tx_at_once || sent(now)) && taken_over())) return;
      for (std::size_t i = 0; i < backlogs_.size(); ++i) backlogs_[i]->leave(heads_[i]);
    }
    note(now);
  }

 private:
  void note(TscCycles now) noexcept {
    for (std::size_t i = 0; i < backlogs_.size(); ++i) heads_[i] = backlogs_[i]->head();
    for (std::size_t i = 0; i < sent_.size(); ++i) sent_[i] = *config_.by_status[i].sent;
    for (std::size_t i = 0; i < handed_over_.size(); ++i) {
      if (config_.rings[i] != nullptr) handed_over_[i] = config_.rings[i]->published();
    }
    at_ = now;
    noted_ = true;
  }

  [[nodiscard]] bool sent(TscCycles now) const noexcept {
    if (tsc_between(at_, now).value() < config_.longest.value()) return false;
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      if (!has_left(config_.by_status[i], sent_[i])) return false;
    }
    return true;
  }

  [[nodiscard]] bool taken_over() const noexcept {
    for (std::size_t i = 0; i < handed_over_.size(); ++i) {
      const HandOverRing* ring = config_.rings[i];
      if (ring == nullptr) continue;
      if (static_cast<std::int64_t>(ring->finished() - handed_over_[i]) < 0) return false;
    }
    return true;
  }

  /// A frame takes one descriptor or more, so the one asked for is the noted one or a later one.
  [[nodiscard]] bool has_left(const StatusQueue& queue, std::uint64_t sent) const noexcept {
    const std::uint64_t since = *queue.sent - sent;
    if (sent == 0 || since >= queue.descriptors) return true;  // never used, or written over
    return config_.is_done(queue, static_cast<std::uint16_t>(queue.descriptors - 1 - since));
  }

  Config config_;
  std::vector<Backlog*> backlogs_;
  std::vector<std::uint64_t> heads_;
  std::vector<std::uint64_t> sent_;
  std::vector<std::uint64_t> handed_over_;  ///< by worker
  TscCycles at_;
  bool noted_ = false;
};

}  // namespace mqsteer
