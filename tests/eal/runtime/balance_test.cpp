// The load balancer on a running box.

#include "load.h"
#include "support/deadline.h"
#include "test_handlers.h"

#include <gmock/gmock.h>

#include <chrono>

namespace mqsteer::test {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

Config soft_rss() {
  Config config;
  config.steering.mode = SteeringMode::kSoftRss;
  config.steering.backlog_slots = 512;  // so that an overloaded worker's stands full
  return config;
}

/// Load for a while, 200 packets a millisecond, with the rounds of the balancer that the daemon
/// would hold.
void run(RingBox& box, Load& load, milliseconds length) {
  auto round = Clock::now();
  auto turn = Clock::now();
  for (const auto end = Clock::now() + length; Clock::now() < end;) {
    load.take();
    if (Clock::now() >= turn) {
      turn += std::chrono::microseconds{1'280};
      load.forget_losses(box.runtime->snapshot().totals.dropped());
      load.turn();  // 256 packets
    }
    if (Clock::now() < round) continue;
    round += Runtime::kBalanceEvery;
    box.runtime->balance();
  }
}

std::uint32_t buckets_of(RingBox& box, std::size_t worker) {
  return box.runtime->snapshot().workers[worker].buckets;
}

/// Both workers have half of the buckets, and worker 1 takes far longer for a packet.
TEST(Balance, AnOverloadedWorkerIsRelievedWithinASecondThoughItsBacklogStandsFull) {
  HandlerControls controls;
  controls.spin_cycles[0] = 200;
  controls.spin_cycles[1] = 40'000;
  RingBox box{soft_rss(), working_loops(controls)};
  Load load{box, Load::Into::kLeft, 4'000};
  SteeringConfig off = box.runtime->config().steering;
  off.balance = false;
  ASSERT_TRUE(box.runtime->set_steering(off));
  run(box, load, milliseconds{200});
  EXPECT_EQ(buckets_of(box, 1), 64U) << "nothing moves with balance off";
  EXPECT_GT(box.runtime->snapshot().totals.dropped(), 0U) << "its backlog stands full";
  SteeringConfig on = off;
  on.balance = true;
  ASSERT_TRUE(box.runtime->set_steering(on));
  // A second is enough where the CPUs are the box's own; here three threads share two.
  for (int second = 0; second < 10 && buckets_of(box, 1) >= 60; ++second) {
    run(box, load, milliseconds{1'000});
  }
  const Snapshot after = box.runtime->snapshot();
  std::cout << after.balanced << " buckets moved, worker 1 has " << buckets_of(box, 1)
            << " of 128\n";
  EXPECT_GE(after.balanced, 4U);
  EXPECT_LT(buckets_of(box, 1), 60U);
  EXPECT_EQ(load.checker().reordered(), 0U);
  controls.spin_cycles[1] = 0;
  box.stop_and_check();
}

TEST(Balance, AChangeOfSomethingElseLeavesWhatTheBalancerDid) {
  HandlerControls controls;
  controls.spin_cycles[1] = 40'000;
  RingBox box{soft_rss(), working_loops(controls)};
  Load load{box, Load::Into::kLeft, 4'000};
  for (int second = 0; second < 10 && buckets_of(box, 1) == 64; ++second) {
    run(box, load, milliseconds{1'000});
  }
  const std::uint32_t left = buckets_of(box, 1);
  ASSERT_NE(left, 64U);
  SteeringConfig other = box.runtime->config().steering;
  other.flow_limit = true;
  ASSERT_TRUE(box.runtime->set_steering(other));
  EXPECT_EQ(buckets_of(box, 1), left);
  other.weights = {1, 1};
  ASSERT_TRUE(box.runtime->set_steering(other));
  EXPECT_EQ(buckets_of(box, 1), 64U) << "new shares are the operator's word";
  controls.spin_cycles[1] = 0;
  box.stop_and_check();
}

TEST(Balance, BeginsAnewWithEveryTable) {
  HandlerControls controls;
  controls.spin_cycles[1] = 40'000;
  RingBox box{soft_rss(), working_loops(controls)};
  Load load{box, Load::Into::kLeft, 4'000};
  for (const std::uint32_t buckets : {1024U, 4U, 65536U, 128U}) {
    SteeringConfig next = box.runtime->config().steering;
    next.rss_buckets = buckets;
    ASSERT_TRUE(eventually(milliseconds{5'000},
                           [&] { return box.runtime->set_steering(next).has_value(); }));
    run(box, load, milliseconds{100});
    EXPECT_EQ(buckets_of(box, 0) + buckets_of(box, 1), buckets);
  }
  controls.spin_cycles[1] = 0;
  box.stop_and_check();
}

}  // namespace
}  // namespace mqsteer::test
