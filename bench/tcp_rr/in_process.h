#pragma once

#include "eal/eal.h"

#include <mqsteer/config.h>
#include <mqsteer/error.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mqsteer::bench {

/// What to measure in process: every mode at every number of flows with one amount of work, and at
/// one number of flows with every amount of work.
struct InProcessPlan {
  std::vector<SteeringMode> modes = {SteeringMode::kNone, SteeringMode::kRps,
                                     SteeringMode::kSoftRss, SteeringMode::kRfs};
  std::vector<std::uint32_t> flows = {50, 1'000, 10'000, 100'000, 1'000'000};
  std::vector<std::uint32_t> work_ns = {0, 100, 300, 1'000};
  std::uint32_t usual_flows = 1'000;
  std::uint32_t usual_work_ns = 300;
  unsigned rounds = 5;
  unsigned length_ms = 300;
  std::uint32_t window = 1'024;  ///< requests under way at once, at most
};

/// One mode at one point, all rounds that came about.
struct Point {
  SteeringMode mode = SteeringMode::kNone;
  std::uint32_t flows = 0;
  std::uint32_t work_ns = 0;
  std::vector<unsigned> rounds;  ///< which; the figures that follow have one value for each
  std::vector<double> tps;       ///< transactions a second
  std::vector<double> p50_us;    ///< of the response
  std::vector<double> p99_us;
  std::vector<double> hops_pct;     ///< transactions that were handed over
  std::vector<double> client_pct;   ///< share of its CPU that the client took
  std::vector<double> work_cycles;  ///< TSC cycles of extra work a request, measured
};

struct InProcessResult {
  std::vector<Point> points;
  std::uint64_t checked = 0;  ///< responses whose order the box has verified at TX
  std::uint64_t reordered = 0;
  /// What the order check costs a transaction, in ns: with it less without it, by mode as planned,
  /// at the usual flows and no extra work.
  std::vector<double> check_ns;
  std::vector<std::string> faults;  ///< what must not be: wrong responses, losses, no balance
};

/// A setting of the box that is not what mqsteerd is shipped with, and why.
struct Unlike {
  std::string setting;
  std::string here;
  std::string shipped;
  std::string why;
};
[[nodiscard]] std::vector<Unlike> unlike_shipped();

/// errors: a box that does not start
[[nodiscard]] Expected<InProcessResult> run_in_process(const Eal& eal, const InProcessPlan& plan);

}  // namespace mqsteer::bench
