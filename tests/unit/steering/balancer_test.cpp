#include "steering/balancer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace mqsteer::test {
namespace {

using ::testing::IsEmpty;
using Move = Balancer::Move;

constexpr std::uint64_t kMs = 1'000'000;
constexpr unsigned kSeed = 20110823;
constexpr double kPacketsPerSecond = 1e6;  // a worker's capacity

/// Workers with queues, and buckets that offer them packets; the balancer moves the buckets.
/// Loads are in workers: a bucket of load 0.5 keeps a worker half busy.
class Simulation {
 public:
  struct Setup {
    std::size_t workers = 4;
    std::vector<double> loads;
    double noise = 0;  ///< of each measurement of busy, and of what is offered
    std::uint64_t round_ns = Balancer::kGoodRoundNs;
    double slots = 32768;           ///< of a backlog
    std::vector<double> speed;      ///< of each worker; empty: 1
    std::vector<double> receiving;  ///< busy share that no bucket explains; empty: none
  };

  explicit Simulation(const Setup& setup)
      : setup_{setup},
        balancer_{{.workers = setup.workers, .buckets = setup.loads.size()}},
        at_(setup.loads.size()),
        queue_(setup.workers),
        allowed_(setup.workers, true),
        moved_(setup.loads.size()),
        held_(setup.loads.size()),
        held_until_(setup.loads.size()) {
    setup_.speed.resize(setup.workers, 1.0);
    setup_.receiving.resize(setup.workers, 0.0);
    for (std::size_t i = 0; i < at_.size(); ++i) at_[i] = i * setup.workers / at_.size();
  }

  void run(std::uint64_t ms) {
    for (std::uint64_t end = now_ + ms * kMs; now_ < end;) step();
  }

  void set_loads(const std::vector<double>& loads) { setup_.loads = loads; }
  void disallow(std::size_t worker) { allowed_[worker] = false; }
  void put(std::size_t bucket, std::size_t worker) { at_[bucket] = worker; }

