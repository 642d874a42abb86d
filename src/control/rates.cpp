#include "control/rates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace mqsteer {
namespace {

constexpr double kBitsOfMbit = 1e6;
constexpr std::size_t kColumns = 100;

/// The figures of two answers and the time between them.
struct Interval {
  double seconds = 0;

  [[nodiscard]] static double grown(const Json& before, const Json& after, const char* name) {
    const double growth = after.at(name).get<double>() - before.at(name).get<double>();
    return growth > 0 ? growth : 0;
  }
  [[nodiscard]] std::uint64_t rate(const Json& before, const Json& after, const char* name) const {
    return static_cast<std::uint64_t>(std::llround(grown(before, after, name) / seconds));
  }
  [[nodiscard]] double mbps(const Json& before, const Json& after, const char* name) const {
    return std::round(grown(before, after, name) * 8 / seconds / kBitsOfMbit * 1000) / 1000;
  }
  [[nodiscard]] Json by_reason(const Json& before, const Json& after) const {
    Json rates = Json::object();
    for (const auto& [reason, count] : after.items()) {
      rates[reason] = rate(before, after, reason.c_str());
    }
    return rates;
  }
};

std::uint64_t sum_of(const Json& rates) {
  std::uint64_t sum = 0;
  for (const auto& [reason, rate] : rates.items()) sum += rate.get<std::uint64_t>();
  return sum;
}

Json port_rates(const Interval& over, const Json& before, const Json& after) {
  Json queues = Json::array();
  for (std::size_t i = 0; i < after.at("queues").size(); ++i) {
    const Json& from = before.at("queues").at(i);
    const Json& to = after.at("queues").at(i);
    queues.push_back({{"queue", to.at("queue")},
                      {"lcore", to.at("lcore")},
                      {"rx_pps", over.rate(from, to, "rx_packets")},
                      {"rx_mbps", over.mbps(from, to, "rx_bytes")}});
  }
  return {{"name", after.at("name")},
          {"link", after.at("link")},
          {"rx_pps", over.rate(before, after, "rx_packets")},
          {"rx_mbps", over.mbps(before, after, "rx_bytes")},
          {"tx_pps", over.rate(before, after, "tx_packets")},
          {"tx_mbps", over.mbps(before, after, "tx_bytes")},
          {"missed_pps", over.rate(before, after, "rx_missed")},
          {"nombuf_pps", over.rate(before, after, "rx_nombuf")},
          {"queues", std::move(queues)}};
}

Json worker_rates(const Interval& over, const Json& before, const Json& after) {
  const double busy = Interval::grown(before, after, "busy_cycles");
  const double all = busy + Interval::grown(before, after, "idle_cycles");
  const Json drops = over.by_reason(before.at("drops"), after.at("drops"));
  return {{"worker", after.at("worker")},
          {"lcore", after.at("lcore")},
          {"state", after.at("state")},
          {"pps", over.rate(before, after, "packets")},
          {"backlog", after.at("backlog")},
          {"moves_pps", over.rate(before, after, "moves")},
          {"moves_held_pps", over.rate(before, after, "moves_held")},
          {"wrong_worker_pps", over.rate(before, after, "wrong_worker")},
          {"handed_over_pps", over.rate(before, after, "handed_over")},
          {"originated_pps", over.rate(before, after, "originated")},
          {"order_checked_pps", over.rate(before, after, "order_checked")},
          {"reordered_pps", over.rate(before, after, "reordered")},
          {"drops_pps", sum_of(drops)},
          {"busy_share", all > 0 ? std::round(busy / all * 1000) / 1000 : 0}};
}

Json total_rates(const Interval& over, const Json& before, const Json& after) {
  const Json drops = over.by_reason(before.at("drops"), after.at("drops"));
  return {{"rx_pps", over.rate(before, after, "rx")},
          {"tx_pps", over.rate(before, after, "tx")},
          {"consumed_pps", over.rate(before, after, "consumed")},
          {"in_flight", after.at("in_flight")},
          {"drops_pps", sum_of(drops)},
          {"drops", drops}};
}

Json made_rates(const Json& before, const Json& after) {
  const Interval over{std::max(
      (after.at("time_ns").get<double>() - before.at("time_ns").get<double>()) / 1e9, 1e-6)};
  Json ports = Json::array();
  for (std::size_t i = 0; i < after.at("ports").size(); ++i) {
    ports.push_back(port_rates(over, before.at("ports").at(i), after.at("ports").at(i)));
  }
  Json workers = Json::array();
  for (std::size_t i = 0; i < after.at("workers").size(); ++i) {
    workers.push_back(worker_rates(over, before.at("workers").at(i), after.at("workers").at(i)));
  }
  return {{"interval_ms", std::llround(over.seconds * 1000)},
          {"ports", std::move(ports)},
          {"workers", std::move(workers)},
          {"totals", total_rates(over, before.at("totals"), after.at("totals"))}};
}

Error not_understood(const Json::exception& fault) {
  return {0, std::string{"the daemon's answer is not understood ("} + fault.what() +
                 "); mqsteerctl and mqsteerd should be of one version"};
}

std::string decimal(const Json& value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value.get<double>());
  return text.data();
}

