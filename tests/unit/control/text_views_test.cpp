#include "control/text_views.h"

#include "control/views.h"
#include "fake_target.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace mqsteer::test {
namespace {

using ::testing::AllOf;
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
      "memory: 304.5 MiB (pools 300.0 MiB, backlogs 1.5 MiB, steering 2.0 KiB, handlers 3.0 MiB)\n"
      "steering keeps room for rfs: 1.0 KiB for where flows are consumed, twice for changes of the "
      "hash;\n"
      "  and 262144 buckets at each RX lcore, for where their packets are now\n"
      "hand-over: rings of 512 packets from each worker to each other\n"
      "note: right: 1 TX queue(s) for 2 workers: shared under a lock, taken once a burst\n");
}

TEST(TextViews, SteeringShowTellsShares) {
  FakeTarget target;
  target.running.steering.weights = {3, 1};
  EXPECT_EQ(text(CommandId::kSteeringShow, steering_view(target.running, target.figures, {})),
            "mode rps, hash software (fast), symmetric on, 4096 buckets\n"
            "tunnels inner, fragments key, flow limit off, TX guard off, order check off\n"
            "\n"
            "WORKER  LCORE  STATE   WEIGHT  BUCKETS  SHARE  PACKETS  SHARE\n"
            "     0      2  listed       3     2048  50.0%      300  75.0%\n"
            "     1      3  listed       1     2048  50.0%      100  25.0%\n"
            "\n"
            "buckets: max/mean 1.00, max/min 1.00\n"
            "packets: max/mean 1.50, max/min 3.00\n");
}

TEST(TextViews, SteeringShowHasWhatAModeHasOfItsOwn) {
  FakeTarget target;
  SteeringConfig& steering = target.running.steering;
  const auto shown = [&] {
    return text(CommandId::kSteeringShow,
                steering_view(target.running, target.figures, target.rfs_figures()));
  };
  steering.mode = SteeringMode::kSoftRss;
  steering.balance = false;
  target.figures.balanced = 12;
  EXPECT_THAT(shown(), HasSubstr("\nhash bits auto, balance off (12 buckets moved so far)\n"));
  steering.mode = SteeringMode::kRfs;
  steering.rfs_flows = 65536;
  steering.fragments = Fragments::kTrack;
  steering.tx_guard = true;
  steering.order_check = true;
  EXPECT_THAT(shown(), HasSubstr("fragments track, flow limit off, TX guard on, order check on\n"
                                 "fragments: 0 went with their flow, 0 by their addresses; 0 had "
                                 "to wait\n"
                                 "flows: room for 65536; 77 of 262144 places taken, 5 flows lost "
                                 "theirs to others, 0 pinned\n"));
}

