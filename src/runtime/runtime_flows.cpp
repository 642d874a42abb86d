// Single flows of a running runtime: pins and explanations.

#include "runtime/runtime.h"
#include "runtime/runtime_parts.h"

#include <mqsteer/log.h>

#include <algorithm>

namespace mqsteer {
namespace {

/// Flows are the same when they have the same key: with symmetric, both directions.
bool same_flow(const FlowHasher& hasher, const FlowTuple& a, const FlowTuple& b) {
  return a.explain(hasher).dissection.key == b.explain(hasher).dissection.key;
}

}  // namespace

Expected<void> Runtime::pin(const FlowTuple& flow, WorkerId worker) {
  RfsTable* rfs = tables_.back()->rfs();
  if (rfs == nullptr) {
    return fail("flow pin: only mode rfs steers single flows; mqsteerctl steering set mode=rfs");
  }
  if (worker.value() >= plan_.lcores.size()) {
    return fail("flow pin: there is no worker " + std::to_string(worker.value()) +
                "; allowed: 0.." + std::to_string(plan_.lcores.size() - 1));
  }
  if (!tables_.back()->live(worker)) {
    return fail("flow pin: worker " + std::to_string(worker.value()) +
                " gets no flows: steering.workers leaves it out, or it is abandoned");
  }
  const FlowHasher& hasher = tables_.back()->hasher();
  if (!rfs->pin(flow.explain(hasher).hash, worker)) {
    return fail("flow pin: the eight flows that share the table's set with " + flow.text() +
                " are all pinned; unpin one of them or raise steering.rfs_flows");
  }
  std::erase_if(pins_, [&](const FlowPin& p) { return same_flow(hasher, p.flow, flow); });
  pins_.push_back({flow, worker});
  return {};
}

Expected<void> Runtime::unpin(const FlowTuple& flow) {
  const FlowHasher& hasher = tables_.back()->hasher();
  const auto removed =
      std::erase_if(pins_, [&](const FlowPin& p) { return same_flow(hasher, p.flow, flow); });
  if (removed == 0) return fail("flow unpin: " + flow.text() + " is not pinned");
  if (RfsTable* rfs = tables_.back()->rfs()) rfs->forget(flow.explain(hasher).hash);
  return {};
}

/// A new table knows no flows; the pins are the operator's and outlive it.
void Runtime::pin_again(SteeringTable& table) const {
  if (table.rfs() == nullptr) return;
  for (const FlowPin& pin : pins_) {
    // Eight pins of one set were refused one by one, and a new hash cannot be asked first. It stays
    // the operator's wish, for the table after this one; `flow show` has it without effect.
    if (table.rfs()->pin(pin.flow.explain(table.hasher()).hash, pin.worker)) continue;
    log_line(LogLevel::kWarning,
             "flow pin: " + pin.flow.text() +
                 " has no effect: eight other pins have the new table's places for it; unpin one "
                 "of them and pin it again, or raise steering.rfs_flows");
  }
}

FlowExplanation Runtime::explain(const FlowTuple& flow) const {
  const SteeringTable& table = *tables_.back();
  const auto explained = flow.explain(table.hasher());
  FlowExplanation result{.flow = flow,
                         .key = explained.dissection.key,
                         .mode = table.shape().mode,
                         .hash = explained.hash};
  if (result.mode == SteeringMode::kNone) return result;
  const Desired desired = table.desired_of(explained.hash, result.why);
  result.bucket = table.bucket_of(explained.hash);
  result.buckets = table.buckets();
  result.desired = WorkerId{desired.worker()};
  result.forced = desired.force();
  for (std::size_t i = 0; i < lcores_.size(); ++i) {
    if (plan_.lcores[i].rx.empty()) continue;
    const auto at = lcores_[i]->loop->position(table.current_bucket_of(explained.hash));
    result.current.push_back({plan_.lcores[i].lcore, at.worker, at.drained, at.held});
  }
  return result;
}

RfsFigures Runtime::rfs_figures() const {
  const RfsTable* rfs = tables_.back()->rfs();
  RfsFigures figures{.pins = pins_.size()};
  if (rfs == nullptr) return figures;
  figures.entries = rfs->entries();
  figures.used = rfs->used();
  figures.displaced = rfs->displaced();
  return figures;
}

}  // namespace mqsteer
