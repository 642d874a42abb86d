#pragma once

#include "eal/eal.h"
#include "eal/mempool.h"
#include "port/port.h"
#include "runtime/flow_explanation.h"
#include "runtime/lcore_loop.h"
#include "runtime/plan.h"
#include "runtime/rte_memory.h"
#include "runtime/snapshot.h"
#include "steering/balancer.h"

#include <mqsteer/config.h>
#include <mqsteer/error.h>
#include <mqsteer/id.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mqsteer {

/// Makes the loop of an lcore; called once for each, before they start. The handler's type is
/// chosen here and nowhere else.
using LoopFactory =
    std::function<std::unique_ptr<LcoreRunner>(LcoreParts<RxQueue>, std::pmr::memory_resource&)>;

/// The factory of a handler that is copied to every worker.
template <Handler H, DrainRule rule = DrainRule::kOn>
[[nodiscard]] LoopFactory loops_with(H handler) {
  return [handler](LcoreParts<RxQueue> parts, std::pmr::memory_resource& memory) {
    return std::make_unique<LcoreLoop<H, RxQueue, rule>>(std::move(parts), handler, memory);
  };
}

/// What a worker's handler counts; called by the control thread while the worker runs.
using HandlerFigures = std::function<std::vector<NamedFigure>(WorkerId)>;

/// What a plan needs to know of an opened port.
[[nodiscard]] PortFacts facts_of(const PortCapabilities& port, const PortConfig& config);

/// The peers of Forward, by PortId. Needs opened ports in the configuration's order.
[[nodiscard]] std::vector<PortId> peers_of(const Config& config,
                                           const std::vector<PortCapabilities>& ports);

/// Pools, ports, backlogs and lcores at work: from start() to stop() packets flow.
///
/// thread: the control thread (the one that initialised EAL), all members
class Runtime {
 public:
  struct Setup {
    const Eal* eal = nullptr;  ///< outlives the runtime
    Config config;
    Plan plan;
    std::vector<PortCapabilities> ports;  ///< opened, in the configuration's order
    LoopFactory loops;
    HandlerFigures figures = {};
    bool checksums = false;  ///< PortSetup::checksums, for all ports
  };
  static Expected<std::unique_ptr<Runtime>> start(Setup setup);

  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  Runtime(Runtime&&) = delete;
  Runtime& operator=(Runtime&&) = delete;
  ~Runtime();  ///< stop()

  /// Stops receiving, lets the workers finish what they have, ends the lcores and stops the ports.
  /// What is left after two seconds is dropped and counted. Harmless when called twice.
  ///
  /// errors: an lcore that does not come back from its handler; nothing it uses may be freed then,
  ///         so the process must end without destructors
  [[nodiscard]] Expected<void> stop();

  /// Changes steering while traffic flows: nothing lost, nothing reordered. Workers and weights
  /// move buckets under the drain rule; what changes the bucket index (mode, symmetric, tunnels,
  /// rss_buckets, rss_bits) is a quiesce of at most 100 ms, refused if a worker does not drain.
  /// The state is unchanged on error. returns: buckets whose desired worker changed
  [[nodiscard]] Expected<std::uint32_t> set_steering(const SteeringConfig& wanted);
  /// Under soft-rss with `balance`: a round of the load balancer. Call it every kBalanceEvery; it
  /// does nothing where there is nothing to balance. returns: buckets moved
  std::size_t balance();
  static constexpr std::chrono::nanoseconds kBalanceEvery{Balancer::kGoodRoundNs};
  [[nodiscard]] bool balances() const noexcept {
    return config_.steering.mode == SteeringMode::kSoftRss && config_.steering.balance;
  }

  void set_idle(IdlePolicy policy, std::uint32_t max_sleep_us);

  /// Gives up a stalled worker: its buckets go to the other listed workers at once, and what it has
  /// not finished is dropped as worker_stalled when it comes back.
  [[nodiscard]] Expected<void> abandon(WorkerId worker);
  /// Takes an abandoned worker in again.
  [[nodiscard]] Expected<void> restore(WorkerId worker);

  /// Under rfs: the operator's word on where a flow goes, above its consumers'. Pins outlive a
  /// change of mode and come back with rfs.
  [[nodiscard]] Expected<void> pin(const FlowTuple& flow, WorkerId worker);
  [[nodiscard]] Expected<void> unpin(const FlowTuple& flow);
  [[nodiscard]] const std::vector<FlowPin>& pins() const noexcept { return pins_; }
  [[nodiscard]] FlowExplanation explain(const FlowTuple& flow) const;
  [[nodiscard]] RfsFigures rfs_figures() const;

