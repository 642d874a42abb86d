#include "control/rates.h"

#include "control/views.h"
#include "fake_target.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace mqsteer::test {
namespace {

using ::testing::HasSubstr;

/// Two answers half a second apart, in which 1,000 packets of 1,250 bytes came by.
class RatesTest : public ::testing::Test {
 protected:
  RatesTest() {
    before = stats_view(target.figures);
    PortFigures& left = target.figures.ports[0];
    left.counters.rx_packets += 1000;
    left.counters.rx_bytes += 1'250'000;
    left.queues[0].rx_packets += 1000;
    left.queues[0].rx_bytes += 1'250'000;
    left.counters.rx_missed += 5;
    WorkerFigures& worker = target.figures.workers[1];
    worker.packets += 600;
    worker.moves += 2;
    worker.busy_cycles += 300;
    worker.idle_cycles += 100;
    worker.drops[0] += 10;
    target.figures.totals.rx += 1000;
    target.figures.totals.drops[0] += 10;
    after = stats_view(target.figures);
    after["time_ns"] = before["time_ns"].get<std::int64_t>() + 500'000'000;
  }

  FakeTarget target;
  Json before;
  Json after;
};

TEST_F(RatesTest, AreGrowthPerSecond) {
  const auto rates = rates_between(before, after);
  ASSERT_TRUE(rates) << rates.error().text();
  EXPECT_EQ((*rates)["interval_ms"], 500);
  const Json& left = (*rates)["ports"][0];
  EXPECT_EQ(left["rx_pps"], 2000);
  EXPECT_EQ(left["rx_mbps"], 20.0);
  EXPECT_EQ(left["missed_pps"], 10);
  EXPECT_EQ(left["queues"][0]["rx_pps"], 2000);
  EXPECT_EQ(left["queues"][0]["rx_mbps"], 20.0);
  EXPECT_EQ((*rates)["ports"][1]["rx_pps"], 0);
  const Json& worker = (*rates)["workers"][1];
  EXPECT_EQ(worker["pps"], 1200);
  EXPECT_EQ(worker["moves_pps"], 4);
  EXPECT_EQ(worker["drops_pps"], 20);
  EXPECT_EQ(worker["busy_share"], 0.75);
  EXPECT_EQ(worker["backlog"], 101);
  EXPECT_EQ((*rates)["totals"]["rx_pps"], 2000);
}

TEST_F(RatesTest, HaveEveryDropReason) {
  const auto rates = rates_between(before, after);
  ASSERT_TRUE(rates);
  const Json& drops = (*rates)["totals"]["drops"];
  ASSERT_EQ(drops.size(), kDropReasons);
  const auto shown = rates_text(*rates, Paint{false});
  ASSERT_TRUE(shown);
  for (const std::string_view reason : kDropReasonNames) {
    EXPECT_TRUE(drops.contains(reason)) << reason;
    EXPECT_THAT(*shown, HasSubstr(std::string{reason} + ' '));
  }
  EXPECT_EQ(drops["backlog_full"], 20);
  EXPECT_THAT(*shown, HasSubstr("drops/s: backlog_full 20  "));
}

TEST_F(RatesTest, AreShownPerPortQueueAndWorker) {
  const auto rates = rates_between(before, after);
  ASSERT_TRUE(rates);
  const auto shown = rates_text(*rates, Paint{false});
  ASSERT_TRUE(shown) << shown.error().text();
  EXPECT_THAT(*shown, HasSubstr("left   all                 2000       20.0"));
  EXPECT_THAT(*shown, HasSubstr("       0              2    2000       20.0"));
  EXPECT_THAT(*shown, HasSubstr("right  link down              0        0.0"));
  EXPECT_THAT(*shown,
              HasSubstr("     1      3  listed  1200      101        4       0       20  75.0%"));
}

TEST_F(RatesTest, WhatLeftTheStraightWayIsALineWhereThereIsSomething) {
  const auto plain = rates_between(before, after);
  ASSERT_TRUE(plain);
  EXPECT_THAT(*rates_text(*plain, Paint{false}), ::testing::Not(HasSubstr("also:")));
  target.figures.workers[0].wrong_worker += 50;
  target.figures.workers[1].handed_over += 100;
  target.figures.workers[1].order_checked += 600;
  target.figures.workers[1].reordered += 1;
  const auto later = after["time_ns"];
  after = stats_view(target.figures);
  after["time_ns"] = later;
  const auto rates = rates_between(before, after);
  ASSERT_TRUE(rates);
  EXPECT_EQ((*rates)["workers"][0]["wrong_worker_pps"], 100);
  EXPECT_EQ((*rates)["workers"][1]["handed_over_pps"], 200);
  EXPECT_THAT(*rates_text(*rates, Paint{false}),
              HasSubstr("\nalso: wrong worker 100/s, handed over 200/s, order checked 1200/s, "
                        "reordered 2/s\n"));
}

TEST_F(RatesTest, ACounterThatRanBackwardsIsNoRate) {
  const auto rates = rates_between(after, [&] {
    Json earlier = before;
    earlier["time_ns"] = after["time_ns"].get<std::int64_t>() + 1'000'000;
    return earlier;
  }());
  ASSERT_TRUE(rates);
  EXPECT_EQ((*rates)["ports"][0]["rx_pps"], 0);
}

TEST_F(RatesTest, AnswersThatDoNotMatchAreRefused) {
  Json other = before;
  other["ports"].erase(1);
  EXPECT_THAT(rates_between(other, after).error().text(), HasSubstr("is not understood"));
  EXPECT_FALSE(rates_between(before, Json::object()));
  EXPECT_FALSE(rates_text(Json::object(), Paint{false}));
}

}  // namespace
}  // namespace mqsteer::test
