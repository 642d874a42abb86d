#include "runtime/plan.h"

#include "steering/hold_fifo.h"

#include <gmock/gmock.h>

namespace mqsteer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Two ports of one queue each, `lcores` lcores.
PlanInput input(std::uint16_t lcores, SteeringConfig steering = {}) {
  PlanInput made;
  made.config.ports = {{.name = "left", .device = "a"}, {.name = "right", .device = "b"}};
  made.config.steering = std::move(steering);
  for (std::uint16_t i = 0; i < lcores; ++i) made.lcores.emplace_back(i);
  made.ports = {{.name = "left", .max_tx_queues = 64}, {.name = "right", .max_tx_queues = 64}};
  return made;
}

std::vector<std::size_t> rx_queues_by_lcore(const Plan& plan) {
  std::vector<std::size_t> queues;
  for (const PlannedLcore& lcore : plan.lcores) queues.push_back(lcore.rx.size());
  return queues;
}

TEST(Plan, EveryLcoreDoesBothUnlessToldOtherwise) {
  const auto plan = make_plan(input(2));
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_THAT(rx_queues_by_lcore(*plan), ElementsAre(1, 1));
  EXPECT_EQ(plan->lcores[1].worker, WorkerId{1});
}

TEST(Plan, OneLcoreTakesEverything) {
  EXPECT_THAT(rx_queues_by_lcore(*make_plan(input(1))), ElementsAre(2));
}

TEST(Plan, LcoresThatAreNoListedWorkerReceive) {
  EXPECT_THAT(rx_queues_by_lcore(*make_plan(input(4, {.workers = {1, 2, 3}}))),
              ElementsAre(2, 0, 0, 0));
}

TEST(Plan, WithModeNoneTheListedWorkersReceive) {
  const auto plan = make_plan(input(2, {.mode = SteeringMode::kNone, .workers = {1}}));
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_THAT(rx_queues_by_lcore(*plan), ElementsAre(0, 2));
}

TEST(Plan, UsesAsManyQueuesAsLcoresAndDeviceAllow) {
  auto in = input(4);
  in.ports[0].max_rx_queues = 16;
  in.ports[1].max_rx_queues = 2;
  const auto plan = make_plan(in);
  EXPECT_EQ(plan->ports[0].rx_queues, 4);
  EXPECT_EQ(plan->ports[1].rx_queues, 2);
}

TEST(Plan, PollsEveryChannelOfAKernelInterface) {
  auto in = input(1);
  in.ports[0].min_rx_queues = in.ports[0].max_rx_queues = 4;
  EXPECT_EQ(make_plan(in)->ports[0].rx_queues, 4);
}

TEST(Plan, RefusesMoreQueuesThanTheDeviceReaches) {
  auto in = input(2);
  in.config.ports[0].rx_queues = 128;
  in.ports[0].max_rx_queues = 16;
  const auto plan = make_plan(in);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().text(), "ports[0].rx_queues: left has 16 at most, not 128");
}

TEST(Plan, WarnsWhereTxQueuesAreShared) {
  auto in = input(4);
  in.ports[0].max_tx_queues = 1;
  const auto plan = make_plan(in);
  EXPECT_TRUE(plan->ports[0].tx_shared);
  EXPECT_FALSE(plan->ports[1].tx_shared);
  EXPECT_THAT(plan->notes, ElementsAre(HasSubstr("left: 1 TX queue(s) for 4 workers")));
}

TEST(Plan, SizesBacklogsToTwoMillisecondsOfTheLink) {
  auto in = input(2);
  in.ports[0].link_mbps = in.ports[1].link_mbps = 1'000;
  EXPECT_EQ(make_plan(in)->backlog_slots, 4096U);  // 1,488,095 pps x 2 ms, rounded up
  in.ports[1].link_mbps = 10'000;
  EXPECT_EQ(make_plan(in)->backlog_slots, 32768U);
  in.ports[1].link_mbps = 10;
  in.ports[0].link_mbps = 10;
  EXPECT_EQ(make_plan(in)->backlog_slots, 1024U);
  in.ports[0].link_mbps = 0;
  EXPECT_EQ(make_plan(in)->backlog_slots, 32768U) << "an unknown speed is taken for the worst";
}

