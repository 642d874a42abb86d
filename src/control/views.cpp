#include "control/views.h"

#include "config/changes.h"
#include "config/words.h"
#include "steering/bucket_index.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace mqsteer {
namespace {

std::string_view link_word(bool up) {
  return up ? "up" : "down";
}

std::string_view state_of(const WorkerFigures& worker) {
  if (worker.abandoned) return "abandoned";
  return worker.listed ? "listed" : "unlisted";
}

double part_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// To a tenth of a percent; more would pretend.
double rounded_share(double share) {
  return std::round(share * 1000) / 1000;
}

Json port_counters(const PortFigures& port) {
  return {{"name", port.name},
          {"device", port.device},
          {"driver", port.driver},
          {"link", link_word(port.link_up)},
          {"rx_packets", port.counters.rx_packets},
          {"rx_bytes", port.counters.rx_bytes},
          {"rx_missed", port.counters.rx_missed},
          {"rx_nombuf", port.counters.rx_nombuf},
          {"rx_errors", port.counters.rx_errors},
          {"tx_packets", port.counters.tx_packets},
          {"tx_bytes", port.counters.tx_bytes},
          {"tx_errors", port.counters.tx_errors}};
}

Json queue_counters(const QueueFigures& queue) {
  return {{"queue", queue.queue.value()},
          {"lcore", queue.lcore.value()},
          {"rx_packets", queue.rx_packets},
          {"rx_bytes", queue.rx_bytes}};
}

/// What its handler counts, by name; an empty object where it counts nothing.
Json handler_figures(const WorkerFigures& worker) {
  Json figures = Json::object();
  for (const NamedFigure& figure : worker.handler) figures[std::string{figure.name}] = figure.value;
  return figures;
}

Json worker_counters(const WorkerFigures& worker) {
  return {{"worker", worker.worker.value()},
          {"lcore", worker.lcore.value()},
          {"state", state_of(worker)},
          {"buckets", worker.buckets},
          {"packets", worker.packets},
          {"backlog", worker.backlog},
          {"moves", worker.moves},
          {"moves_held", worker.moves_held},
          {"wrong_worker", worker.wrong_worker},
          {"handed_over", worker.handed_over},
          {"taken_over", worker.taken_over},
          {"originated", worker.originated},
          {"order_checked", worker.order_checked},
          {"reordered", worker.reordered},
          {"order_unjudged", worker.order_unjudged},
          {"tx", worker.tx},
          {"consumed", worker.consumed},
          {"pause_frames", worker.pause_frames},
          {"busy_cycles", worker.busy_cycles},
          {"idle_cycles", worker.idle_cycles},
          {"handler", handler_figures(worker)},
          {"drops", drops_view(worker.drops)}};
}

Json totals_view(const TotalFigures& totals) {
  // Read one after the other while packets flow, so in between it may be off either way.
  const auto unaccounted = static_cast<std::int64_t>(totals.in() - totals.out() - totals.in_flight);
  return {{"rx", totals.rx},
          {"originated", totals.originated},
          {"copies", totals.copies},
          {"tx", totals.tx},
          {"consumed", totals.consumed},
          {"in_flight", totals.in_flight},
          {"unaccounted", unaccounted},
          {"drops", drops_view(totals.drops)}};
}

const PlannedLcore* planned_of(const Plan& plan, LcoreId lcore) {
  const auto at = std::ranges::find(plan.lcores, lcore, &PlannedLcore::lcore);
  return at == plan.lcores.end() ? nullptr : &*at;
}

Json planned_lcore(const Plan& plan, const PlannedLcore& lcore, bool listed) {
  Json roles = Json::array();
  if (!lcore.rx.empty()) roles.push_back("rx");
  if (listed) roles.push_back("worker");
  Json queues = Json::array();
  for (const PlannedQueue& queue : lcore.rx) {
    queues.push_back({{"port", plan.ports[queue.port].name}, {"queue", queue.queue.value()}});
  }
  return {{"lcore", lcore.lcore.value()},   {"worker", lcore.worker.value()},
          {"roles", std::move(roles)},      {"rx", std::move(queues)},
          {"pool_mbufs", lcore.pool_mbufs}, {"data_room_bytes", lcore.data_room_bytes}};
}

Json planned_port(const PlannedPort& port) {
  return {{"name", port.name},
          {"rx_queues", port.rx_queues},
          {"tx_queues", port.tx_queues},
          {"rx_descriptors", port.rx_descriptors},
          {"tx_descriptors", port.tx_descriptors},
          {"tx_shared", port.tx_shared}};
}

/// The weight that the configuration gives a worker; 0 where it is not listed.
std::uint32_t weight_of(const SteeringConfig& steering, const WorkerFigures& worker) {
  if (!worker.listed) return 0;
  if (steering.weights.empty()) return 1;
  std::size_t at = worker.worker.value();
  if (!steering.workers.empty()) {
    at = static_cast<std::size_t>(std::ranges::find(steering.workers, worker.worker.value()) -
                                  steering.workers.begin());
  }
  return at < steering.weights.size() ? steering.weights[at] : 0;
}

std::uint32_t buckets_of(const SteeringConfig& steering) {
  if (steering.mode == SteeringMode::kNone) return 0;
  return steering.mode == SteeringMode::kSoftRss ? steering.rss_buckets : 1U << kRpsBucketBits;
}

/// Of the hash that every packet has; mode none has it for the handlers alone.
std::string_view hash_function_of(SteeringMode mode) {
  return mode == SteeringMode::kSoftRss ? "toeplitz" : "fast";
}

/// null in all modes but rfs.
Json rfs_view(const RfsFigures& rfs) {
  if (rfs.entries == 0) return {};
  return {{"entries", rfs.entries},
          {"used", rfs.used},
          {"displaced", rfs.displaced},
          {"pins", rfs.pins}};
}

Json fragments_view(const FragmentFigures& figures) {
  return {{"tracked", figures.tracked}, {"missed", figures.missed}, {"held", figures.held}};
}

/// The drain rule in a word, for a flow that has a desired worker.
std::string_view move_of(const FlowExplanation& explanation, const Snapshot& snapshot) {
  std::string_view word = "settled";
  for (const auto& at : explanation.current) {
    if (at.held) return "held";
    if (at.worker == 0xffff || at.worker == explanation.desired.value()) continue;
    const auto worker =
        std::ranges::find(snapshot.workers, WorkerId{at.worker}, &WorkerFigures::worker);
    const bool live = worker == snapshot.workers.end() || (worker->listed && !worker->abandoned);
    // Under rfs a worker that gets no flows is left by force, whatever the wish.
    if (explanation.forced || (explanation.mode == SteeringMode::kRfs && !live)) return "held";
    word = "drained";
  }
  return word;
}

std::string_view state_of(const PinState& pin, bool rfs) {
  if (!rfs) return "waits";
  if (pin.why == DesiredBy::kPin) return "pinned";
  return pin.why == DesiredBy::kConsumerGone ? "worker_gone" : "no_place";
}

}  // namespace

