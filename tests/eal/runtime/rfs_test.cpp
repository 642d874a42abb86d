// Mode rfs on a running box: order while consumers move, hand-over, pins, the order check.

#include "load.h"
#include "packet/flow_tuple.h"
#include "support/deadline.h"
#include "test_handlers.h"

#include <gmock/gmock.h>

namespace mqsteer::test {
namespace {

using std::chrono::milliseconds;

Config rfs_config() {
  Config config;
  config.steering.mode = SteeringMode::kRfs;
  config.steering.rfs_flows = 1024;
  config.steering.backlog_slots = 8192;
  return config;
}

/// Runs load until the box has seen so many packets, and lets everything come out.
void load_through(RingBox& box, Load& load, std::uint64_t packets) {
  ASSERT_TRUE(eventually(milliseconds{60'000}, [&] {
    load.turn();
    return load.checker().seen() >= packets;
  }));
  ASSERT_TRUE(eventually(milliseconds{10'000}, [&] {
    load.take();
    return load.checker().seen() + box.runtime->snapshot().totals.dropped() == load.sent();
  }));
}

struct Sums {
  std::uint64_t moves = 0;
  std::uint64_t held = 0;
  std::uint64_t wrong = 0;
  std::uint64_t checked = 0;
  std::uint64_t reordered = 0;
  std::uint64_t handed_over = 0;
  std::uint64_t taken_over = 0;
};
Sums sums_of(Runtime& runtime) {
  Sums sums;
  for (const WorkerFigures& worker : runtime.snapshot().workers) {
    sums.moves += worker.moves;
    sums.held += worker.moves_held;
    sums.wrong += worker.wrong_worker;
    sums.checked += worker.order_checked;
    sums.reordered += worker.reordered;
    sums.handed_over += worker.handed_over;
    sums.taken_over += worker.taken_over;
  }
  return sums;
}

TEST(Rfs, ConsumersThatMoveAllTheTimeReorderNothing) {
  HandlerControls controls;
  controls.spin_cycles[0] = 500;
  controls.spin_cycles[1] = 3'000;
  ClaimingForward::Flows flows;
  Config config = rfs_config();
  config.steering.order_check = true;
  // No two of the flows share a bucket: one that nobody has claimed would force it back.
  config.steering.rfs_flows = 65'536;
  RingBox box{config, claiming_loops(controls, flows)};
  Load load{box};
  load_through(box, load, 500'000);
  const Sums sums = sums_of(*box.runtime);
  std::cout << load.checker().seen() << " packets, " << flows.claims << " claims, " << sums.moves
            << " moves, " << sums.held << " held, " << load.checker().worker_changes()
            << " worker changes seen\n";
  EXPECT_EQ(load.checker().reordered(), 0U);
  EXPECT_GT(sums.moves, 2'000U);
  EXPECT_GT(sums.held, 2'000U);
  EXPECT_EQ(sums.wrong, sums.held) << "rfs does not force, so a move held is a packet that stays";
  EXPECT_EQ(sums.reordered, 0U);
  EXPECT_EQ(sums.checked, load.checker().seen()) << "the box's own check looked at every packet";
  box.stop_and_check();
}

TEST(Rfs, WithoutTheDrainRuleTheSameConsumersReorderAndBothChecksSeeIt) {
  HandlerControls controls;
  controls.spin_cycles[0] = 500;
  controls.spin_cycles[1] = 3'000;
  ClaimingForward::Flows flows;
  Config config = rfs_config();
  config.steering.order_check = true;
  RingBox box{config, claiming_loops<DrainRule::kOff>(controls, flows)};
  Load load{box};
  load_through(box, load, 200'000);
  EXPECT_GT(load.checker().reordered(), 0U);
  EXPECT_GT(sums_of(*box.runtime).reordered, 0U);
  box.stop_and_check();
}

/// A flow moves when nothing of it is outstanding, so fewer packets are under way than flows, as
/// with requests and responses.
TEST(Rfs, FlowsThatAreHandedOverComeHomeAndStayInOrder) {
  HandlerControls controls;
  controls.spin_cycles[0] = 500;
  controls.spin_cycles[1] = 1'500;
  RingBox box{rfs_config(), handing_loops(controls), true};
  Load load{box, Load::Into::kBoth, kFlowsPerSide};
  load_through(box, load, 2'000);
  const Sums before = sums_of(*box.runtime);
  EXPECT_GT(before.handed_over, 0U) << "until each flow's consumer is known";
  load_through(box, load, 200'000);
  const Sums after = sums_of(*box.runtime);
  std::cout << before.handed_over << " handed over of the first " << 2'000 << ", "
            << after.handed_over - before.handed_over << " of the next 198,000\n";
  EXPECT_EQ(after.handed_over, after.taken_over);
  EXPECT_LT(after.handed_over - before.handed_over, 9'900U) << "under 5 % once learnt";
  EXPECT_EQ(load.checker().reordered(), 0U);
  for (std::uint32_t flow = 0; flow < 2 * kFlowsPerSide; ++flow) {
    EXPECT_EQ(load.checker().worker_of(flow), flow % 2);
  }
  box.stop_and_check();
}

TEST(Rfs, GiversThatChangeAllTheTimeNeverReorderWhatTheyHandOver) {
  HandlerControls controls;
  controls.spin_cycles[0] = 500;
  controls.spin_cycles[1] = 1'500;
  Config config = rfs_config();
  config.steering.mode = SteeringMode::kRps;
  RingBox box{config, handing_loops(controls), true};
  Load load{box};
  for (int change = 0; change < 300; ++change) {
    SteeringConfig next = box.runtime->config().steering;
    next.workers = change % 3 == 2
                       ? std::vector<std::uint16_t>{}
                       : std::vector<std::uint16_t>{static_cast<std::uint16_t>(change % 3)};
    next.mode = change % 50 < 25 ? SteeringMode::kRps : SteeringMode::kRfs;
    ASSERT_TRUE(eventually(milliseconds{5'000},
                           [&] { return box.runtime->set_steering(next).has_value(); }));
    const std::uint64_t all_new = load.sent() + kWindow;
    ASSERT_TRUE(eventually(milliseconds{5'000}, [&] {
      load.turn();
      return load.checker().seen() >= all_new;
    }));
  }
  load_through(box, load, load.sent());
  const Sums sums = sums_of(*box.runtime);
  std::cout << load.sent() << " packets, " << sums.moves << " moves, " << sums.handed_over
            << " handed over\n";
  EXPECT_GT(sums.moves, 300U);
  EXPECT_GT(sums.handed_over, 10'000U);
  EXPECT_EQ(load.checker().reordered(), 0U);
  box.stop_and_check();
}

TEST(Rfs, TheTxGuardAndTheOrderCheckCanBeSwitchedUnderLoad) {
  HandlerControls controls;
  controls.spin_cycles[0] = 500;
  controls.spin_cycles[1] = 1'500;
  ClaimingForward::Flows flows;
  RingBox box{rfs_config(), claiming_loops(controls, flows)};
  Load load{box};
  for (int change = 0; change < 100; ++change) {
    SteeringConfig next = box.runtime->config().steering;
    next.tx_guard = change % 2 == 0;
    next.order_check = change % 4 < 2;
    ASSERT_TRUE(box.runtime->set_steering(next));
    for (int i = 0; i < 3; ++i) load.turn();
  }
  load_through(box, load, load.sent());
  const Sums sums = sums_of(*box.runtime);
  EXPECT_EQ(load.checker().reordered(), 0U);
  EXPECT_EQ(sums.reordered, 0U);
  EXPECT_GT(sums.checked, 0U);
  EXPECT_LT(sums.checked, load.sent());
  box.stop_and_check();
}

TEST(Rfs, AChangeThatIsRefusedSwitchesNothing) {
  HandlerControls controls;
  RingBox box{rfs_config(), handing_loops(controls), true};
  Load load{box};
  controls.stall[1] = true;
  ASSERT_TRUE(eventually(milliseconds{5'000}, [&] {
    load.turn();
    return box.runtime->snapshot().totals.in_flight > 100;
  }));
  SteeringConfig wanted = box.runtime->config().steering;
  wanted.mode = SteeringMode::kRps;
  wanted.order_check = true;
  wanted.tx_guard = true;
  ASSERT_FALSE(box.runtime->set_steering(wanted)) << "worker 1 does not drain";
  controls.stall[1] = false;
  load_through(box, load, 10'000);
  EXPECT_EQ(sums_of(*box.runtime).checked, 0U);
  EXPECT_FALSE(box.runtime->config().steering.order_check);
  box.stop_and_check();
}

TEST(Rfs, APinnedFlowGoesToItsWorkerWhateverItsConsumerSays) {
  HandlerControls controls;
  RingBox box{rfs_config(), handing_loops(controls), true};
  Load load{box};
  load_through(box, load, 20'000);
  // Flow 1 of tests/support/numbered.h is consumed at worker 1; steering may still be told.
  const auto flow = FlowTuple::parse("udp", "10.0.0.1:1025", "10.1.0.1:9");
  ASSERT_TRUE(flow);
  EXPECT_EQ(box.runtime->explain(*flow).desired, WorkerId{1});
  EXPECT_EQ(box.runtime->explain(*flow).why, DesiredBy::kConsumer);
  ASSERT_TRUE(box.runtime->pin(*flow, WorkerId{0}));
  load_through(box, load, 40'000);
  const FlowExplanation pinned = box.runtime->explain(*flow);
  EXPECT_EQ(pinned.desired, WorkerId{0});
  EXPECT_EQ(pinned.why, DesiredBy::kPin);
  ASSERT_FALSE(pinned.current.empty());
  EXPECT_EQ(pinned.current[0].worker, 0);
  const std::uint64_t before = sums_of(*box.runtime).handed_over;
  load_through(box, load, 60'000);
  EXPECT_GT(sums_of(*box.runtime).handed_over, before + 100) << "worker 0 hands it to its consumer";
  ASSERT_TRUE(box.runtime->unpin(*flow));
  EXPECT_FALSE(box.runtime->unpin(*flow));
  load_through(box, load, 80'000);
  EXPECT_EQ(box.runtime->explain(*flow).desired, WorkerId{1});
  EXPECT_EQ(load.checker().reordered(), 0U);
  box.stop_and_check();
}

}  // namespace
}  // namespace mqsteer::test