TEST(Plan, APoolHoldsMoreThanCanBeInFlight) {
  for (const std::uint32_t budget : {64U, 65'536U}) {
    auto in = input(4, {.backlog_budget = budget});
    in.ports[0].mbufs_held_per_queue = 4096;
    const auto plan = make_plan(in);
    for (const PlannedLcore& lcore : plan->lcores) {
      if (lcore.rx.empty()) continue;
      EXPECT_GT(lcore.pool_mbufs, budget + HoldFifo::kPackets + 2 * 4 * 1024U);
    }
  }
}

TEST(Plan, CountsTheMemoryItTakes) {
  const auto plan = make_plan(input(2));
  EXPECT_GT(plan->pool_bytes, std::size_t{2} * 65'536 * 2'304);
  EXPECT_EQ(plan->total_bytes(), plan->pool_bytes + plan->backlog_bytes + plan->steering_bytes);
  EXPECT_LT(plan->total_bytes(), memory_bound_bytes(input(2).config, 2, {{}, {}}));
}

TEST(Plan, IsWithinTheBoundForAnyNumberOfLcores) {
  for (const std::uint16_t lcores : std::initializer_list<std::uint16_t>{1, 2, 16, 128}) {
    const auto plan = make_plan(input(lcores));
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_LT(plan->total_bytes(), memory_bound_bytes(input(lcores).config, lcores, {{}, {}}))
        << lcores;
  }
}

TEST(Plan, IsWithinTheBoundWithManyChannelsAndLargeFrames) {
  auto in = input(2);
  for (PortFacts& port : in.ports) {
    port.min_rx_queues = port.max_rx_queues = 64;
    port.mtu = 9000;
    port.data_room_bytes = 9216;
    port.mbufs_held_per_queue = 6144;
  }
  const PortBound bound{.mtu = 9000, .channels = 64};
  EXPECT_LT(make_plan(in)->total_bytes(), memory_bound_bytes(in.config, 2, {bound, bound}));
}

TEST(Plan, OneStalledWorkerCannotTakeTheWholeBudget) {
  const auto plan = make_plan(input(2, {.backlog_budget = 16'384}));
  EXPECT_EQ(plan->backlog_slots, 8'192U);
  const auto told = make_plan(input(2, {.backlog_slots = 1'024, .backlog_budget = 512}));
  EXPECT_THAT(told->notes, ElementsAre(HasSubstr("one stalled worker can take the room of all")));
}

TEST(Plan, TakesTheSlowestLinkForTheWorstQueueing) {
  auto in = input(2);
  in.ports[0].link_mbps = 1'000;
  in.ports[1].link_mbps = 10'000;
  const auto plan = make_plan(in);
  std::swap(in.ports[0].link_mbps, in.ports[1].link_mbps);
  EXPECT_EQ(make_plan(in)->worst_queueing_us, plan->worst_queueing_us);
  EXPECT_GT(plan->worst_queueing_us, 20'000U);
}

TEST(Plan, RefusesABridgeOverADriverThatMergesFragments) {
  auto in = input(2);
  in.config.bridges = {{.name = "br0", .ports = {"left", "right"}}};
  in.ports[1].merges_fragments = true;
  const auto plan = make_plan(in);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().text(), HasSubstr("the driver of right merges IPv4 fragments"));
}

TEST(Plan, RefusesABridgeOfUnequalMtus) {
  auto in = input(2);
  in.config.bridges = {{.name = "br0", .ports = {"left", "right"}}};
  in.ports[0].mtu = 9000;
  const auto plan = make_plan(in);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().text(),
              HasSubstr("bridge br0: left has an MTU of 9000 and right one of 1500"));
}

struct Refusal {
  SteeringConfig steering;
  const char* message;
};

TEST(CheckSteering, RefusesWhatThePlanCannotServe) {
  const auto plan = make_plan(input(4));
  const std::vector<Refusal> refusals = {
      {{.workers = {4}}, "steering.workers: there is no worker 4; allowed: 0-3"},
      {{.workers = {0, 1}, .weights = {1}}, "steering.weights: 1 weights for 2 workers"},
      {{.mode = SteeringMode::kNone, .workers = {1}},
       "RX lcore 0 is worker 0, which steering.workers leaves out"},
      {{.mode = SteeringMode::kSoftRss, .rss_buckets = 2},
       "worker 1 would get none of the 2 buckets"},
      {{.mode = SteeringMode::kSoftRss, .workers = {0, 1}, .weights = {1000, 1}},
       "worker 1 would get none of the 128 buckets"},
  };
  for (const Refusal& refusal : refusals) {
    const auto checked = check_steering(*plan, refusal.steering);
    ASSERT_FALSE(checked) << refusal.message;
    EXPECT_THAT(checked.error().text(), HasSubstr(refusal.message));
  }
}

TEST(CheckSteering, AcceptsEveryWorkerCountAndTwentyFourOf128Buckets) {
  const auto plan = make_plan(input(48));
  for (std::uint16_t count = 1; count <= 48; ++count) {
    SteeringConfig steering{.mode = SteeringMode::kSoftRss};
    for (std::uint16_t w = 0; w < count; ++w) steering.workers.push_back(w);
    EXPECT_TRUE(check_steering(*plan, steering)) << count;
  }
  EXPECT_THAT(plan->notes, IsEmpty());
}

}  // namespace
}  // namespace mqsteer