TEST(TextViews, WorkerShowHasStateBusyAndEveryDrop) {
  FakeTarget target;
  target.figures.workers[1].abandoned = true;
  const std::string shown = text(CommandId::kWorkerShow, workers_view(target.figures));
  EXPECT_THAT(shown, HasSubstr("WORKER  LCORE  STATE      BUCKETS  PACKETS  BACKLOG  MOVES  HELD"));
  EXPECT_THAT(shown, HasSubstr("     1      3  abandoned     2048      100      101    102   103"));
  EXPECT_THAT(shown, AllOf(HasSubstr("BUSY SINCE START\n"), HasSubstr("25.0%\n")));
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

TEST(TextViews, WorkersHaveMoreTablesOnceThereIsSomethingInThem) {
  FakeTarget target;
  target.figures.workers[0].handler = {{"transactions", 0}};
  target.figures.workers[1].handler = {{"transactions", 0}};
  for (const auto command : {CommandId::kWorkerShow, CommandId::kStatsShow}) {
    const Json view = command == CommandId::kWorkerShow ? workers_view(target.figures)
                                                        : stats_view(target.figures);
    EXPECT_THAT(text(command, view),
                Not(ContainsRegex("REORDERED|HANDLER|HANDED|WRONG|ORIGINATED")));
  }
}

TEST(TextViews, HopsAreATableOfThoseThatThereAre) {
  FakeTarget target;
  target.figures.workers[0].handed_over = 21;
  target.figures.workers[1].taken_over = 20;
  EXPECT_THAT(text(CommandId::kStatsShow, stats_view(target.figures)),
              HasSubstr("\nWORKER  HANDED OVER  TAKEN OVER\n"
                        "     0           21           0\n"
                        "     1            0          20\n"));
}

TEST(TextViews, TheOrderCheckTellsThatNothingWasReordered) {
  FakeTarget target;
  target.figures.workers[0].order_checked = 900;
  target.figures.workers[1].order_checked = 800;
  EXPECT_THAT(text(CommandId::kWorkerShow, workers_view(target.figures)),
              HasSubstr("\nWORKER  ORDER CHECKED  REORDERED  UNJUDGED\n"
                        "     0            900          0         0\n"
                        "     1            800          0         0\n"));
  target.figures.workers[1].reordered = 3;
  const auto red = text_of(CommandId::kWorkerShow, workers_view(target.figures), Paint{true});
  EXPECT_THAT(red.value(), HasSubstr("\x1b[31m3\x1b[0m"));
}

TEST(TextViews, HandlersHaveARowForEachOfTheirFigures) {
  FakeTarget target;
  target.figures.workers[0].handler = {{"transactions", 5}, {"retransmits", 0}};
  target.figures.workers[1].handler = {{"transactions", 7}, {"retransmits", 0}};
  const std::string shown = text(CommandId::kWorkerShow, workers_view(target.figures));
  EXPECT_THAT(shown, ContainsRegex("HANDLER +TOTAL +WORKER 0 +WORKER 1\ntransactions +12 +5 +7\n"));
  EXPECT_THAT(shown, Not(HasSubstr("retransmits"))) << "0 everywhere";
  while (target.figures.workers.size() < 64) {
    target.figures.workers.push_back(target.figures.workers.back());
  }
  EXPECT_THAT(text(CommandId::kWorkerShow, workers_view(target.figures)),
              ContainsRegex("HANDLER +TOTAL\ntransactions +446\n"));
}

TEST(TextViews, FlowExplainIsABlockToRead) {
  FakeTarget target;
  FlowExplanation explanation = target.explanation;
  explanation.flow = *FlowTuple::parse("tcp", "10.0.0.1:1234", "10.0.0.2:80");
  explanation.key = explanation.flow.explain(FlowHasher{{}}).dissection.key;
  EXPECT_EQ(
      text(CommandId::kFlowExplain, explanation_view(explanation)),
      "flow:    tcp 10.0.0.1:1234 10.0.0.2:80\n"
      "key:     tcp, 10.0.0.1:1234 10.0.0.2:80\n"
      "hash:    0x1234abcd (fast)\n"
      "mode:    rfs\n"
      "bucket:  291 of 4096\n"
      "wanted:  at worker 1, where it was last consumed\n"
      "moves:   when nothing of it is outstanding at the old worker, where it stays until then\n"
      "\n"
      "RX LCORE  WORKER NOW  STATE\n"
      "       2           0  packets of it are outstanding there\n"
      "       3           -  no packet of its bucket yet\n");
}

TEST(TextViews, FlowExplainHasWordsForEveryReasonAndState) {
  FlowExplanation explanation = FakeTarget{}.explanation;
  const auto shown = [&] { return text(CommandId::kFlowExplain, explanation_view(explanation)); };
  explanation.why = DesiredBy::kBucket;
  EXPECT_THAT(shown(), HasSubstr("worker 1, its bucket's worker\n"));
  explanation.why = DesiredBy::kConsumerGone;
  EXPECT_THAT(shown(), HasSubstr("pinned to gets no flows\n"));
  explanation.why = DesiredBy::kPin;
  explanation.forced = true;
  explanation.current = {{LcoreId{2}, 0xffff, false, true}, {LcoreId{3}, 1, true, false}};
  EXPECT_THAT(shown(), HasSubstr("worker 1, it is pinned there\nmoves:   at once; "));
  EXPECT_THAT(shown(), HasSubstr("       2           -  its packets are held here until "));
  EXPECT_THAT(shown(), HasSubstr("       3           1  nothing of it is outstanding there\n"));
}

std::string moves_of(const FlowExplanation& explanation, const Snapshot& snapshot = {}) {
  return explanation_view(explanation, snapshot).at("moves").get<std::string>();
}

TEST(TextViews, FlowExplainTellsTheDrainRule) {
  FlowExplanation flow = FakeTarget{}.explanation;  // wanted at worker 1, now at 0
  Snapshot snapshot = FakeTarget{}.figures;
  EXPECT_EQ(moves_of(flow, snapshot), "drained") << "a consumer never forces";
  snapshot.workers[0].abandoned = true;
  EXPECT_EQ(moves_of(flow, snapshot), "held") << "off a worker that gets no flows";
  flow.mode = SteeringMode::kRps;
  EXPECT_EQ(moves_of(flow, snapshot), "drained") << "outside rfs the share says it";
  flow.forced = true;
  EXPECT_EQ(moves_of(flow), "held");
  flow.current[0].worker = 1;
  EXPECT_EQ(moves_of(flow), "settled") << "forced or not";
  EXPECT_THAT(text(CommandId::kFlowExplain, explanation_view(flow)),
              HasSubstr("moves:   not now: it is where it should be"));
  flow.current[1].held = true;
  EXPECT_EQ(moves_of(flow), "held");
}

TEST(TextViews, FlowUnpinSaysWhatTheFlowFollowsNow) {
  EXPECT_EQ(text(CommandId::kFlowUnpin, {{"unpinned", "x"}, {"mode", "rfs"}}),
            "x follows its consumer again\n");
  EXPECT_EQ(text(CommandId::kFlowUnpin, {{"unpinned", "x"}, {"mode", "soft-rss"}}),
            "x is pinned no more; mode soft-rss steers it by its bucket, as before\n");
}

TEST(TextViews, SteeringSetTellsBucketsThatMovedFromATableMadeAnew) {
  FakeTarget target;
  const auto shown = [&](bool anew) {
    Json view = {{"changed_buckets", 1024}, {"new_table", anew}};
    view.update(steering_view(target.running, target.figures, {}));
    return text(CommandId::kSteeringSet, view);
  };
  EXPECT_THAT(shown(false), HasSubstr("1024 of 4096 buckets changed their worker\n\n"));
  EXPECT_THAT(shown(true), HasSubstr("a new table of 4096 buckets, in the shares below\n\n"));
  target.running.steering.mode = SteeringMode::kNone;
  EXPECT_THAT(shown(true), HasSubstr("no buckets any more: a packet stays"));
}

TEST(TextViews, SteeringShowCountsFragmentsThatAreTracked) {
  FakeTarget target;
  const auto shown = [&] {
    return text(CommandId::kSteeringShow, steering_view(target.running, target.figures, {}));
  };
  target.figures.fragments = {.tracked = 11, .missed = 2, .held = 3};
  EXPECT_THAT(shown(), Not(HasSubstr("went with their flow")));
  target.running.steering.fragments = Fragments::kTrack;
  EXPECT_THAT(shown(),
              HasSubstr("fragments: 11 went with their flow, 2 by their addresses; 3 had"));
}

TEST(TextViews, FlowExplainOfModeNoneWantsNothing) {
  FlowExplanation explanation{.mode = SteeringMode::kNone, .hash = 7};
  const Json view = explanation_view(explanation);
  for (const char* name : {"bucket", "desired", "why", "forced", "moves"}) {
    EXPECT_TRUE(view.at(name).is_null()) << name;
  }
  EXPECT_THAT(text(CommandId::kFlowExplain, view),
              HasSubstr("mode:    none\nworker:  that of the lcore which receives it"));
}

TEST(TextViews, FlowShowListsPinsAndTheTable) {
  FakeTarget target;
  EXPECT_EQ(text(CommandId::kFlowShow, flows_view({}, {})),
            "mode rfs is off: no flow is remembered, and pins wait for it\nno flow is pinned\n");
  const FlowPin pin{*FlowTuple::parse("udp", "[fd00::1]:53", "[fd00::2]:5353"), WorkerId{1}};
  RfsFigures rfs = target.rfs;
  rfs.pins = 1;
  EXPECT_EQ(text(CommandId::kFlowShow, flows_view({{pin}}, rfs)),
            "flows: 77 of 262144 places taken, 5 flows lost theirs to others, 1 pinned\n"
            "\n"
            "PINNED FLOW                      WORKER  STATE\n"
            "udp [fd00::1]:53 [fd00::2]:5353       1  pinned\n");
  const auto state = [&](DesiredBy why, const RfsFigures& figures) {
    return text(CommandId::kFlowShow, flows_view({{pin, why}}, figures));
  };
  EXPECT_THAT(state(DesiredBy::kBucket, {}), HasSubstr("1  waits for mode rfs\n"));
  EXPECT_THAT(state(DesiredBy::kBucket, rfs),
              HasSubstr("1  no effect: other pins have its places"));
  EXPECT_THAT(state(DesiredBy::kConsumerGone, rfs),
              HasSubstr("no effect: the worker gets no flow"));
}

TEST(TextViews, StatsShowHasFragmentsWhereTheyAreTracked) {
  FakeTarget target;
  EXPECT_THAT(text(CommandId::kStatsShow, stats_view(target.figures)), Not(HasSubstr("fragments")));
  target.figures.fragments = {.tracked = 11, .missed = 2, .held = 3};
  EXPECT_THAT(text(CommandId::kStatsShow, stats_view(target.figures)),
              HasSubstr("fragments: 11 went with their flow, 2 by their addresses; 3 had to wait"));
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
  for (const auto command :
       {CommandId::kPortShow, CommandId::kStatsShow, CommandId::kSteeringShow, CommandId::kPlanShow,
        CommandId::kVersion, CommandId::kWorkerShow, CommandId::kFlowExplain, CommandId::kFlowPin,
        CommandId::kFlowUnpin, CommandId::kFlowShow}) {
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