Json drops_view(const DropFigures& drops) {
  Json view = Json::object();
  for (std::size_t i = 0; i < kDropReasons; ++i) view[std::string{kDropReasonNames[i]}] = drops[i];
  return view;
}

Json stats_view(const Snapshot& snapshot) {
  Json ports = Json::array();
  for (const PortFigures& port : snapshot.ports) {
    Json view = port_counters(port);
    view["queues"] = Json::array();
    for (const QueueFigures& queue : port.queues) view["queues"].push_back(queue_counters(queue));
    ports.push_back(std::move(view));
  }
  Json workers = Json::array();
  for (const WorkerFigures& worker : snapshot.workers) workers.push_back(worker_counters(worker));
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return {{"ports", std::move(ports)},
          {"workers", std::move(workers)},
          {"fragments", fragments_view(snapshot.fragments)},
          {"totals", totals_view(snapshot.totals)},
          {"time_ns", std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()}};
}

Json ports_view(const Snapshot& snapshot, const Plan& plan,
                const std::vector<std::vector<std::string>>& notes) {
  Json ports = Json::array();
  for (std::size_t i = 0; i < snapshot.ports.size(); ++i) {
    const PortFigures& port = snapshot.ports[i];
    Json view = port_counters(port);
    view["description"] = port.description;
    view["link_mbps"] = port.link_mbps;
    view["mtu"] = port.mtu;
    view["rx_queues"] = port.queues.size();
    view["tx_queues"] = port.tx_queues;
    view["rx_descriptors"] = i < plan.ports.size() ? plan.ports[i].rx_descriptors : 0;
    view["tx_descriptors"] = i < plan.ports.size() ? plan.ports[i].tx_descriptors : 0;
    view["notes"] = i < notes.size() ? Json(notes[i]) : Json::array();
    ports.push_back(std::move(view));
  }
  return {{"ports", std::move(ports)}};
}

Json queues_view(const Snapshot& snapshot, const Plan& plan) {
  Json queues = Json::array();
  for (const PortFigures& port : snapshot.ports) {
    for (const QueueFigures& queue : port.queues) {
      const PlannedLcore* lcore = planned_of(plan, queue.lcore);
      queues.push_back({{"port", port.name},
                        {"queue", queue.queue.value()},
                        {"lcore", queue.lcore.value()},
                        {"worker", lcore == nullptr ? Json{} : Json(lcore->worker.value())},
                        {"rx_packets", queue.rx_packets},
                        {"rx_bytes", queue.rx_bytes}});
    }
  }
  return {{"queues", std::move(queues)}};
}

Json workers_view(const Snapshot& snapshot) {
  Json workers = Json::array();
  for (const WorkerFigures& worker : snapshot.workers) {
    Json view = worker_counters(worker);
    view["busy_share"] =
        rounded_share(part_of(worker.busy_cycles, worker.busy_cycles + worker.idle_cycles));
    workers.push_back(std::move(view));
  }
  return {{"workers", std::move(workers)}};
}

