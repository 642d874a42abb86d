#pragma once

#include "backlog/backlog.h"
#include "backlog/hand_over_ring.h"
#include "eal/clock.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace mqsteer {

/// Tells when a worker's packets have left its TX queues for certain, not just its hands: it
/// publishes each backlog's `left`, a head of some time ago (design: "TX guard").
///
/// A head is noted, and published once nothing given to tx_burst before it can still wait: once
/// each TX queue has had the time that what this worker gave it takes at most at the link's rate,
/// which is never more than a full ring takes; or, where a driver's descriptor status can be
/// trusted, when the descriptor written last at that moment is done; and once other workers have
/// finished what was handed over to them. Where all ports copy and nothing is handed over, at once.
///
/// The time is a bound as long as the link is up and its peer sends no pause frames.
///
/// thread: the worker's lcore
class TxGuard {
 public:
  /// A TX queue that a frame does not leave at once.
  struct Queue {
    std::uint16_t port = 0;
    std::uint16_t queue = 0;
    std::uint32_t descriptors = 0;
    bool shared = false;  ///< other workers put frames into this ring too
    bool by_status =
        false;  ///< the driver says which descriptors are done; needs a ring of our own
    const std::uint64_t* sent = nullptr;  ///< frames given to it so far by this worker
    /// TSC cycles that one frame takes at most: a full one at the link's rate, and as many of the
    /// port's other rings in between, since a NIC serves its rings in turn. Any thread changes it.
    const std::atomic<std::uint64_t>* frame_cycles = nullptr;
  };
  /// Whether a descriptor is done; offset: as rte_eth_tx_descriptor_status counts, from the one
  /// that is written next.
  using IsDone = bool (*)(const Queue& queue, std::uint16_t offset) noexcept;

  struct Config {
    std::vector<Queue> queues;
    IsDone is_done = nullptr;
    std::vector<const HandOverRing*> rings;  ///< by worker; nullptr: none
  };

  TxGuard() = default;
  TxGuard(Config config, std::vector<Backlog*> backlogs)
      : config_{std::move(config)},
        backlogs_{std::move(backlogs)},
        heads_(backlogs_.size()),
        queues_(config_.queues.size()),
        takers_(config_.rings.size()) {}

  /// A worker given up is waited for no more until it is restored; what other workers hand over to
  /// it when it comes back may be out of order.
  void give_up(std::size_t worker) noexcept {
    if (worker < takers_.size()) takers_[worker].given_up = true;
  }
  void restore(std::size_t worker) noexcept {
    if (worker < takers_.size()) takers_[worker].given_up = false;
  }

  /// Once a turn, after the heads were published. now: not before anything that these heads count
  /// was given to tx_burst. tx: whether TX queues are waited for, as tx_guard says; hand-over rings
  /// always are.
  void run(TscCycles now, bool tx) noexcept {
    const bool tx_at_once = !tx || queues_.empty();
    if (tx_at_once && config_.rings.empty()) {
      for (Backlog* backlog : backlogs_) backlog->leave(backlog->head());
      noted_ = false;
      return;
    }
    if (!tx_at_once) advance(now);
    if (noted_) {
      if (!((tx_at_once || sent(now)) && taken_over())) return;
      for (std::size_t i = 0; i < backlogs_.size(); ++i) backlogs_[i]->leave(heads_[i]);
    }
    note(now, tx);
  }

 private:
  struct QueueState {
    std::uint64_t counted = 0;   ///< frames that empty_at knows of
    std::uint64_t empty_at = 0;  ///< TSC: all of them have left by then
    std::uint64_t noted = 0;     ///< frames sent when the heads were noted
    std::uint64_t due = 0;       ///< TSC: those have left
  };
  struct Taker {
    std::uint64_t noted = 0;  ///< handed over to it when the heads were noted
    bool given_up = false;
  };

  /// Each queue as a bucket that leaks a frame every frame_cycles and holds a ring at most.
  void advance(TscCycles now) noexcept {
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      const Queue& queue = config_.queues[i];
      QueueState& state = queues_[i];
      const std::uint64_t frames = *queue.sent - state.counted;
      if (frames == 0) continue;
      state.counted += frames;
      const std::uint64_t frame = queue.frame_cycles->load(std::memory_order_relaxed);
      const std::uint64_t full = now.value() + queue.descriptors * frame;
      const std::uint64_t from =
          is_before(now.value(), state.empty_at) ? state.empty_at : now.value();
      const bool some = !queue.shared && frames < queue.descriptors;
      state.empty_at =
          some && is_before(from + frames * frame, full) ? from + frames * frame : full;
    }
  }

  void note(TscCycles now, bool tx) noexcept {
    for (std::size_t i = 0; i < backlogs_.size(); ++i) heads_[i] = backlogs_[i]->head();
    for (std::size_t i = 0; tx && i < queues_.size(); ++i) {
      QueueState& state = queues_[i];
      state.noted = state.counted;
      state.due = state.empty_at;
      if (config_.queues[i].by_status) {
        // A descriptor that carries no frame's end never becomes done; a full ring's time ends
        // that.
        state.due =
            now.value() + config_.queues[i].descriptors *
                              config_.queues[i].frame_cycles->load(std::memory_order_relaxed);
      }
    }
    for (std::size_t i = 0; i < takers_.size(); ++i) {
      if (config_.rings[i] != nullptr) takers_[i].noted = config_.rings[i]->published();
    }
    noted_ = true;
  }

  [[nodiscard]] bool sent(TscCycles now) const noexcept {
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      if (!is_before(now.value(), queues_[i].due)) continue;
      if (!config_.queues[i].by_status || !has_left(config_.queues[i], queues_[i].noted))
        return false;
    }
    return true;
  }

  [[nodiscard]] bool taken_over() const noexcept {
    for (std::size_t i = 0; i < takers_.size(); ++i) {
      const HandOverRing* ring = config_.rings[i];
      if (ring == nullptr || takers_[i].given_up) continue;
      if (static_cast<std::int64_t>(ring->finished() - takers_[i].noted) < 0) return false;
    }
    return true;
  }

  /// A frame takes one descriptor or more, so the one asked for is the noted one or a later one.
  [[nodiscard]] bool has_left(const Queue& queue, std::uint64_t noted) const noexcept {
    const std::uint64_t since = *queue.sent - noted;
    if (noted == 0 || since >= queue.descriptors) return true;  // never used, or written over
    return config_.is_done(queue, static_cast<std::uint16_t>(queue.descriptors - 1 - since));
  }

  [[nodiscard]] static bool is_before(std::uint64_t a, std::uint64_t b) noexcept {
    return static_cast<std::int64_t>(a - b) < 0;
  }

  Config config_;
  std::vector<Backlog*> backlogs_;
  std::vector<std::uint64_t> heads_;
  std::vector<QueueState> queues_;
  std::vector<Taker> takers_;  ///< by worker; empty where nothing is handed over
  bool noted_ = false;
};

}  // namespace mqsteer
