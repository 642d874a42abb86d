#pragma once

#include "backlog/backlog.h"
#include "backlog/return_ring.h"
#include "handlers/outbox.h"
#include "runtime/runtime.h"
#include "steering/balancer.h"

#include <rte_spinlock.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mqsteer {

/// A port's link as the lcores see it. Written by the control thread.
struct Runtime::Link {
  std::atomic<bool> up{false};
  std::atomic<std::uint64_t> frame_cycles{0};  ///< TxGuard::Queue
};

/// What stands between one RX lcore and one worker.
struct Runtime::Pair {
  Pair(const Backlog::Shape& shape, bool own, std::pmr::memory_resource& memory)
      : backlog{shape, memory} {
    if (!own) returns.emplace(kReturnSlots, memory);
  }
  Backlog backlog;
  std::optional<ReturnRing> returns;  ///< none where both ends are one lcore
};

/// One lcore: its counters and loop.
struct Runtime::Lcore {
  std::vector<Counter> rx_packets;  ///< by planned queue
  std::vector<Counter> rx_bytes;
  WorkerCounters worker;
  LcoreReport report;
  std::unique_ptr<Outbox> outbox;
  std::unique_ptr<LcoreRunner> loop;
  std::vector<std::unique_ptr<HandOverRing>> hand_over;  ///< by the worker that gets it; or empty
  std::atomic<bool> left{false};                         ///< the loop has returned
};

/// The load balancer and the counts of its latest round.
struct Runtime::Balance {
  explicit Balance(const Balancer::Config& config)
      : balancer{config},
        workers(config.workers),
        buckets(config.buckets),
        before(config.workers),
        loads_before(config.buckets) {}

  struct Counts {
    std::uint64_t busy = 0;
    std::uint64_t idle = 0;
    std::uint64_t packets = 0;
  };
  Balancer balancer;
  std::vector<Balancer::WorkerSample> workers;
  std::vector<Balancer::BucketSample> buckets;
  std::vector<Counts> before;
  std::vector<std::uint32_t> loads_before;
};

/// A lock for every TX queue that several workers share.
struct Runtime::TxLocks {
  struct alignas(kCacheLine) Lock {
    rte_spinlock_t lock = RTE_SPINLOCK_INITIALIZER;
  };
  std::vector<std::unique_ptr<Lock[]>> by_port;  ///< [port][TX queue]; nullptr: not shared
};

}  // namespace mqsteer
