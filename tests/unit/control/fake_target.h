#pragma once

#include "control/commands.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mqsteer::test {

/// A daemon of two ports and two workers with fixed figures, all different.
class FakeTarget final : public ControlTarget {
 public:
  FakeTarget() {
    running.instance = "box";
    running.ports = {{.name = "left", .device = "net_null0"},
                     {.name = "right", .device = "net_null1"}};
    running.bridges = {{.name = "br0", .ports = {"left", "right"}}};
    facts.version = "9.8.7";
    set_plan();
    set_figures();
  }

  [[nodiscard]] const DaemonFacts& daemon() const override { return facts; }
  [[nodiscard]] Snapshot snapshot() override { return figures; }
  [[nodiscard]] const Plan& plan() const override { return planned; }
  [[nodiscard]] const Config& config() const override { return running; }
  [[nodiscard]] std::vector<std::vector<std::string>> port_notes() const override {
    return {{"left: MTU cut down to 1500"}, {}};
  }
  [[nodiscard]] Expected<std::uint32_t> set_steering(const SteeringConfig& wanted) override {
    ++sets;
    if (refusal) return fail(*refusal);
    running.steering = wanted;
    return 1024;
  }
  [[nodiscard]] Expected<void> abandon(WorkerId worker) override {
    if (refusal) return fail(*refusal);
    figures.workers[worker.value()].abandoned = true;
    return {};
  }
  [[nodiscard]] Expected<void> restore(WorkerId worker) override {
    if (refusal) return fail(*refusal);
    figures.workers[worker.value()].abandoned = false;
    return {};
  }

  [[nodiscard]] FlowExplanation explain(const FlowTuple& flow) const override {
    FlowExplanation made = explanation;
    made.flow = flow;
    return made;
  }
  [[nodiscard]] Expected<void> pin(const FlowTuple& flow, WorkerId worker) override {
    if (refusal) return fail(*refusal);
    pinned.push_back({flow, worker});
    return {};
  }
  [[nodiscard]] Expected<void> unpin(const FlowTuple& flow) override {
    if (refusal) return fail(*refusal);
    std::erase_if(pinned, [&](const FlowPin& pin) { return pin.flow == flow; });
    return {};
  }
  [[nodiscard]] std::vector<FlowPin> pins() const override { return pinned; }
  [[nodiscard]] RfsFigures rfs_figures() const override {
    RfsFigures made = running.steering.mode == SteeringMode::kRfs ? rfs : RfsFigures{};
    made.pins = pinned.size();
    return made;
  }

  FlowExplanation explanation{.mode = SteeringMode::kRfs,
                              .hash = 0x1234abcd,
                              .bucket = 291,
                              .buckets = 4096,
                              .desired = WorkerId{1},
                              .why = DesiredBy::kConsumer,
                              .current = {{LcoreId{2}, 0, false, false}, {LcoreId{3}}}};
  std::vector<FlowPin> pinned;
  RfsFigures rfs{.entries = 262144, .used = 77, .displaced = 5};

  DaemonFacts facts;
  Snapshot figures;
  Plan planned;
  Config running;
  int sets = 0;
  std::optional<std::string> refusal;  ///< of all changes

 private:
  void set_plan() {
    const auto lcore = [](std::uint16_t number) {
      return PlannedLcore{.lcore = LcoreId{static_cast<std::uint16_t>(number + 2)},
                          .worker = WorkerId{number},
                          .rx = {{number, QueueId{0}}},
                          .pool_mbufs = 70'000,
                          .data_room_bytes = 2176};
    };
    planned.lcores = {lcore(0), lcore(1)};
    planned.ports = {{.name = "left", .tx_queues = 2},
                     {.name = "right", .tx_queues = 1, .tx_shared = true}};
    planned.backlog_slots = 4096;
    planned.backlog_budget = 65536;
    planned.pool_bytes = std::size_t{300} << 20U;
    planned.backlog_bytes = std::size_t{3} << 19U;
    planned.steering_bytes = 2048;
    planned.rfs_bytes = 1024;
    planned.current_bits = 18;
    planned.handler_bytes = std::size_t{3} << 20U;
    planned.hand_over_slots = 512;
    planned.worst_queueing_us = 4096;
    planned.ns_per_packet = 1000;
    planned.ns_assumed = true;
    planned.notes = {"right: 1 TX queue(s) for 2 workers: shared under a lock, taken once a burst"};
  }

  void set_figures() {
    const auto port = [](const std::string& name, std::uint64_t base, LcoreId lcore) {
      return PortFigures{.name = name,
                         .device = "net_null0",
                         .driver = "net_null",
                         .description = "net_null0: net_null, a virtual device",
                         .link_up = base == 1000,
                         .link_mbps = base == 1000 ? 10'000U : 0U,
                         .mtu = 1500,
                         .tx_queues = 2,
                         .counters = {.rx_packets = base + 1,
                                      .rx_bytes = base + 2,
                                      .rx_missed = base + 3,
                                      .rx_nombuf = base + 4,
                                      .rx_errors = base + 5,
                                      .tx_packets = base + 6,
                                      .tx_bytes = base + 7,
                                      .tx_errors = base + 8},
                         .queues = {{QueueId{0}, lcore, base + 9, base + 10}}};
    };
    figures.ports = {port("left", 1000, LcoreId{2}), port("right", 2000, LcoreId{3})};
    const auto worker = [](std::uint16_t number, std::uint64_t base) {
      WorkerFigures made{.worker = WorkerId{number},
                         .lcore = LcoreId{static_cast<std::uint16_t>(number + 2)},
                         .packets = base,
                         .backlog = base + 1,
                         .buckets = 2048,
                         .moves = base + 2,
                         .moves_held = base + 3,
                         .tx = base + 4,
                         .consumed = base + 5,
                         .busy_cycles = 250,
                         .idle_cycles = 750};
      for (std::size_t i = 0; i < kDropReasons; ++i) made.drops[i] = base + 10 + i;
      return made;
    };
    figures.workers = {worker(0, 300), worker(1, 100)};
    figures.totals = {.rx = 5000, .originated = 6, .copies = 7, .tx = 4000, .consumed = 8};
    figures.totals.in_flight = 2;
    for (std::size_t i = 0; i < kDropReasons; ++i) figures.totals.drops[i] = 70 + i;
  }
};

}  // namespace mqsteer::test