Json plan_view(const Plan& plan, const SteeringConfig& steering) {
  const auto workers = workers_of(plan, steering);
  Json lcores = Json::array();
  for (const PlannedLcore& lcore : plan.lcores) {
    const bool listed = std::ranges::find(workers, lcore.worker) != workers.end();
    lcores.push_back(planned_lcore(plan, lcore, listed));
  }
  Json ports = Json::array();
  for (const PlannedPort& port : plan.ports) ports.push_back(planned_port(port));
  return {{"lcores", std::move(lcores)},
          {"ports", std::move(ports)},
          {"backlog_slots", plan.backlog_slots},
          {"backlog_budget", plan.backlog_budget},
          {"worst_queueing_us", plan.worst_queueing_us},
          {"ns_per_packet", plan.ns_per_packet},
          {"ns_assumed", plan.ns_assumed},
          {"pool_bytes", plan.pool_bytes},
          {"backlog_bytes", plan.backlog_bytes},
          {"steering_bytes", plan.steering_bytes},
          {"rfs_flows_bytes", plan.rfs_bytes},
          {"buckets_per_rx_lcore", std::uint64_t{1} << plan.current_bits},
          {"hand_over_slots", plan.hand_over_slots},
          {"handler_bytes", plan.handler_bytes},
          {"total_bytes", plan.total_bytes()},
          {"notes", plan.notes}};
}

Json steering_view(const Config& config, const Snapshot& snapshot, const RfsFigures& rfs) {
  const SteeringConfig& steering = config.steering;
  std::uint64_t packets = 0;
  for (const WorkerFigures& worker : snapshot.workers) packets += worker.packets;
  Json workers = Json::array();
  for (const WorkerFigures& worker : snapshot.workers) {
    workers.push_back({{"worker", worker.worker.value()},
                       {"lcore", worker.lcore.value()},
                       {"state", state_of(worker)},
                       {"buckets", worker.buckets},
                       {"weight", weight_of(steering, worker)},
                       {"packets", worker.packets},
                       {"share", rounded_share(part_of(worker.packets, packets))}});
  }
  const bool steers = steering.mode != SteeringMode::kNone;
  return {{"mode", name_of(steering.mode)},
          {"hash", "software"},
          {"hash_function", steers ? hash_function_of(steering.mode) : "none"},
          {"symmetric", steering.symmetric},
          {"tunnels", name_of(steering.tunnels)},
          {"buckets", buckets_of(steering)},
          {"rss_buckets", steering.rss_buckets},
          {"rss_bits", name_of(steering.rss_bits)},
          {"flow_limit", steering.flow_limit},
          {"fragments", name_of(steering.fragments)},
          {"balance", steering.balance},
          {"balanced", snapshot.balanced},
          {"rfs_flows", steering.rfs_flows},
          {"tx_guard", steering.tx_guard},
          {"order_check", steering.order_check},
          {"fragment_counts", fragments_view(snapshot.fragments)},
          {"rfs", rfs_view(rfs)},
          {"workers", std::move(workers)}};
}

Json explanation_view(const FlowExplanation& explanation, const Snapshot& snapshot) {
  constexpr std::array<std::string_view, 4> kWhy = {"bucket", "consumer", "pin", "consumer_gone"};
  std::array<char, 16> hash{};
  std::snprintf(hash.data(), hash.size(), "0x%08x", explanation.hash);
  Json view = {{"flow", explanation.flow.text()},
               {"kind", name_of(explanation.key.kind)},
               {"key", to_text(explanation.key)},
               {"mode", name_of(explanation.mode)},
               {"hash", hash.data()},
               {"hash_function", hash_function_of(explanation.mode)},
               {"bucket", nullptr},
               {"buckets", explanation.buckets},
               {"desired", nullptr},
               {"why", nullptr},
               {"forced", nullptr},
               {"moves", nullptr}};
  if (explanation.buckets != 0) {
    view["bucket"] = explanation.bucket;
    view["desired"] = explanation.desired.value();
    view["why"] = kWhy[static_cast<std::size_t>(explanation.why)];
    view["forced"] = explanation.forced;
    view["moves"] = move_of(explanation, snapshot);
  }
  view["current"] = Json::array();
  for (const auto& at : explanation.current) {
    view["current"].push_back({{"lcore", at.lcore.value()},
                               {"worker", at.worker == 0xffff ? Json{} : Json(at.worker)},
                               {"drained", at.drained},
                               {"held", at.held}});
  }
  return view;
}

Json flows_view(const std::vector<PinState>& pins, const RfsFigures& rfs) {
  Json list = Json::array();
  for (const PinState& each : pins) {
    list.push_back({{"flow", each.pin.flow.text()},
                    {"worker", each.pin.worker.value()},
                    {"state", state_of(each, rfs.entries != 0)}});
  }
  return {{"pins", std::move(list)}, {"rfs", rfs_view(rfs)}};
}

Json config_diff_view(const Config& running, const Config& file) {
  Json changes = Json::array();
  for (const ConfigChange& change : changes_between(running, file)) {
    changes.push_back({{"key", change.key},
                       {"running", change.from},
                       {"file", change.to},
                       {"live", change.live}});
  }
  return {{"changes", std::move(changes)}};
}

}  // namespace mqsteer
