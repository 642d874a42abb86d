// One RX lcore hands packets to one worker lcore: the project beside what else does it. See --help.

#include "bench/median.h"
#include "bridge.h"
#include "contenders.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace mqsteer::bench {
namespace {

struct Options {
  unsigned rounds = 5;
  unsigned length_ms = 500;
  std::string only;  ///< one contender, for a profiler
};

/// Figures by contender, one a round.
using Figures = std::map<std::string, std::vector<double>>;

class Bench {
 public:
  Bench(const Eal& eal, const Options& options, Source& source, NullPorts& nulls)
      : eal_{eal}, options_{options}, source_{source}, nulls_{nulls} {}

  int run() {
    if (!options_.only.empty()) return run_only();
    warm_up();
    hand_over();
    flow_counts();
    bridge();
    paced();
    print();
    return good_ ? 0 : 1;
  }

 private:
  using Contender = Run (*)(const Setting&);
  struct Named {
    const char* name;
    Contender run;
  };
  static constexpr std::array<Named, 5> kContenders{{{"mqsteer", run_mqsteer},
                                                     {"rte_distributor", run_distributor},
                                                     {"rte_ring", run_rte_ring},
                                                     {"rxonly", run_rxonly},
                                                     {"none", run_none}}};

  int run_only() {
    for (unsigned round = 0; round < options_.rounds; ++round) {
      for (const Named& contender : kContenders) {
        if (options_.only != contender.name) continue;
        std::printf("%s %.2f Mpps\n", contender.name, measure(contender, 0, options_.length_ms));
      }
      if (options_.only == "paced") {
        const PacedRun run =
            run_paced({.eal = &eal_, .source = &source_, .length = length()}, kPacedMpps);
        std::printf("paced: %.4f %% lost, %lu by the NIC, %lu dropped, of %lu\n", run.loss_pct(),
                    run.nic_lost, run.dropped, run.offered);
      }
      if (options_.only == "bridge") {
        std::printf("rps on one lcore %.2f Mpps\n", nulls_.run_rps(eal_, 1, length()).mpps());
      }
    }
    return good_ ? 0 : 1;
  }

  [[nodiscard]] std::chrono::milliseconds length() const {
    return std::chrono::milliseconds{options_.length_ms};
  }

  void warm_up() {
    for (const Named& contender : kContenders) measure(contender, 0, 100);
  }

  /// One run, checked against the source. A sum or count that differs fails the bench.
  double measure(const Named& contender, std::uint32_t flows, unsigned length_ms) {
    const Run run = contender.run({.eal = &eal_,
                                   .source = &source_,
                                   .rewritten_flows = flows,
                                   .length = std::chrono::milliseconds{length_ms}});
    const std::uint64_t expected = source_.expect(run.received, flows);
    if (run.delivered != run.received || run.checksum != expected || run.dropped != 0) {
      std::printf("FAILED %s: received %lu, delivered %lu, dropped %lu, checksum %s\n",
                  contender.name, run.received, run.delivered, run.dropped,
                  run.checksum == expected ? "good" : "wrong");
      good_ = false;
    }
    return run.mpps();
  }

  void hand_over() {
    for (unsigned round = 0; round < options_.rounds; ++round) {
      trips_.push_back(static_cast<double>(round_trip_tsc(eal_)));
      for (const Named& contender : kContenders) {
        mpps_[contender.name].push_back(measure(contender, 0, options_.length_ms));
      }
    }
  }

  void flow_counts() {
    for (unsigned round = 0; round < options_.rounds; ++round) {
      for (const std::uint32_t flows : kFlowCounts) {
        for (const Named& contender : kContenders) {
          const auto name = std::to_string(flows) + "/" + contender.name;
          mpps_[name].push_back(measure(contender, flows, options_.length_ms));
        }
      }
    }
  }

  void bridge() {
    for (unsigned round = 0; round < options_.rounds; ++round) {
      for (const unsigned lcores : {1U, 2U}) {
        const auto io = nulls_.run_io(eal_, lcores, length());
        const auto rps = nulls_.run_rps(eal_, lcores, length());
        mpps_["bridge io " + std::to_string(lcores)].push_back(io.mpps());
        mpps_["bridge rps " + std::to_string(lcores)].push_back(rps.mpps());
        if (rps.received != rps.delivered + rps.dropped) {
          std::printf("FAILED bridge: received %lu, transmitted %lu, dropped %lu\n", rps.received,
                      rps.delivered, rps.dropped);
          good_ = false;
        }
      }
    }
  }