Cell rate_cell(const Json& object, const char* name, bool is_bad = false) {
  const bool red = is_bad && object.at(name).get<double>() > 0;
  return {decimal(object.at(name), 0), red ? Colour::kRed : Colour::kPlain};
}

std::string text(const Json& object, const char* name) {
  const Json& value = object.at(name);
  return value.is_string() ? tame(value.get<std::string>()) : value.dump();
}

std::string port_table(const Json& ports, const Paint& paint) {
  TextTable table{{"<PORT", "<QUEUE", "LCORE", "RX PPS", "RX MBIT/S", "TX PPS", "TX MBIT/S",
                   "MISSED/S", "NOMBUF/S"}};
  for (const Json& port : ports) {
    const bool up = port.at("link") == "up";
    table.add({{text(port, "name")},
               {up ? "all" : "link down", up ? Colour::kPlain : Colour::kRed},
               {},
               rate_cell(port, "rx_pps"),
               {decimal(port.at("rx_mbps"), 1)},
               rate_cell(port, "tx_pps"),
               {decimal(port.at("tx_mbps"), 1)},
               rate_cell(port, "missed_pps", true),
               rate_cell(port, "nombuf_pps", true)});
    for (const Json& queue : port.at("queues")) {
      table.add({{},
                 {text(queue, "queue")},
                 {text(queue, "lcore")},
                 rate_cell(queue, "rx_pps"),
                 {decimal(queue.at("rx_mbps"), 1)}});
    }
  }
  return table.text(paint);
}

std::string worker_table(const Json& workers, const Paint& paint) {
  TextTable table{
      {"WORKER", "LCORE", "<STATE", "PPS", "BACKLOG", "MOVES/S", "HELD/S", "DROPS/S", "BUSY"}};
  for (const Json& worker : workers) {
    const bool listed = worker.at("state") == "listed";
    table.add({{text(worker, "worker")},
               {text(worker, "lcore")},
               {text(worker, "state"), listed ? Colour::kGreen : Colour::kYellow},
               rate_cell(worker, "pps"),
               {text(worker, "backlog")},
               rate_cell(worker, "moves_pps"),
               rate_cell(worker, "moves_held_pps"),
               rate_cell(worker, "drops_pps", true),
               {decimal(worker.at("busy_share").get<double>() * 100, 1) + '%'}});
  }
  return table.text(paint);
}

/// What all workers together do of a kind; those that they do not do are left out.
std::string more_line(const Json& workers, const Paint& paint) {
  struct Kind {
    const char* name;
    const char* text;
    bool bad = false;
  };
  constexpr std::array kKinds = {
      Kind{"wrong_worker_pps", "wrong worker"}, Kind{"handed_over_pps", "handed over"},
      Kind{"originated_pps", "originated"}, Kind{"order_checked_pps", "order checked"},
      Kind{"reordered_pps", "reordered", true}};
  std::string line;
  for (const Kind& kind : kKinds) {
    std::uint64_t sum = 0;
    for (const Json& worker : workers) sum += worker.at(kind.name).get<std::uint64_t>();
    if (sum == 0) continue;
    line += (line.empty() ? "also: " : ", ") +
            paint(kind.bad ? Colour::kRed : Colour::kPlain,
                  std::string{kind.text} + ' ' + std::to_string(sum) + "/s");
  }
  return line.empty() ? line : line + '\n';
}

/// All reasons, over as many lines as they take.
std::string drops_lines(const Json& drops, const Paint& paint) {
  std::string lines;
  std::size_t column = kColumns;
  for (const auto& [reason, rate] : drops.items()) {
    const std::string item = reason + ' ' + decimal(rate, 0);
    if (column + 2 + item.size() > kColumns) {
      lines += lines.empty() ? "drops/s: " : "\n         ";
      column = 9;
    } else {
      lines += "  ";
      column += 2;
    }
    column += item.size();
    lines += paint(rate.get<double>() > 0 ? Colour::kRed : Colour::kPlain, item);
  }
  return lines + '\n';
}

std::string made_text(const Json& rates, const Paint& paint) {
  const Json& totals = rates.at("totals");
  return port_table(rates.at("ports"), paint) + '\n' + worker_table(rates.at("workers"), paint) +
         "\nall: rx " + decimal(totals.at("rx_pps"), 0) + "/s, tx " +
         decimal(totals.at("tx_pps"), 0) + "/s, consumed " + decimal(totals.at("consumed_pps"), 0) +
         "/s, drops " + decimal(totals.at("drops_pps"), 0) + "/s, in flight " +
         text(totals, "in_flight") + '\n' + more_line(rates.at("workers"), paint) +
         drops_lines(totals.at("drops"), paint);
}

}  // namespace

Expected<Json> rates_between(const Json& before, const Json& after) {
  try {
    return made_rates(before, after);
  } catch (const Json::exception& fault) {
    return tl::unexpected(not_understood(fault));
  }
}

Expected<std::string> rates_text(const Json& rates, const Paint& paint) {
  try {
    return made_text(rates, paint);
  } catch (const Json::exception& fault) {
    return tl::unexpected(not_understood(fault));
  }
}

}  // namespace mqsteer
