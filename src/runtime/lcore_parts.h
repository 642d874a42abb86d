#pragma once

#include "backlog/backlog.h"
#include "backlog/hand_over_ring.h"
#include "backlog/return_ring.h"
#include "handlers/outbox.h"
#include "port/port.h"
#include "runtime/lcore_state.h"
#include "runtime/tx_guard.h"
#include "steering/dispatcher.h"
#include "steering/fragment_tracker.h"

#include <mqsteer/counter.h>
#include <mqsteer/id.h>

#include <rte_mempool.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace mqsteer {

/// One RX queue as its lcore polls it.
template <class Rx>
struct PolledQueue {
  Rx queue;
  PortId port;
  QueueId id;
  std::uint16_t stream = 0;  ///< its number among all RX queues of the box
  /// By queue, where the peer names its consumers by the queue it sends on (vhost, memif): the
  /// worker that transmits on the queue of this number; kNoWorker: no source of rfs.
  std::uint16_t consumer = 0xffff;
  std::uint64_t order_number = 0;  ///< of the latest packet, while order is checked
  Counter* packets = nullptr;      ///< handed to us by the receive; written by the lcore
  Counter* bytes = nullptr;
};

/// Everything one lcore works with; what it points to outlives the loop. An lcore without queues
/// receives nothing, one without a worker handles nothing.
template <class Rx>
struct LcoreParts {
  std::vector<PolledQueue<Rx>> queues;
  std::vector<Backlog*> to_workers;  ///< by worker: this lcore's backlogs; empty without queues
  std::vector<ReturnRing*> returns;  ///< by worker: mbufs on their way back; nullptr for our own
  rte_mempool* pool = nullptr;       ///< of our queues
  std::uint32_t budget = 65536;
  std::uint16_t worker = 0xffff;          ///< the number of the worker we are, if we are one
  std::vector<Backlog*> to_us;            ///< from other RX lcores
  std::vector<std::size_t> to_us_from;    ///< the outbox source of each of them
  std::optional<std::size_t> own_source;  ///< the outbox source of our own packets
  std::uint8_t source = 0;                ///< the same as our packets carry it
  unsigned current_bits = SteeringTable::kMaxBits;  ///< Dispatcher::Config
  std::vector<HandOverRing*> taken_over;            ///< from the other workers
  TxGuard tx_guard;
  Outbox* outbox = nullptr;
  WorkerCounters* worker_counters = nullptr;
  const Commands* commands = nullptr;
  LcoreReport* report = nullptr;
};

/// What runs on an lcore; the type of the handler is chosen once, at start.
class LcoreRunner {
 public:
  LcoreRunner() = default;
  LcoreRunner(const LcoreRunner&) = delete;
  LcoreRunner& operator=(const LcoreRunner&) = delete;
  LcoreRunner(LcoreRunner&&) = delete;
  LcoreRunner& operator=(LcoreRunner&&) = delete;
  virtual ~LcoreRunner() = default;

  /// Returns after Commands::Stage::kStop. thread: the lcore's
  virtual void run() noexcept = 0;

  /// The RX side's counters towards a worker; nullptr without RX queues. thread: any
  [[nodiscard]] virtual const PairCounters* towards(WorkerId worker) const noexcept = 0;

  /// What `fragments: track` did with them; nullptr without RX queues. thread: any
  [[nodiscard]] virtual const FragmentCounters* fragments() const noexcept = 0;

  /// Packets that came here for a bucket of soft-rss so far; wraps. thread: any
  [[nodiscard]] virtual std::uint32_t load_of(std::uint32_t bucket) const noexcept = 0;

  /// Where a bucket of the table in use is on this RX lcore, as Dispatcher::position(). Needs RX
  /// queues. thread: any
  struct Position {
    std::uint16_t worker = 0xffff;
    bool drained = true;
    bool held = false;
  };
  [[nodiscard]] virtual Position position(std::uint32_t current_bucket) const noexcept = 0;
};

}  // namespace mqsteer