  void paced() {
    for (unsigned round = 0; round < options_.rounds; ++round) {
      const PacedRun run = run_paced(
          {.eal = &eal_, .source = &source_, .rewritten_flows = 0, .length = 2 * length()},
          kPacedMpps);
      paced_loss_.push_back(run.loss_pct());
      if (!run.checksum_good) {
        std::printf("FAILED paced: delivered %lu, dropped %lu of %lu offered, %lu lost\n",
                    run.delivered, run.dropped, run.offered, run.nic_lost);
        good_ = false;
      }
    }
  }

  [[nodiscard]] double at(const std::string& name) const { return median(mpps_.at(name)); }

  /// The median of the rounds' ratios: what the host takes away, it takes from both.
  [[nodiscard]] double ratio(const std::string& over, const std::string& under) const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < mpps_.at(over).size(); ++i) {
      ratios.push_back(mpps_.at(over)[i] / mpps_.at(under)[i]);
    }
    return median(ratios);
  }

  void print_row(const std::string& name) const {
    const auto& values = mpps_.at(name);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    std::printf("%-28s %9.2f %9.2f %9.2f\n", name.c_str(), median(values), *least, *most);
  }

  void print() const {
    std::printf("64-byte TCP, bursts of 64, %u rounds of %u ms, interleaved; Mpps delivered\n",
                options_.rounds, options_.length_ms);
    std::printf("%-28s %9s %9s %9s\n", "", "median", "least", "most");
    for (const auto& [name, values] : mpps_) print_row(name);
    std::printf("paced at %.1f Mpps: %.4f %% lost (median)\n", kPacedMpps, median(paced_loss_));
    std::printf("core-to-core round trip: %.0f TSC cycles (median), TSC at %.0f MHz\n",
                median(trips_), static_cast<double>(tsc_hz()) / 1e6);
    std::printf(
        "BENCH steering delivered_mpps=%.2f distributor_mpps=%.2f ratio=%.2f over_rte_ring=%.2f "
        "flows_1m_over_1k=%.2f none_over_rxonly=%.2f bridge_over_io=%.2f paced_loss_pct=%.4f "
        "rtt_tsc=%.0f\n",
        at("mqsteer"), at("rte_distributor"), ratio("mqsteer", "rte_distributor"),
        ratio("mqsteer", "rte_ring"), ratio("1000000/mqsteer", "1024/mqsteer"),
        ratio("none", "rxonly"), ratio("bridge rps 1", "bridge io 1"), median(paced_loss_),
        median(trips_));
  }

  static constexpr std::array<std::uint32_t, 5> kFlowCounts{1, 64, 1024, 65'536, 1'000'000};
  static constexpr double kPacedMpps = 29.76;  ///< two 10GbE line rates of 64-byte frames

  const Eal& eal_;
  const Options& options_;
  Source& source_;
  NullPorts& nulls_;
  Figures mpps_;
  std::vector<double> trips_;
  std::vector<double> paced_loss_;
  bool good_ = true;
};

int failed(const Error& error) {
  std::cerr << "mqsteer-bench-steering: " << error.text() << "\n";
  return static_cast<int>(Exit::kRefused);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Hand-over from an RX lcore to a worker lcore, beside rte_distributor, rte_ring and\n"
      "receive-and-free. The figures are for 2 CPUs that run nothing else.",
      "mqsteer-bench-steering"};
  app.add_option("--rounds", options.rounds, "interleaved rounds; medians are printed")
      ->check(CLI::Range(1U, 1000U));
  app.add_option("--length-ms", options.length_ms, "of each run")->check(CLI::Range(50U, 60'000U));
  app.add_option("--only", options.only, "run one contender alone, for a profiler")
      ->check(CLI::IsMember(
          {"mqsteer", "none", "rte_distributor", "rte_ring", "rxonly", "bridge", "paced"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(Exit::kUsage);
  }
  const auto eal = Eal::init(
      {.file_prefix = "mqsteer-bench", .cpus = {0, 1}, .memory_mb = 1536, .telemetry = false});
  if (!eal) return failed(eal.error());
  const auto source = Source::open(1024);
  if (!source) return failed(source.error());
  const auto nulls = NullPorts::open();
  if (!nulls) return failed(nulls.error());
  return Bench{*eal, options, **source, **nulls}.run();
}

}  // namespace
}  // namespace mqsteer::bench

int main(int argc, char** argv) {
  try {
    return mqsteer::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "mqsteer-bench-steering: " << error.what() << '\n';
    return static_cast<int>(mqsteer::Exit::kRefused);
  }
}
