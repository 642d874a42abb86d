#pragma once

#include "backlog/aligned_array.h"
#include "steering/order_check.h"
#include "steering/steering_table.h"

#include <mqsteer/config.h>
#include <mqsteer/counter.h>
#include <mqsteer/id.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace mqsteer {

/// What the control thread asks of every lcore. Written by the control thread only; each change
/// ends with a release increment of `sequence`, which pairs with the acquire in LcoreLoop::obey().
struct Commands {
  enum class Stage : std::uint8_t {
    kRun,      ///< receive, steer, handle
    kQuiesce,  ///< receive nothing, flush, and say when nothing is outstanding
    kDrain,    ///< as kQuiesce, on the way to a stop
    kStop,     ///< leave the loop
  };

  alignas(kCacheLine) std::atomic<std::uint32_t> sequence{0};
  std::atomic<Stage> stage{Stage::kRun};
  std::atomic<const SteeringTable*> table{nullptr};  ///< taken over when a quiesce ends
  std::atomic<bool> flow_limit{false};
  std::atomic<bool> tx_guard{false};
  std::atomic<bool> count_loads{false};           ///< of the buckets, for the balancer
  std::atomic<OrderCheck*> order_check{nullptr};  ///< nullptr: off; once made it stays
  std::atomic<IdlePolicy> idle{IdlePolicy::kAdaptive};
  std::atomic<std::uint32_t> idle_max_sleep_us{100};
  /// By worker: raised (release) each time the worker is abandoned, and each time it is restored;
  /// so an odd one is abandoned now.
  std::array<std::atomic<std::uint32_t>, kMaxWorkers> abandoned{};
};

/// What an lcore tells the control thread. Written by the lcore.
struct alignas(kCacheLine) LcoreReport {
  std::atomic<std::uint32_t> obeyed{0};  ///< the latest Commands::sequence acted upon
  std::atomic<bool> quiet{false};        ///< not receiving, and nothing of ours is outstanding
  std::atomic<std::uint16_t> held{0};    ///< packets in the hold FIFO
  Counter turns;                         ///< of the loop; one that stands still is a stalled lcore
  Counter busy_cycles;                   ///< TSC cycles of turns that had work
  Counter idle_cycles;                   ///< TSC cycles of turns that had none, sleeps included
};

}  // namespace mqsteer
