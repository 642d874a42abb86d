#include "in_process.h"

#include "bench/median.h"
#include "config/words.h"
#include "rr_box.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

namespace mqsteer::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

bool wait_for(milliseconds limit, const std::function<bool()>& done) {
  for (const auto end = Clock::now() + limit; !done();) {
    if (Clock::now() > end) return done();
    std::this_thread::sleep_for(std::chrono::microseconds{200});
  }
  return true;
}

/// One box, taken through modes and numbers of flows.
class Measurement {
 public:
  Measurement(RrBox& box, const InProcessPlan& plan, InProcessResult& result)
      : box_{box}, plan_{plan}, result_{result} {}

  /// round: by which the figures of several points are compared
  void run(Point& point, unsigned round) {
    if (!set_mode(point.mode) || !connect(point.flows)) return;
    box_.client().want(Client::Doing::kRequesting);
    warm_up(point.flows);
    measure(point);
    point.rounds.push_back(round);
    disconnect(point.flows);
  }

 private:
  bool set_mode(SteeringMode mode) {
    SteeringConfig steering = box_.runtime().config().steering;
    steering.mode = mode;
    std::string refused;
    const bool set = wait_for(milliseconds{5'000}, [&] {
      const auto done = box_.runtime().set_steering(steering);
      if (!done) refused = done.error().text();
      return done.has_value();
    });
    if (!set) fault(refused);
    return set;
  }

