// The load balancer's eyes and hands: it measures, and writes what the balancer says.

#include "runtime/runtime.h"
#include "runtime/runtime_parts.h"

#include <algorithm>

namespace mqsteer {

std::size_t Runtime::balance() {
  if (!balances() || stopped_) {
    balance_.reset();
    return 0;
  }
  SteeringTable& table = *tables_.back();
  const bool fresh = balance_ == nullptr;
  if (fresh) {
    balance_ = std::make_unique<Balance>(
        Balancer::Config{.workers = lcores_.size(), .buckets = table.buckets()});
  }
  measure(*balance_);
  if (fresh) return 0;  // the counts before are those of the start
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto moves =
      balance_->balancer.round(static_cast<std::uint64_t>(std::chrono::nanoseconds{now}.count()),
                               balance_->workers, balance_->buckets);
  for (const Balancer::Move& move : moves) table.want(move.bucket, Desired::of(move.to, true));
  balanced_ += moves.size();
  return moves.size();
}

/// What the lcores did since the last round, and what was offered to each bucket.
void Runtime::measure(Balance& balance) const {
  const SteeringTable& table = *tables_.back();
  for (std::size_t i = 0; i < lcores_.size(); ++i) {
    const Lcore& lcore = *lcores_[i];
    const Balance::Counts now{.busy = lcore.report.busy_cycles.read(),
                              .idle = lcore.report.idle_cycles.read(),
                              .packets = lcore.worker.packets.read()};
    Balance::Counts& before = balance.before[i];
    const std::uint64_t busy = now.busy - before.busy;
    const std::uint64_t all = busy + now.idle - before.idle;
    Balancer::WorkerSample& sample = balance.workers[i];
    sample.busy = all == 0 ? 1 : static_cast<double>(busy) / static_cast<double>(all);
    sample.handled = now.packets - before.packets;
    sample.allowed = table.live(WorkerId{static_cast<std::uint16_t>(i)});
    sample.backlog = fullest_backlog(i);
    before = now;
  }
  for (std::uint32_t bucket = 0; bucket < table.buckets(); ++bucket) {
    std::uint32_t load = 0;
    for (const auto& lcore : lcores_) load += lcore->loop->load_of(bucket);
    balance.buckets[bucket] = {.worker = WorkerId{table.desired(bucket).worker()},
                               .packets = load - balance.loads_before[bucket]};
    balance.loads_before[bucket] = load;
  }
}

/// How full the fullest of a worker's backlogs is, of 1. Its own packets never wait.
double Runtime::fullest_backlog(std::size_t worker) const {
  double fullest = 0;
  for (std::size_t rx = 0; rx < lcores_.size(); ++rx) {
    const auto& pair = pairs_[rx * lcores_.size() + worker];
    if (!pair || rx == worker) continue;
    const std::uint64_t head = pair->backlog.head();
    const std::uint64_t published = pair->backlog.published();
    const double waiting = published > head ? static_cast<double>(published - head) : 0;
    fullest = std::max(fullest, waiting / pair->backlog.slots());
  }
  return fullest;
}

}  // namespace mqsteer
