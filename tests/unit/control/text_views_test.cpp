#include "control/text_views.h"

#include "control/views.h"
#include "fake_target.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace mqsteer::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string text(CommandId command, const Json& answer) {
  return text_of(command, answer, Paint{false}).value_or("error");
}

void expect_every_reason(const std::string& shown) {
  for (const std::string_view reason : kDropReasonNames) {
    EXPECT_THAT(shown, HasSubstr(std::string{reason}));
  }
}

TEST(TextViews, PortShowSaysWhatPortsAre) {
  FakeTarget target;
  EXPECT_EQ(
      text(CommandId::kPortShow, ports_view(target.figures, target.planned, target.port_notes())),
      "PORT   LINK  RX PACKETS  RX BYTES  MISSED  NOMBUF  ERRORS  TX PACKETS  TX BYTES  ERRORS\n"
      "left   up          1001      1002    1003    1004    1005        1006      1007    1008\n"
      "right  down        2001      2002    2003    2004    2005        2006      2007    2008\n"
      "\n"
      "PORT   LINK  MBIT/S   MTU  RX QUEUES  TX QUEUES  RX DESCR  TX DESCR  DEVICE\n"
      "left   up     10000  1500          1          2      1024      1024  net_null0: net_null, a "
      "virtual device\n"
      "right  down       -  1500          1          2      1024      1024  net_null0: net_null, a "
      "virtual device\n"
      "note: left: MTU cut down to 1500\n");
}

TEST(TextViews, QueueShowIsOneTable) {
  FakeTarget target;
  EXPECT_EQ(text(CommandId::kQueueShow, queues_view(target.figures, target.planned)),
            "PORT   QUEUE  LCORE  WORKER  RX PACKETS  RX BYTES\n"
            "left       0      2       0        1009      1010\n"
            "right      0      3       1        2009      2010\n");
}

TEST(TextViews, PlanShowTellsRolesMemoryAndDelay) {
  FakeTarget target;
  EXPECT_EQ(
      text(CommandId::kPlanShow, plan_view(target.planned, target.running.steering)),
      "LCORE  WORKER  ROLES       RX QUEUES  MBUFS  BYTES OF EACH\n"
      "    2       0  rx, worker  left:0     70000           2176\n"
      "    3       1  rx, worker  right:0    70000           2176\n"
      "\n"
      "PORT   RX QUEUES  TX QUEUES  RX DESCR  TX DESCR  TX\n"
      "left           1          2      1024      1024  a queue each\n"
      "right          1          1      1024      1024  shared, under a lock\n"
      "\n"
      "backlog: 4096 packets between an RX lcore and a worker, 65536 in flight per RX lcore\n"
      "worst queueing time: 4.096 ms, at 1000 ns a packet (assumed: no link speed is known)\n"
      "memory: 301.5 MiB (pools 300.0 MiB, backlogs 1.5 MiB, steering 2.0 KiB, handlers 0 B)\n"
      "rfs: 0 B for where flows are consumed, 65536 buckets at each RX lcore\n"
      "note: right: 1 TX queue(s) for 2 workers: shared under a lock, taken once a burst\n");
}

TEST(TextViews, SteeringShowTellsShares) {
  FakeTarget target;
  target.running.steering.weights = {3, 1};
  EXPECT_EQ(
      text(CommandId::kSteeringShow, steering_view(target.running, target.figures)),
      "mode rps, hash software (fast), symmetric on, tunnels inner, fragments key, flow limit "
      "off, TX guard off, order check off, 4096 buckets\n"
      "\n"
      "WORKER  LCORE  STATE   WEIGHT  BUCKETS  SHARE  PACKETS  SHARE\n"
      "     0      2  listed       3     2048  50.0%      300  75.0%\n"
      "     1      3  listed       1     2048  50.0%      100  25.0%\n"
      "\n"
      "buckets: max/mean 1.00, max/min 1.00\n"
      "packets: max/mean 1.50, max/min 3.00\n");
}

TEST(TextViews, WorkerShowHasStateBusyAndEveryDrop) {
  FakeTarget target;
  target.figures.workers[1].abandoned = true;
  const std::string shown = text(CommandId::kWorkerShow, workers_view(target.figures));
  EXPECT_THAT(shown, HasSubstr("WORKER  LCORE  STATE      BUCKETS  PACKETS  BACKLOG  MOVES  HELD"));
  EXPECT_THAT(shown, HasSubstr("     1      3  abandoned     2048      100      101    102   103"));
  EXPECT_THAT(shown, HasSubstr("25.0%\n"));
  expect_every_reason(shown);
}