  [[nodiscard]] Snapshot snapshot();
  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
  [[nodiscard]] const Config& config() const noexcept { return config_; }  ///< as running now
  [[nodiscard]] const SteeringTable& table() const noexcept { return *tables_.back(); }
  [[nodiscard]] const std::vector<std::unique_ptr<Port>>& ports() const noexcept { return ports_; }
  [[nodiscard]] const std::vector<std::unique_ptr<Mempool>>& pools() const noexcept {
    return pools_;
  }

  /// Reads the links of all ports for the workers. returns: "left: link down", one a change
  std::vector<std::string> poll_links();

  /// The lcores whose loop has not turned since the last call. Call about once a second.
  [[nodiscard]] std::vector<std::size_t> stalled_lcores();

 private:
  struct Pair;
  struct Link;
  struct Lcore;
  struct TxLocks;
  struct Balance;
  explicit Runtime(Setup setup);

  Expected<void> start_ports(std::vector<PortCapabilities> capabilities);
  Expected<void> build();
  void build_lcore(std::size_t index);
  [[nodiscard]] LcoreParts<RxQueue> parts_of(std::size_t index);
  [[nodiscard]] std::vector<Outbox::Port> out_ports_of(std::size_t index);
  Expected<void> launch();
  Expected<void> quiesce();
  Expected<std::uint32_t> swap_table(const SteeringConfig& wanted);
  [[nodiscard]] std::unique_ptr<SteeringTable> make_table(const SteeringConfig& steering) const;
  /// Puts the listed workers' shares into a table. returns: buckets that changed
  std::uint32_t share_out(SteeringTable& table, const SteeringConfig& steering) const;
  void pin_again(SteeringTable& table) const;
  Expected<void> make_order_check(const SteeringConfig& wanted);
  void set_switches(const SteeringConfig& wanted);
  void measure(Balance& balance) const;
  [[nodiscard]] double fullest_backlog(std::size_t worker) const;
  [[nodiscard]] std::uint16_t consumer_of(const PlannedQueue& queue) const;
  [[nodiscard]] std::vector<HandOverRing*> rings_from(std::size_t worker) const;
  [[nodiscard]] std::vector<HandOverRing*> rings_to(std::size_t worker) const;
  [[nodiscard]] TxGuard make_tx_guard(std::size_t index) const;
  [[nodiscard]] Expected<SteeringConfig> without_abandoned(SteeringConfig steering) const;
  void issue();
  void run_on();
  [[nodiscard]] static bool wait_for(std::chrono::milliseconds limit,
                                     const std::function<bool()>& done);
  [[nodiscard]] bool all_quiet() const;
  /// But for given-up workers that receive nothing: they use no table and steer nothing.
  [[nodiscard]] bool waited_for(std::size_t lcore) const;
  [[nodiscard]] bool all_obeyed() const;
  void drop_leftovers();
  [[nodiscard]] std::chrono::microseconds time_to_empty_tx_rings() const;
  [[nodiscard]] std::chrono::microseconds longest_tx_ring() const;
  [[nodiscard]] std::uint32_t tx_ring_frames(std::size_t port) const;
  bool look_at_link(std::size_t port);
  void drop_old_tables();
  void add_figures(const Lcore& lcore, WorkerFigures& figures) const;
  [[nodiscard]] TotalFigures totals_of(const Snapshot& snapshot) const;

  const Eal* eal_;
  Config config_;
  Plan plan_;
  LoopFactory loops_;
  std::vector<std::unique_ptr<Mempool>> pools_;  ///< by lcore; nullptr where it receives nothing
  std::vector<std::unique_ptr<Port>> ports_;
  std::vector<std::unique_ptr<Link>> links_;  ///< by port; workers read them
  std::unique_ptr<TxLocks> tx_locks_;
  std::vector<std::unique_ptr<RteMemory>> memories_;  ///< by lcore, on its node; holds what follows
  std::vector<std::unique_ptr<SteeringTable>> tables_;  ///< the last one is in use
  std::vector<FlowPin> pins_;
  std::unique_ptr<OrderCheck> order_check_;  ///< made when first asked for
  HandlerFigures handler_figures_;
  bool checksums_;
  std::unique_ptr<Balance> balance_;  ///< of the table in use; made by its first round
  std::uint64_t balanced_ = 0;        ///< buckets moved by the balancer so far
  std::unique_ptr<Commands> commands_;
  std::vector<std::unique_ptr<Pair>> pairs_;  ///< [RX lcore][worker]; nullptr: no RX lcore
  std::vector<std::unique_ptr<Lcore>> lcores_;
  std::vector<LcoreTask> tasks_;
  std::vector<bool> abandoned_;  ///< by worker
  std::vector<std::uint64_t> turns_seen_;
  bool stopped_ = false;
};

}  // namespace mqsteer
