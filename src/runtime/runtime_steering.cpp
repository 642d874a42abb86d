// Live changes of a running runtime.

#include "runtime/runtime.h"
#include "runtime/runtime_parts.h"

#include <algorithm>
#include <bit>

namespace mqsteer {
namespace {

constexpr std::chrono::milliseconds kQuiesceLimit{100};

}  // namespace

std::unique_ptr<SteeringTable> Runtime::make_table(const SteeringConfig& steering) const {
  SteeringTable::Shape shape{.mode = steering.mode,
                             .bits = kRpsBucketBits,
                             .rfs_flows = config_.steering.rfs_flows,
                             .fragments = steering.fragments};
  HasherConfig hasher{.symmetric = steering.symmetric, .tunnels = steering.tunnels};
  if (steering.mode == SteeringMode::kSoftRss) {
    hasher.kind = HasherConfig::kToeplitz;
    shape.bits = static_cast<unsigned>(std::countr_zero(steering.rss_buckets));
    std::uint16_t reta = 0;
    bool several_queues = false;
    for (const auto& port : ports_) {
      reta = std::max(reta, port->capabilities().reta_entries);
      several_queues = several_queues || port->rx_queues() > 1;
    }
    const bool above = steering.rss_bits == RssBits::kAboveNic ||
                       (steering.rss_bits == RssBits::kAuto && several_queues);
    shape.shift = above ? soft_rss_shift(reta, shape.bits) : 0;
  }
  // Near the first lcore that receives: its lookups are the ones that must be fast.
  std::size_t node = 0;
  while (node + 1 < plan_.lcores.size() && plan_.lcores[node].rx.empty()) ++node;
  auto table = std::make_unique<SteeringTable>(shape, hasher, *memories_[node]);
  share_out(*table, steering);
  pin_again(*table);
  return table;
}

std::uint32_t Runtime::share_out(SteeringTable& table, const SteeringConfig& steering) const {
  const auto workers = workers_of(plan_, steering);
  table.set_live(workers);
  return table.want_all(spread(table.buckets(), workers, steering.weights), true);
}

/// Once made it stays: packets that carry a stamp may still be on their way.
Expected<void> Runtime::make_order_check(const SteeringConfig& wanted) {
  if (!wanted.order_check || order_check_ != nullptr) return {};
  auto made = OrderCheck::create(*std::pmr::new_delete_resource());
  if (!made) return tl::unexpected(made.error());
  order_check_ = std::make_unique<OrderCheck>(std::move(*made));
  return {};
}

/// What lcores follow beside the table; they look at it with the next issue().
void Runtime::set_switches(const SteeringConfig& wanted) {
  commands_->flow_limit.store(wanted.flow_limit, std::memory_order_relaxed);
  commands_->tx_guard.store(wanted.tx_guard, std::memory_order_relaxed);
  commands_->count_loads.store(wanted.balance, std::memory_order_relaxed);
  commands_->order_check.store(wanted.order_check ? order_check_.get() : nullptr,
                               std::memory_order_relaxed);
}

Expected<SteeringConfig> Runtime::without_abandoned(SteeringConfig steering) const {
  const auto workers = workers_of(plan_, steering);
  SteeringConfig kept = steering;
  kept.workers.clear();
  kept.weights.clear();
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (abandoned_[workers[i].value()]) continue;
    kept.workers.push_back(workers[i].value());
    if (!steering.weights.empty()) kept.weights.push_back(steering.weights[i]);
  }
  if (kept.workers.empty()) {
    return fail("steering.workers: all listed workers are abandoned; restore one first");
  }
  if (auto checked = check_steering(plan_, kept); !checked) {
    return tl::unexpected(checked.error());
  }
  return kept;
}

Expected<std::uint32_t> Runtime::set_steering(const SteeringConfig& wanted) {
  if (auto checked = check_steering(plan_, wanted); !checked) {
    return tl::unexpected(checked.error());
  }
  if (wanted.rfs_flows != config_.steering.rfs_flows) {
    return fail("steering.rfs_flows: the tables are made at start; restart with " +
                std::to_string(wanted.rfs_flows));
  }
  const auto reachable = without_abandoned(wanted);
  if (!reachable) return tl::unexpected(reachable.error());
  if (auto made = make_order_check(wanted); !made) return tl::unexpected(made.error());
  std::uint32_t changed = 0;
  if (same_index(config_.steering, wanted)) {
    // Otherwise the shares stay as they are, and with them what the balancer has done.
    const bool shares =
        config_.steering.workers != wanted.workers || config_.steering.weights != wanted.weights;
    if (shares) changed = share_out(*tables_.back(), *reachable);
  } else {
    auto swapped = swap_table(*reachable);
    if (!swapped) return swapped;
    changed = *swapped;
  }
  set_switches(wanted);
  issue();
  config_.steering = wanted;
  return changed;
}

