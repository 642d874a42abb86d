// TCP_RR in process, under every steering mode: see --help. scripts/bench tcp-rr runs this and the
// set-ups with real kernels beside it.

#include "bench/median.h"
#include "config/words.h"
#include "eal/clock.h"
#include "in_process.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

namespace mqsteer::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  InProcessPlan plan;
  std::string json;
  std::size_t memory_mb = 6144;
};

void print(const InProcessResult& result) {
  std::printf("%-9s %9s %8s %12s %10s %10s %7s %9s %12s\n", "mode", "flows", "work ns", "tps",
              "p50 us", "p99 us", "hops %", "client %", "work cycles");
  for (const Point& point : result.points) {
    if (point.rounds.empty()) {
      std::printf("%-9s %9u %8u %12s\n", std::string{name_of(point.mode)}.c_str(), point.flows,
                  point.work_ns, "n/a");
      continue;
    }
    std::printf("%-9s %9u %8u %12.0f %10.1f %10.1f %7.2f %9.1f %12.0f\n",
                std::string{name_of(point.mode)}.c_str(), point.flows, point.work_ns,
                median(point.tps), median(point.p50_us), median(point.p99_us),
                median(point.hops_pct), median(point.client_pct), median(point.work_cycles));
  }
  std::printf("order: %lu checked at TX, %lu reordered; the check costs a transaction",
              result.checked, result.reordered);
  for (const double ns : result.check_ns) std::printf(" %.0f", ns);
  std::printf(" ns (by mode)\n");
  for (const Unlike& each : unlike_shipped()) {
    std::printf("unlike the shipped box: %s is %s, not %s: %s\n", each.setting.c_str(),
                each.here.c_str(), each.shipped.c_str(), each.why.c_str());
  }
  for (const std::string& fault : result.faults) std::printf("FAULT %s\n", fault.c_str());
}

Json to_json(const InProcessResult& result, const InProcessPlan& plan) {
  Json points = Json::array();
  Json unlike = Json::object();
  for (const Unlike& each : unlike_shipped()) {
    unlike[each.setting] = {{"here", each.here}, {"shipped", each.shipped}, {"why", each.why}};
  }
  for (const Point& point : result.points) {
    points.push_back({{"mode", name_of(point.mode)},
                      {"flows", point.flows},
                      {"work_ns", point.work_ns},
                      {"rounds", point.rounds},
                      {"tps", point.tps},
                      {"p50_us", point.p50_us},
                      {"p99_us", point.p99_us},
                      {"hops_pct", point.hops_pct},
                      {"client_pct", point.client_pct},
                      {"work_cycles", point.work_cycles}});
  }
  return {{"setup", "in process: one ring port of one RX queue, two lcores"},
          {"client_cpu", 0},
          {"client_where", "on the RX lcore, before each receive"},
          {"unlike_shipped", std::move(unlike)},
          {"tsc_hz", tsc_hz()},
          {"window", plan.window},
          {"length_ms", plan.length_ms},
          {"points", std::move(points)},
          {"checked", result.checked},
          {"reordered", result.reordered},
          {"check_ns", result.check_ns},
          {"faults", result.faults}};
}

int failed(const Error& error) {
  std::cerr << "mqsteer-bench-tcp-rr: " << error.text() << "\n";
  return static_cast<int>(Exit::kRefused);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app{
      "TCP_RR in process: a closed-loop client of 1-byte requests on a ring port with one RX\n"
      "queue, the rr handler on two lcores. The client runs on CPU 0, the RX lcore's.",
      "mqsteer-bench-tcp-rr"};
  app.add_option("--rounds", options.plan.rounds, "interleaved rounds; medians are printed")
      ->check(CLI::Range(1U, 1000U));
  app.add_option("--length-ms", options.plan.length_ms, "of each measurement")
      ->check(CLI::Range(20U, 60'000U));
  app.add_option("--flows", options.plan.flows, "connections, for the usual work")
      ->delimiter(',')
      ->check(CLI::Range(1U, 1'000'000U));
  app.add_option("--work-ns", options.plan.work_ns, "extra work a request, for the usual flows")
      ->delimiter(',')
      ->check(CLI::Range(0U, 100'000U));
  std::vector<std::string> modes;
  app.add_option("--modes", modes, "of none, rps, soft-rss, rfs; default: all")->delimiter(',');
  app.add_option("--window", options.plan.window, "requests under way at once, at most")
      ->check(CLI::Range(1U, 4096U));
  app.add_option("--json", options.json, "write all figures to this file");
  app.add_option("--memory-mb", options.memory_mb, "of DPDK's memory")
      ->check(CLI::Range(512U, 65536U));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(Exit::kUsage);
  }
  if (!modes.empty()) options.plan.modes.clear();
  for (const std::string& mode : modes) {
    const auto parsed = parse_mode(mode);
    if (!parsed) {
      static_cast<void>(failed(parsed.error()));
      return static_cast<int>(Exit::kUsage);
    }
    options.plan.modes.push_back(*parsed);
  }
  // Before all the measuring, and leaving alone what an earlier run has written.
  if (!options.json.empty() && !std::ofstream{options.json, std::ios::app}) {
    return failed(Error{errno, "--json " + options.json + ": cannot be written"});
  }
  const auto eal = Eal::init({.file_prefix = "mqsteer-bench-rr",
                              .cpus = {0, 1},
                              .memory_mb = options.memory_mb,
                              .telemetry = false});
  if (!eal) return failed(eal.error());
  const auto result = run_in_process(*eal, options.plan);
  if (!result) return failed(result.error());
  print(*result);
  if (!options.json.empty()) {
    std::ofstream file{options.json};
    file << to_json(*result, options.plan).dump(2) << '\n';
    if (!file.flush()) return failed(Error{errno, options.json + ": cannot be written"});
  }
  return result->faults.empty() ? 0 : static_cast<int>(Exit::kLost);
}

}  // namespace
}  // namespace mqsteer::bench

int main(int argc, char** argv) {
  try {
    return mqsteer::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "mqsteer-bench-tcp-rr: " << error.what() << '\n';
    return static_cast<int>(mqsteer::Exit::kRefused);
  }
}