TEST(TextViews, ManyWorkersHaveTheirDropsInRows) {
  FakeTarget target;
  while (target.figures.workers.size() < 64) {
    target.figures.workers.push_back(target.figures.workers.back());
  }
  const std::string shown = text(CommandId::kWorkerShow, workers_view(target.figures));
  EXPECT_THAT(shown, HasSubstr("WORKER  backlog_full  backlog_budget  flow_limit"));
  expect_every_reason(shown);
  const std::string stats = text(CommandId::kStatsShow, stats_view(target.figures));
  EXPECT_THAT(stats, ContainsRegex("DROPS BY REASON +TOTAL\n"));
}

TEST(TextViews, WorkerShowHasWhatHandlersAndTheOrderCheckCountOnceThereIsSomething) {
  FakeTarget target;
  EXPECT_THAT(text(CommandId::kWorkerShow, workers_view(target.figures)),
              Not(ContainsRegex("REORDERED|HANDLER")));
  target.figures.workers[1].reordered = 3;
  target.figures.workers[0].handler = {{"transactions", 5}, {"retransmits", 0}};
  target.figures.workers[1].handler = {{"transactions", 7}, {"retransmits", 0}};
  const std::string shown = text(CommandId::kWorkerShow, workers_view(target.figures));
  EXPECT_THAT(shown, HasSubstr("WORKER  REORDERED\n     0          0\n     1          3\n"));
  EXPECT_THAT(shown, ContainsRegex("transactions +5 +7\n"));
  EXPECT_THAT(shown, Not(HasSubstr("retransmits"))) << "0 everywhere";
}

TEST(TextViews, StatsShowBalancesTheAccounts) {
  FakeTarget target;
  const std::string shown = text(CommandId::kStatsShow, stats_view(target.figures));
  expect_every_reason(shown);
  const std::string dropped = std::to_string(target.figures.totals.dropped());
  EXPECT_THAT(shown, HasSubstr("accounts: rx 5000 + originated 6 + copies 7 = tx 4000 + consumed 8 "
                               "+ drops " +
                               dropped + " + in flight 2"));
}

TEST(TextViews, ConfigDiffSaysWhatTakesAChangeOver) {
  FakeTarget target;
  Config file = target.running;
  Json answer = {{"path", "/etc/box.yaml"}};
  answer.update(config_diff_view(target.running, file));
  EXPECT_EQ(text(CommandId::kConfigDiff, answer), "no difference: it runs as /etc/box.yaml says\n");
  file.steering.mode = SteeringMode::kNone;
  file.hugepages = Hugepages::kOff;
  answer.update(config_diff_view(target.running, file));
  EXPECT_EQ(text(CommandId::kConfigDiff, answer),
            "/etc/box.yaml:\n"
            "KEY            RUNNING  FILE  TAKEN OVER BY\n"
            "hugepages      auto     off   a restart\n"
            "steering.mode  rps      none  a reload\n");
}

TEST(TextViews, ColourMarksWhatIsWrong) {
  FakeTarget target;
  const auto shown =
      text_of(CommandId::kPortShow, ports_view(target.figures, target.planned, {}), Paint{true});
  ASSERT_TRUE(shown);
  EXPECT_THAT(*shown, HasSubstr("\x1b[32mup\x1b[0m"));
  EXPECT_THAT(*shown, HasSubstr("\x1b[31mdown\x1b[0m"));
  EXPECT_THAT(*shown, HasSubstr("\x1b[31m1003\x1b[0m"));
}

TEST(TextViews, AnAnswerOfAnotherVersionIsSaidToBeOne) {
  for (const auto command : {CommandId::kPortShow, CommandId::kStatsShow, CommandId::kSteeringShow,
                             CommandId::kPlanShow, CommandId::kVersion, CommandId::kWorkerShow}) {
    for (const char* answer : {"{}", R"({"ports":7,"workers":null,"lcores":"x"})",
                               R"({"ports":[{}],"workers":[{}],"totals":[]})"}) {
      const auto shown = text_of(command, Json::parse(answer), Paint{false});
      ASSERT_FALSE(shown) << answer;
      EXPECT_THAT(shown.error().text(), HasSubstr("should be of one version"));
    }
  }
}

}  // namespace
}  // namespace mqsteer::test
