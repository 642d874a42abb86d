#pragma once

#include "control/commands.h"
#include "runtime/runtime.h"

namespace mqsteer {

/// The commands' view of a running runtime, which outlives it.
class RuntimeTarget final : public ControlTarget {
 public:
  RuntimeTarget(Runtime& runtime, DaemonFacts facts)
      : runtime_{&runtime}, facts_{std::move(facts)} {}

  [[nodiscard]] const DaemonFacts& daemon() const override { return facts_; }
  [[nodiscard]] Snapshot snapshot() override { return runtime_->snapshot(); }
  [[nodiscard]] const Plan& plan() const override { return runtime_->plan(); }
  [[nodiscard]] const Config& config() const override { return runtime_->config(); }
  [[nodiscard]] std::vector<std::vector<std::string>> port_notes() const override {
    std::vector<std::vector<std::string>> notes;
    for (const auto& port : runtime_->ports()) notes.push_back(port->notes());
    return notes;
  }
  [[nodiscard]] Expected<std::uint32_t> set_steering(const SteeringConfig& wanted) override {
    return runtime_->set_steering(wanted);
  }
  [[nodiscard]] Expected<void> abandon(WorkerId worker) override {
    return runtime_->abandon(worker);
  }
  [[nodiscard]] Expected<void> restore(WorkerId worker) override {
    return runtime_->restore(worker);
  }
  [[nodiscard]] FlowExplanation explain(const FlowTuple& flow) const override {
    return runtime_->explain(flow);
  }
  [[nodiscard]] Expected<void> pin(const FlowTuple& flow, WorkerId worker) override {
    return runtime_->pin(flow, worker);
  }
  [[nodiscard]] Expected<void> unpin(const FlowTuple& flow) override {
    return runtime_->unpin(flow);
  }
  [[nodiscard]] std::vector<FlowPin> pins() const override { return runtime_->pins(); }
  [[nodiscard]] RfsFigures rfs_figures() const override { return runtime_->rfs_figures(); }

 private:
  Runtime* runtime_;
  DaemonFacts facts_;
};

}  // namespace mqsteer