  /// The true load of each worker, without noise.
  [[nodiscard]] std::vector<double> loads() const {
    std::vector<double> all = setup_.receiving;
    for (std::size_t i = 0; i < at_.size(); ++i) {
      all[at_[i]] += setup_.loads[i] / setup_.speed[at_[i]];
    }
    return all;
  }
  [[nodiscard]] double busiest() const { return std::ranges::max(loads()); }
  [[nodiscard]] std::size_t moves() const { return moves_; }
  [[nodiscard]] std::size_t at(std::size_t bucket) const { return at_[bucket]; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  [[nodiscard]] unsigned times_moved(std::size_t bucket) const { return moved_[bucket]; }
  [[nodiscard]] Balancer& balancer() { return balancer_; }

 private:
  double noisy(double value) {
    std::uniform_real_distribution<double> factor{1 - setup_.noise, 1 + setup_.noise};
    return value * factor(random_);
  }

  void step() {
    const double span = static_cast<double>(setup_.round_ns) / 1e9;
    now_ += setup_.round_ns;
    std::vector<double> offered(setup_.workers);
    std::vector<Balancer::BucketSample> buckets(at_.size());
    for (std::size_t i = 0; i < at_.size(); ++i) {
      const double packets = std::floor(noisy(setup_.loads[i] * span * kPacketsPerSecond));
      buckets[i] = {WorkerId{static_cast<std::uint16_t>(at_[i])},
                    static_cast<std::uint64_t>(packets)};
      offered[at_[i]] += arriving(i, packets);
    }
    std::vector<Balancer::WorkerSample> workers(setup_.workers);
    for (std::size_t i = 0; i < workers.size(); ++i) workers[i] = work(i, offered[i], span);
    for (const Move move : balancer_.round(now_, workers, buckets)) {
      EXPECT_TRUE(allowed_[move.to.value()]);
      EXPECT_NE(at_[move.bucket], move.to.value());
      const std::size_t from = at_[move.bucket];
      const double drains = queue_[from] / (setup_.speed[from] * kPacketsPerSecond);
      held_until_[move.bucket] = now_ + static_cast<std::uint64_t>(drains * 1e9);
      at_[move.bucket] = move.to.value();
      ++moved_[move.bucket];
      ++moves_;
    }
  }

  /// A bucket that moves is held until its old worker is rid of it; then all comes at once.
  double arriving(std::size_t bucket, double packets) {
    held_[bucket] += packets;
    if (now_ < held_until_[bucket]) return 0;
    return std::exchange(held_[bucket], 0.0);
  }

  Balancer::WorkerSample work(std::size_t worker, double offered, double span) {
    const double can =
        (1 - setup_.receiving[worker]) * setup_.speed[worker] * span * kPacketsPerSecond;
    const double waiting = queue_[worker] + offered;
    const double handled = std::floor(std::min(waiting, can));
    queue_[worker] = std::min(waiting - handled, setup_.slots);
    dropped_ += static_cast<std::uint64_t>(waiting - handled - queue_[worker]);
    const double busy = setup_.receiving[worker] + handled / can * (1 - setup_.receiving[worker]);
    return {.busy = std::min(1.0, noisy(busy)),
            .handled = static_cast<std::uint64_t>(handled),
            .allowed = allowed_[worker],
            .backlog = queue_[worker] / setup_.slots};
  }

  Setup setup_;
  Balancer balancer_;
  std::vector<std::size_t> at_;
  std::vector<double> queue_;
  std::vector<bool> allowed_;
  std::vector<unsigned> moved_;
  std::vector<double> held_;
  std::vector<std::uint64_t> held_until_;
  std::mt19937 random_{kSeed};
  std::uint64_t now_ = 0;
  std::size_t moves_ = 0;
  std::uint64_t dropped_ = 0;
};

/// Loads of `total` workers in all, the i-th in proportion to 1 / i^skew, in random order.
std::vector<double> zipf(std::size_t buckets, double total, double skew, unsigned seed = kSeed) {
  std::vector<double> loads(buckets);
  for (std::size_t i = 0; i < buckets; ++i) {
    loads[i] = 1 / std::pow(static_cast<double>(i + 1), skew);
  }
  const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
  for (double& load : loads) load *= total / sum;
  std::shuffle(loads.begin(), loads.end(), std::mt19937{seed});
  return loads;
}

/// The same load on every bucket, and all buckets with more on the first worker.
std::vector<double> heavy_first(std::size_t workers, double heavy, double light) {
  std::vector<double> loads(128, light / (128.0 / static_cast<double>(workers)));
  for (std::size_t i = 0; i < 128 / workers; ++i) {
    loads[i] = heavy / (128.0 / static_cast<double>(workers));
  }
  return loads;
}

TEST(Balancer, AnEvenLoadStaysWhereItIs) {
  Simulation simulation{{.workers = 4, .loads = std::vector<double>(128, 0.9 * 4 / 128)}};
  simulation.run(5000);
  EXPECT_EQ(simulation.moves(), 0U);
}

TEST(Balancer, NobodyIsRelievedBelowSeventyPercent) {
  Simulation simulation{{.workers = 4, .loads = heavy_first(4, 0.69, 0.1)}};
  simulation.run(2000);
  EXPECT_EQ(simulation.moves(), 0U);
}

TEST(Balancer, ABusyWorkerIsRelievedWithinASecond) {
  Simulation simulation{{.workers = 4, .loads = heavy_first(4, 0.95, 0.1)}};
  simulation.run(1000);
  EXPECT_LT(simulation.busiest(), 0.75);
  EXPECT_GT(simulation.moves(), 0U);
}

TEST(Balancer, AnOverloadedWorkerIsRelievedThoughItsBacklogStandsFull) {
  Simulation simulation{{.workers = 4, .loads = heavy_first(4, 2.4, 0.1)}};
  simulation.run(1000);
  EXPECT_LT(simulation.busiest(), 0.95);
  const auto dropped = simulation.dropped();
  simulation.run(1000);
  EXPECT_EQ(simulation.dropped(), dropped);
}

TEST(Balancer, TheLoadOfAnOverloadedWorkerIsWhatItIsOffered) {
  Simulation simulation{{.workers = 4, .loads = heavy_first(4, 2.4, 0.1)}};
  for (std::size_t worker = 0; worker < 4; ++worker) simulation.disallow(worker);
  simulation.run(1000);
  EXPECT_NEAR(simulation.balancer().load(WorkerId{0}), 2.4, 0.05);
  EXPECT_NEAR(simulation.balancer().load(WorkerId{1}), 0.1, 0.01);
}

TEST(Balancer, SettlesOnSkewedLoadsWhateverTheNumberOfWorkers) {
  for (std::size_t workers = 1; workers <= 20; ++workers) {
    for (const double skew : {0.5, 0.8, 1.0}) {
      const auto loads = zipf(128, 0.7 * static_cast<double>(workers), skew);
      if (std::ranges::max(loads) > 0.6) continue;  // a bucket that hardly fits anywhere
      SCOPED_TRACE(testing::Message() << workers << " workers, skew " << skew);
      Simulation simulation{{.workers = workers, .loads = loads}};
      simulation.run(1000);
      EXPECT_LE(simulation.busiest(), 0.95);
      EXPECT_LE(simulation.moves(), 128U);
      simulation.run(1000);
      const std::size_t before = simulation.moves();
      simulation.run(20'000);
      EXPECT_EQ(simulation.moves(), before);
    }
  }
}

TEST(Balancer, NoiseDoesNotSendBucketsBackAndForth) {
  for (const std::uint64_t round_ns : {5 * kMs, 20 * kMs, 100 * kMs}) {
    for (const std::size_t workers : {2U, 3U, 7U, 20U}) {
      SCOPED_TRACE(testing::Message() << workers << " workers, rounds of " << round_ns / kMs);
      Simulation simulation{{.workers = workers,
                             .loads = zipf(128, 0.7 * static_cast<double>(workers), 0.5),
                             .noise = 0.1,
                             .round_ns = round_ns}};
      simulation.run(2000);
      EXPECT_LE(simulation.busiest(), 0.95);
      const std::size_t before = simulation.moves();
      simulation.run(20'000);
      EXPECT_LE(simulation.moves() - before, 2 * workers);
      EXPECT_LE(simulation.busiest(), 0.95);
    }
  }
}

TEST(Balancer, AnElephantKeepsItsWorkerAndTheMiceLeave) {
  std::vector<double> loads(128, 0.002);
  loads[3] = 0.9;
  Simulation simulation{{.workers = 4, .loads = loads}};
  simulation.run(1000);
  EXPECT_EQ(simulation.times_moved(3), 0U);
  EXPECT_LT(simulation.busiest(), 0.95);
  const std::size_t before = simulation.moves();
  simulation.run(10'000);
  EXPECT_EQ(simulation.moves(), before);
}

TEST(Balancer, TheOnlyBucketOfAWorkerStays) {
  std::vector<double> loads(128, 0.0);
  loads[0] = 1.7;
  Simulation simulation{{.workers = 4, .loads = loads}};
  simulation.run(3000);
  EXPECT_EQ(simulation.moves(), 0U);
}

TEST(Balancer, TwoElephantsOfOneWorkerPart) {
  std::vector<double> loads(128, 0.0);
  loads[0] = loads[1] = 0.6;
  Simulation simulation{{.workers = 2, .loads = loads}};
  simulation.run(1000);
  EXPECT_EQ(simulation.moves(), 1U);
  EXPECT_NE(simulation.at(0), simulation.at(1));
}

TEST(Balancer, NothingMovesWhereEverybodyIsOverloaded) {
  Simulation simulation{{.workers = 3, .loads = zipf(128, 4.5, 0.5), .noise = 0.05}};
  simulation.run(1000);
  const std::size_t before = simulation.moves();
  simulation.run(10'000);
  EXPECT_EQ(simulation.moves(), before);
}

TEST(Balancer, FollowsAChangeWithinASecond) {
  for (const double noise : {0.0, 0.1}) {
    Simulation simulation{{.workers = 5, .loads = zipf(128, 3, 0.7, 1), .noise = noise}};
    for (unsigned change = 2; change < 12; ++change) {
      simulation.run(1000);
      EXPECT_LE(simulation.busiest(), 0.95) << "change " << change << ", noise " << noise;
      simulation.set_loads(zipf(128, 3, 0.7, change));
    }
  }
}

TEST(Balancer, AWorkerThatIsNotAllowedGetsNothing) {
  Simulation simulation{{.workers = 4, .loads = heavy_first(4, 1.5, 0.1)}};
  simulation.disallow(2);
  simulation.run(2000);  // the simulation looks at every move
  EXPECT_GT(simulation.moves(), 0U);
}

TEST(Balancer, ASlowWorkerGetsLess) {
  Simulation simulation{
      {.workers = 2, .loads = std::vector<double>(128, 1.1 / 128), .speed = {0.5, 1.0}}};
  simulation.run(2000);
  EXPECT_LE(simulation.busiest(), 0.95);
}

TEST(Balancer, AReceivingWorkerShedsItsBucketsInTime) {
  Simulation simulation{
      {.workers = 3, .loads = std::vector<double>(128, 1.5 / 128), .receiving = {0.6, 0, 0}}};
  simulation.run(1000);
  EXPECT_LE(simulation.busiest(), 0.95);
  simulation.run(1000);
  const std::size_t before = simulation.moves();
  simulation.run(10'000);
  EXPECT_EQ(simulation.moves(), before);
}

TEST(Balancer, LargeTablesSettleAsFast) {
  Simulation simulation{{.workers = 4, .loads = zipf(65536, 2.6, 0.3)}};
  for (std::size_t bucket = 0; bucket < 12000; ++bucket) simulation.put(bucket, 0);
  simulation.run(1000);
  EXPECT_LE(simulation.busiest(), 0.95);
}

TEST(Balancer, ARoundTooEarlySaysNothing) {
  Balancer balancer{{.workers = 2, .buckets = 4}};
  const std::vector<Balancer::WorkerSample> workers(2);
  const std::vector<Balancer::BucketSample> buckets(4);
  EXPECT_THAT(balancer.round(5 * kMs, workers, buckets), IsEmpty());
  EXPECT_FALSE(balancer.due(6 * kMs - 1));
  EXPECT_TRUE(balancer.due(6 * kMs));
}

TEST(Balancer, AFewBucketsARound) {
  Balancer balancer{{.workers = 2, .buckets = 128}};
  std::vector<Balancer::BucketSample> buckets(128, {WorkerId{0}, 1000});
  const std::vector<Balancer::WorkerSample> workers{{.busy = 1, .handled = 64000}, {}};
  std::size_t most = 0;
  for (std::uint64_t round = 0; round < 100; ++round) {
    const auto moves = balancer.round(round * 20 * kMs, workers, buckets);
    for (const Move move : moves) buckets[move.bucket].worker = move.to;
    most = std::max(most, moves.size());
  }
  EXPECT_EQ(most, 4U);
}

TEST(Balancer, AStuckWorkerLosesItsBucketsAndGetsNone) {
  Balancer balancer{{.workers = 2, .buckets = 16}};
  std::vector<Balancer::BucketSample> buckets(16, {WorkerId{0}, 100});
  std::vector<Balancer::WorkerSample> workers{{.busy = 0.5, .handled = 1600}, {}};
  std::uint64_t now = 0;
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i, now += 20 * kMs) {
      for (const Move move : balancer.round(now, workers, buckets)) {
        EXPECT_EQ(move.to, WorkerId{1});
        buckets[move.bucket].worker = move.to;
      }
    }
  };
  rounds(20);
  workers[0] = {.busy = 1, .handled = 0, .backlog = 1};
  workers[1] = {.busy = 0.1, .handled = 100};
  rounds(100);
  EXPECT_EQ(std::ranges::count(buckets, WorkerId{0}, &Balancer::BucketSample::worker), 1);
}

TEST(Balancer, AMoveThatIsNotMadeIsSaidAgain) {
  Balancer balancer{{.workers = 2, .buckets = 16}};
  const std::vector<Balancer::BucketSample> buckets(16, {WorkerId{0}, 100});
  const std::vector<Balancer::WorkerSample> workers{{.busy = 0.9, .handled = 1600}, {}};
  std::size_t said = 0;
  for (std::uint64_t round = 0; round < 200; ++round) {
    said += balancer.round(round * 20 * kMs, workers, buckets).size();
  }
  EXPECT_GT(said, 8U);
}

}  // namespace
}  // namespace mqsteer::test