/// Two steps, so that all RX lcores change or none does: first all are quiet, then all go on with
/// the new table.
Expected<std::uint32_t> Runtime::swap_table(const SteeringConfig& wanted) {
  drop_old_tables();
  std::unique_ptr<SteeringTable> table;
  try {
    table = make_table(wanted);
  } catch (const std::bad_alloc&) {
    return fail("steering: a table for " + std::to_string(wanted.rfs_flows) +
                " flows does not fit into DPDK's memory; nothing was changed");
  }
  // Every bucket of a new table is new; mode none has none.
  const std::uint32_t buckets = wanted.mode == SteeringMode::kNone ? 0 : table->buckets();
  // A guard that is to be off is waited for no more.
  commands_->tx_guard.store(config_.steering.tx_guard && wanted.tx_guard,
                            std::memory_order_relaxed);
  if (auto quiet = quiesce(); !quiet) {
    commands_->tx_guard.store(config_.steering.tx_guard, std::memory_order_relaxed);
    run_on();
    return tl::unexpected(quiet.error());
  }
  commands_->table.store(table.get(), std::memory_order_relaxed);
  tables_.push_back(std::move(table));
  balance_.reset();  // it knew the old table's buckets
  run_on();
  // Every lcore that is waited for was in its loop a moment ago.
  static_cast<void>(wait_for(kQuiesceLimit, [this] { return all_obeyed(); }));
  drop_old_tables();
  return buckets;
}

/// An lcore that stands still keeps the tables alive that its handler may be looking at, be it
/// abandoned or not. Those that are kept go with a later change.
void Runtime::drop_old_tables() {
  const std::uint32_t sequence = commands_->sequence.load(std::memory_order_relaxed);
  const bool all = std::ranges::all_of(lcores_, [sequence](const auto& lcore) {
    return lcore->report.obeyed.load(std::memory_order_acquire) == sequence;
  });
  if (all) tables_.erase(tables_.begin(), tables_.end() - 1);
}

Expected<void> Runtime::quiesce() {
  commands_->stage.store(Commands::Stage::kQuiesce, std::memory_order_relaxed);
  issue();
  // With the guard on, quiet means that the TX rings have emptied as well.
  const bool guarded = commands_->tx_guard.load(std::memory_order_relaxed);
  const auto limit =
      kQuiesceLimit + (guarded ? std::chrono::ceil<std::chrono::milliseconds>(longest_tx_ring())
                               : std::chrono::milliseconds{0});
  if (wait_for(limit, [this] { return all_quiet(); })) return {};
  const std::string waited = std::to_string(limit.count()) + " ms; nothing was changed; ";
  const std::size_t workers = plan_.lcores.size();
  for (std::size_t at = 0; at < pairs_.size(); ++at) {
    if (!pairs_[at]) continue;
    const Backlog& backlog = pairs_[at]->backlog;
    if (backlog.drained_to() == backlog.published()) continue;
    return fail(
        "steering: worker " + std::to_string(at % workers) + " (lcore " +
        std::to_string(plan_.lcores[at % workers].lcore.value()) + ") still has " +
        std::to_string(backlog.published() - backlog.head()) + " packets after " + waited +
        (plan_.lcores[at % workers].rx.empty()
             ? "if it is stalled, abandon it"
             : "if it is stalled, this change waits until it turns again: it receives too"));
  }
  const std::uint32_t sequence = commands_->sequence.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < lcores_.size(); ++i) {
    if (!waited_for(i)) continue;
    if (lcores_[i]->report.obeyed.load(std::memory_order_relaxed) == sequence) continue;
    return fail("steering: lcore " + std::to_string(plan_.lcores[i].lcore.value()) +
                " did not answer in " + waited + "if it is stalled, abandon its worker");
  }
  return fail("steering: packets are still held, or in TX rings, after " + waited +
              (guarded ? "try again, or with tx_guard=off" : "try again"));
}

void Runtime::run_on() {
  commands_->stage.store(Commands::Stage::kRun, std::memory_order_relaxed);
  issue();
}

void Runtime::set_idle(IdlePolicy policy, std::uint32_t max_sleep_us) {
  commands_->idle.store(policy, std::memory_order_relaxed);
  commands_->idle_max_sleep_us.store(max_sleep_us, std::memory_order_relaxed);
  issue();
  config_.idle = policy;
  config_.idle_max_sleep_us = max_sleep_us;
}

Expected<void> Runtime::abandon(WorkerId worker) {
  const std::string name = "worker " + std::to_string(worker.value());
  if (worker.value() >= plan_.lcores.size()) {
    return fail("there is no " + name + "; allowed: 0-" + std::to_string(plan_.lcores.size() - 1));
  }
  if (config_.steering.mode == SteeringMode::kNone) {
    return fail(name +
                ": with mode none every RX lcore is its own worker; use rps, soft-rss or rfs");
  }
  if (abandoned_[worker.value()]) return fail(name + " is abandoned already");
  abandoned_[worker.value()] = true;
  const auto reachable = without_abandoned(config_.steering);
  if (!reachable) {
    abandoned_[worker.value()] = false;
    return tl::unexpected(reachable.error());
  }
  share_out(*tables_.back(), *reachable);
  // After the desired workers, so that no bucket goes back to it; pairs with the acquire in
  // LcoreLoop::give_up_abandoned().
  commands_->abandoned[worker.value()].fetch_add(1, std::memory_order_release);
  issue();
  return {};
}

Expected<void> Runtime::restore(WorkerId worker) {
  if (worker.value() >= plan_.lcores.size() || !abandoned_[worker.value()]) {
    return fail("worker " + std::to_string(worker.value()) + " is not abandoned");
  }
  abandoned_[worker.value()] = false;
  const auto reachable = without_abandoned(config_.steering);
  if (!reachable) {
    abandoned_[worker.value()] = true;
    return tl::unexpected(reachable.error());
  }
  commands_->abandoned[worker.value()].fetch_add(1, std::memory_order_release);
  issue();
  share_out(*tables_.back(), *reachable);
  return {};
}

}  // namespace mqsteer
