#include "mqsim/consumers.h"

#include <algorithm>
#include <bit>
#include <memory_resource>

namespace mqsteer::sim {
namespace {

/// Room for all that waits, were it all at one worker, and for the share that control traffic has
/// to itself.
std::uint32_t slots_for(std::uint32_t depth) {
  return std::max(64U, std::bit_ceil(2 * depth));
}

}  // namespace

Consumers::Consumers(const Options& options, const SteeringTable& table)
    : table_{table},
      workers_{options.workers},
      move_every_{options.consumers_move},
      depth_{options.backlog} {
  auto& memory = *std::pmr::new_delete_resource();
  std::vector<Backlog*> backlogs;
  for (std::uint16_t i = 0; i < workers_; ++i) {
    backlogs_.push_back(
        std::make_unique<Backlog>(Backlog::Shape{.slots = slots_for(options.backlog)}, memory));
    backlogs.push_back(backlogs_.back().get());
  }
  dispatcher_.emplace(
      Dispatcher<>::Config{.backlogs = backlogs, .current_bits = table.current_bits()}, memory);
  dispatcher_->adopt(table);
}

Consumers::Flow& Consumers::flow_of(const FlowKey& key) {
  const auto [at, fresh] = flows_.try_emplace(key);
  if (fresh) {
    at->second.consumer = next_consumer_;
    next_consumer_ = static_cast<std::uint16_t>((next_consumer_ + 1) % workers_);
  }
  return at->second;
}

WorkerId Consumers::steer(const FlowKey& key, std::uint32_t hash) {
  const PacketMeta packet{.hash = hash};  // no handler looks at it: it has no mbuf
  dispatcher_->dispatch({&packet, 1});
  dispatcher_->flush(true);
  const auto at = dispatcher_->position(table_.current_bucket_of(hash));
  waiting_.push_back({.flow = &flow_of(key), .hash = hash, .worker = at.worker});
  if (waiting_.size() >= depth_) consume_oldest();
  return WorkerId{at.worker};
}

void Consumers::consume_oldest() {
  const Waiting packet = waiting_.front();
  waiting_.pop_front();
  Backlog& backlog = *backlogs_[packet.worker];
  static_cast<void>(backlog.take(1));
  backlog.finish();
  Flow& flow = *packet.flow;
  const std::uint16_t under_rps = table_.desired(table_.bucket_of(packet.hash)).worker();
  summary_.hops += packet.worker != flow.consumer ? 1U : 0U;
  summary_.hops_under_rps += under_rps != flow.consumer ? 1U : 0U;
  table_.rfs()->record(packet.hash, WorkerId{flow.consumer});
  ++flow.packets;
  if (move_every_ != 0 && flow.packets % move_every_ == 0) {
    flow.consumer = static_cast<std::uint16_t>((flow.consumer + 1) % workers_);
    ++summary_.consumer_moves;
  }
}

RfsSummary Consumers::finish() {
  while (!waiting_.empty()) consume_oldest();
  for (std::uint16_t i = 0; i < workers_; ++i) {
    const PairCounters& counters = dispatcher_->counters(WorkerId{i});
    summary_.moves += counters.moves.read();
    summary_.moves_held += counters.moves_held.read();
  }
  summary_.displaced = table_.rfs()->displaced();
  return summary_;
}

}  // namespace mqsteer::sim