  /// Nobody steps: the client's state may be looked at and changed.
  void stand_still() {
    box_.client().want(Client::Doing::kNothing);
    if (!wait_for(milliseconds{5'000}, [&] { return box_.client().obeys(); })) {
      fault("the client's lcore does not turn");
    }
  }

  bool connect(std::uint32_t flows) {
    stand_still();
    box_.client().prepare(flows);
    box_.client().want(Client::Doing::kConnecting);
    const bool all =
        wait_for(milliseconds{60'000}, [&] { return box_.client().connected() == flows; });
    if (!all) {
      fault(std::to_string(box_.client().connected()) + " of " + std::to_string(flows) +
            " connections after a minute");
    }
    return all;
  }

  /// Until every flow has had its turn twice, so that rfs has learnt where all of them live.
  void warm_up(std::uint32_t flows) {
    const std::uint64_t enough = box_.client().figures().transactions + 2ULL * flows;
    if (!wait_for(milliseconds{60'000},
                  [&] { return box_.client().figures().transactions >= enough; })) {
      fault("two transactions a flow took more than a minute");
    }
    std::this_thread::sleep_for(milliseconds{50});
  }

  struct Mark {
    Clock::time_point at;
    std::uint64_t tsc;
    Client::Figures client;
    std::uint64_t handed_over = 0;
    std::uint64_t work_cycles = 0;
    std::uint64_t work_samples = 0;
  };
  [[nodiscard]] Mark mark() {
    Mark mark{.at = Clock::now(), .tsc = tsc_now().value(), .client = box_.client().figures()};
    for (const WorkerFigures& worker : box_.runtime().snapshot().workers) {
      mark.handed_over += worker.handed_over;
      const RrCounters& counters = box_.rr().counters(worker.worker);
      mark.work_cycles += counters.read(RrCount::kWorkCycles);
      mark.work_samples += counters.read(RrCount::kWorkSamples);
    }
    return mark;
  }

  void measure(Point& point) {
    // Latencies are the client's own; it is asked to finish before they are read or cleared.
    rest();
    box_.client().clear_latencies();
    box_.client().want(Client::Doing::kRequesting);
    std::this_thread::sleep_for(milliseconds{5});
    const Mark begin = mark();
    std::this_thread::sleep_for(milliseconds{plan_.length_ms});
    const Mark end = mark();
    rest();
    const auto transactions =
        static_cast<double>(end.client.transactions - begin.client.transactions);
    const double seconds = std::chrono::duration<double>(end.at - begin.at).count();
    const double us = 1e6 / static_cast<double>(tsc_hz());
    const auto share = [](std::uint64_t part, double whole) {
      return whole == 0 ? 0 : static_cast<double>(part) / whole;
    };
    point.tps.push_back(transactions / seconds);
    point.p50_us.push_back(box_.client().latency_quantile(0.5) * us);
    point.p99_us.push_back(box_.client().latency_quantile(0.99) * us);
    point.hops_pct.push_back(100 * share(end.handed_over - begin.handed_over, transactions));
    point.client_pct.push_back(100 * share(end.client.busy_cycles - begin.client.busy_cycles,
                                           static_cast<double>(end.tsc - begin.tsc)));
    point.work_cycles.push_back(share(end.work_cycles - begin.work_cycles,
                                      static_cast<double>(end.work_samples - begin.work_samples)));
    if (transactions == 0) fault("no transactions");
  }

  /// No request is under way any more.
  void rest() {
    box_.client().want(Client::Doing::kFinishing);
    if (!wait_for(milliseconds{5'000}, [&] { return box_.client().outstanding() == 0; })) {
      fault(std::to_string(box_.client().outstanding()) + " responses never came");
    }
    stand_still();
  }

  void disconnect(std::uint32_t flows) {
    stand_still();
    box_.client().begin_resets();
    box_.client().want(Client::Doing::kResetting);
    const auto left = [&] {
      return box_.rr().counters(WorkerId{0}).connections() +
             box_.rr().counters(WorkerId{1}).connections();
    };
    const bool gone = wait_for(milliseconds{60'000},
                               [&] { return box_.client().reset() == flows && left() == 0; });
    if (!gone) fault(std::to_string(left()) + " connections are left after a reset");
  }

  void fault(const std::string& what) {
    result_.faults.push_back(std::string{name_of(box_.runtime().config().steering.mode)} + ": " +
                             what);
  }

  RrBox& box_;
  const InProcessPlan& plan_;
  InProcessResult& result_;
};

/// At the end of a box: what it counted must add up.
void settle(RrBox& box, InProcessResult& result) {
  box.client().want(Client::Doing::kNothing);
  if (auto stopped = box.runtime().stop(); !stopped)
    result.faults.push_back(stopped.error().text());
  const Snapshot end = box.runtime().snapshot();
  if (end.totals.in() != end.totals.out()) {
    result.faults.push_back("in " + std::to_string(end.totals.in()) + ", out " +
                            std::to_string(end.totals.out()));
  }
  for (std::size_t r = 0; r < kDropReasons; ++r) {
    if (end.totals.drops[r] == 0) continue;
    result.faults.push_back(std::to_string(end.totals.drops[r]) +
                            " packets were dropped: " + std::string{kDropReasonNames[r]});
  }
  if (box.client().figures().wrong != 0) {
    result.faults.push_back(std::to_string(box.client().figures().wrong) + " wrong responses");
  }
  for (const WorkerFigures& worker : end.workers) {
    result.checked += worker.order_checked;
    result.reordered += worker.reordered;
  }
}

/// All numbers of flows and all modes in turn, round by round, so that what the host takes away it
/// takes from all.
Expected<void> run_box(const Eal& eal, const InProcessPlan& plan, std::uint32_t work_ns,
                       const std::vector<std::uint32_t>& flows, InProcessResult& result) {
  const std::uint32_t most = *std::max_element(flows.begin(), flows.end());
  auto box = RrBox::start({.eal = &eal,
                           .connections = std::max(most, 1024U),
                           .work_ns = work_ns,
                           .window = plan.window,
                           .rfs_flows = std::max(most, 65'536U)});
  if (!box) return tl::unexpected(box.error());
  Measurement measurement{**box, plan, result};
  const std::size_t first = result.points.size();
  for (const std::uint32_t count : flows) {
    for (const SteeringMode mode : plan.modes) {
      result.points.push_back({.mode = mode, .flows = count, .work_ns = work_ns});
    }
  }
  for (unsigned round = 0; round < plan.rounds; ++round) {
    for (std::size_t i = first; i < result.points.size(); ++i) {
      measurement.run(result.points[i], round);
    }
    std::fprintf(stderr, "in process: %u ns of work: round %u of %u done\n", work_ns, round + 1,
                 plan.rounds);
  }
  settle(**box, result);
  return {};
}

/// Every mode once more, with the order check on and off in turn, for proof and for its price.
Expected<void> check_order(const Eal& eal, const InProcessPlan& plan, InProcessResult& result) {
  auto box = RrBox::start(
      {.eal = &eal, .connections = std::max(plan.usual_flows, 1024U), .window = plan.window});
  if (!box) return tl::unexpected(box.error());
  Measurement measurement{**box, plan, result};
  for (const SteeringMode mode : plan.modes) {
    std::array<Point, 2> points{Point{.mode = mode, .flows = plan.usual_flows},
                                Point{.mode = mode, .flows = plan.usual_flows}};
    for (unsigned round = 0; round < plan.rounds; ++round) {
      for (const bool checked : {false, true}) {
        SteeringConfig steering = (*box)->runtime().config().steering;
        steering.order_check = checked;
        if (auto set = (*box)->runtime().set_steering(steering); !set) {
          return tl::unexpected(set.error());
        }
        measurement.run(points[checked ? 1 : 0], round);
      }
    }
    std::vector<double> costs;  // of one round each: the CPUs' placement may change in between
    for (std::size_t i = 0; i < points[0].rounds.size(); ++i) {
      const auto at = std::ranges::find(points[1].rounds, points[0].rounds[i]);
      if (at == points[1].rounds.end()) continue;
      const auto j = static_cast<std::size_t>(at - points[1].rounds.begin());
      costs.push_back(1e9 / points[1].tps[j] - 1e9 / points[0].tps[i]);
    }
    result.check_ns.push_back(median(costs));
  }
  settle(**box, result);
  if (result.checked == 0) result.faults.emplace_back("the order check has seen nothing");
  return {};
}

}  // namespace

std::vector<Unlike> unlike_shipped() {
  const Config shipped;
  return {{"idle", std::string{name_of(RrBox::kIdle)}, std::string{name_of(shipped.idle)},
           "the client runs on the RX lcore, which must turn"},
          {"rr.first_timeout_ms", std::to_string(RrBox::kFirstTimeoutMs),
           std::to_string(RrSettings{}.first_timeout_ms),
           "the client acknowledges with its next request, and a million flows wait long for it"},
          {"steering.balance", RrBox::kBalance ? "on" : "off",
           shipped.steering.balance ? "on" : "off", "nobody calls the balancer here"}};
}

Expected<InProcessResult> run_in_process(const Eal& eal, const InProcessPlan& plan) {
  InProcessResult result;
  for (const std::uint32_t work : plan.work_ns) {
    const bool usual = work == plan.usual_work_ns;
    const auto flows = usual ? plan.flows : std::vector{plan.usual_flows};
    if (auto done = run_box(eal, plan, work, flows, result); !done) {
      return tl::unexpected(done.error());
    }
  }
  if (auto done = check_order(eal, plan, result); !done) return tl::unexpected(done.error());
  return result;
}

}  // namespace mqsteer::bench
