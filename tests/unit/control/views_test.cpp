#include "control/views.h"

#include "fake_target.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace mqsteer::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsSupersetOf;

std::vector<std::string> names_in(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

TEST(StatsView, HasTheMembersThatUsersRelyOn) {
  const Json stats = stats_view(FakeTarget{}.figures);
  EXPECT_THAT(names_in(stats), ElementsAre("ports", "workers", "fragments", "totals", "time_ns"));
  EXPECT_THAT(names_in(stats["ports"][0]),
              IsSupersetOf({"name", "device", "driver", "link", "rx_packets", "rx_bytes",
                            "rx_missed", "rx_nombuf", "tx_packets", "tx_bytes", "queues"}));
  EXPECT_THAT(names_in(stats["ports"][0]["queues"][0]),
              IsSupersetOf({"queue", "lcore", "rx_packets"}));
  EXPECT_THAT(names_in(stats["workers"][0]), IsSupersetOf({"worker", "lcore", "packets", "backlog",
                                                           "moves", "moves_held", "drops"}));
  EXPECT_THAT(names_in(stats["totals"]),
              IsSupersetOf({"rx", "originated", "copies", "tx", "consumed", "drops"}));
}

TEST(StatsView, PutsEachFigureUnderItsName) {
  const Json stats = stats_view(FakeTarget{}.figures);
  const Json& right = stats["ports"][1];
  EXPECT_EQ(right["name"], "right");
  EXPECT_EQ(right["link"], "down");
  EXPECT_EQ(right["rx_packets"], 2001);
  EXPECT_EQ(right["rx_bytes"], 2002);
  EXPECT_EQ(right["rx_missed"], 2003);
  EXPECT_EQ(right["rx_nombuf"], 2004);
  EXPECT_EQ(right["rx_errors"], 2005);
  EXPECT_EQ(right["tx_packets"], 2006);
  EXPECT_EQ(right["tx_bytes"], 2007);
  EXPECT_EQ(right["tx_errors"], 2008);
  EXPECT_EQ(right["queues"][0]["queue"], 0);
  EXPECT_EQ(right["queues"][0]["lcore"], 3);
  EXPECT_EQ(right["queues"][0]["rx_packets"], 2009);
  const Json& worker = stats["workers"][1];
  EXPECT_EQ(worker["worker"], 1);
  EXPECT_EQ(worker["lcore"], 3);
  EXPECT_EQ(worker["packets"], 100);
  EXPECT_EQ(worker["backlog"], 101);
  EXPECT_EQ(worker["moves"], 102);
  EXPECT_EQ(worker["moves_held"], 103);
}

TEST(StatsView, TotalsAreTheAccounts) {
  FakeTarget target;
  const Json totals = stats_view(target.figures)["totals"];
  EXPECT_EQ(totals["rx"], 5000);
  EXPECT_EQ(totals["originated"], 6);
  EXPECT_EQ(totals["copies"], 7);
  EXPECT_EQ(totals["tx"], 4000);
  EXPECT_EQ(totals["consumed"], 8);
  const std::uint64_t dropped = target.figures.totals.dropped();
  EXPECT_EQ(totals["unaccounted"], 5013 - 4008 - 2 - static_cast<std::int64_t>(dropped));
}

TEST(StatsView, HasEveryDropReasonByItsOneName) {
  const Json stats = stats_view(FakeTarget{}.figures);
  for (const Json& drops :
       {stats["totals"]["drops"], stats["workers"][0]["drops"], stats["workers"][1]["drops"]}) {
    EXPECT_THAT(names_in(drops), ElementsAreArray(kDropReasonNames));
  }
  for (std::size_t i = 0; i < kDropReasons; ++i) {
    EXPECT_EQ(stats["totals"]["drops"][std::string{kDropReasonNames[i]}], 70 + i);
    EXPECT_EQ(stats["workers"][1]["drops"][std::string{kDropReasonNames[i]}], 110 + i);
  }
}

TEST(StatsView, CarriesCountersAbove53Bits) {
  FakeTarget target;
  target.figures.totals.rx = UINT64_MAX;
  const Json read = Json::parse(stats_view(target.figures).dump());
  EXPECT_EQ(read["totals"]["rx"].get<std::uint64_t>(), UINT64_MAX);
}

TEST(PortsView, SaysWhatAPortReallyIs) {
  FakeTarget target;
  const Json ports = ports_view(target.figures, target.planned, target.port_notes())["ports"];
  EXPECT_EQ(ports[0]["description"], "net_null0: net_null, a virtual device");
  EXPECT_EQ(ports[0]["link_mbps"], 10'000);
  EXPECT_EQ(ports[0]["mtu"], 1500);
  EXPECT_EQ(ports[0]["rx_queues"], 1);
  EXPECT_EQ(ports[0]["rx_descriptors"], 1024);
  EXPECT_EQ(ports[0]["notes"], Json::array({"left: MTU cut down to 1500"}));
  EXPECT_EQ(ports[1]["notes"], Json::array());
}

TEST(QueuesView, NamesTheLcoreAndItsWorker) {
  FakeTarget target;
  const Json queues = queues_view(target.figures, target.planned)["queues"];
  ASSERT_EQ(queues.size(), 2U);
  EXPECT_EQ(queues[1], (Json{{"port", "right"},
                             {"queue", 0},
                             {"lcore", 3},
                             {"worker", 1},
                             {"rx_packets", 2009},
                             {"rx_bytes", 2010}}));
}

TEST(WorkersView, TellsStatesAndBusyShare) {
  FakeTarget target;
  target.figures.workers[0].listed = false;
  target.figures.workers[1].abandoned = true;
  const Json workers = workers_view(target.figures)["workers"];
  EXPECT_EQ(workers[0]["state"], "unlisted");
  EXPECT_EQ(workers[1]["state"], "abandoned");
  EXPECT_EQ(workers[0]["busy_share"], 0.25);
}

TEST(WorkersView, HasTheFiguresOfFlowsOrderAndHandlers) {
  FakeTarget target;
  WorkerFigures& worker = target.figures.workers[1];
  worker.wrong_worker = 31;
  worker.handed_over = 32;
  worker.taken_over = 33;
  worker.originated = 34;
  worker.order_checked = 35;
  worker.reordered = 36;
  worker.order_unjudged = 37;
  worker.handler = {{"transactions", 38}, {"resets_sent", 39}};
  for (const Json& view : {workers_view(target.figures), stats_view(target.figures)}) {
    const Json& shown = view["workers"][1];
    EXPECT_EQ(shown["wrong_worker"], 31);
    EXPECT_EQ(shown["handed_over"], 32);
    EXPECT_EQ(shown["taken_over"], 33);
    EXPECT_EQ(shown["originated"], 34);
    EXPECT_EQ(shown["order_checked"], 35);
    EXPECT_EQ(shown["reordered"], 36);
    EXPECT_EQ(shown["order_unjudged"], 37);
    EXPECT_EQ(shown["handler"], (Json{{"transactions", 38}, {"resets_sent", 39}}));
    EXPECT_EQ(view["workers"][0]["handler"], Json::object());
  }
}

TEST(PlanView, TellsRolesAndCosts) {
  FakeTarget target;
  target.running.steering.workers = {1};
  const Json plan = plan_view(target.planned, target.running.steering);
  EXPECT_EQ(plan["lcores"][0]["roles"], Json::array({"rx"}));
  EXPECT_EQ(plan["lcores"][1]["roles"], Json::array({"rx", "worker"}));
  EXPECT_EQ(plan["lcores"][1]["rx"], Json::array({{{"port", "right"}, {"queue", 0}}}));
  EXPECT_EQ(plan["backlog_slots"], 4096);
  EXPECT_EQ(plan["worst_queueing_us"], 4096);
  EXPECT_EQ(plan["total_bytes"], target.planned.total_bytes());
  EXPECT_EQ(plan["rfs_flows_bytes"], 1024);
  EXPECT_EQ(plan["buckets_per_rx_lcore"], 262144);
  EXPECT_EQ(plan["hand_over_slots"], 512);
  EXPECT_EQ(plan["handler_bytes"], 3U << 20U);
  EXPECT_EQ(plan["notes"].size(), 1U);
}

TEST(SteeringView, PairsWeightsWithTheListedWorkers) {
  FakeTarget target;
  target.running.steering = {.mode = SteeringMode::kSoftRss, .workers = {1, 0}, .weights = {5, 2}};
  const Json view = steering_view(target.running, target.figures, {});
  EXPECT_EQ(view["mode"], "soft-rss");
  EXPECT_EQ(view["hash_function"], "toeplitz");
  EXPECT_EQ(view["buckets"], 128);
  EXPECT_EQ(view["workers"][0]["weight"], 2);
  EXPECT_EQ(view["workers"][1]["weight"], 5);
  EXPECT_EQ(view["workers"][0]["share"], 0.75);
}

TEST(SteeringView, HasEverySettingOfTheMode) {
  FakeTarget target;
  target.running.steering = {.mode = SteeringMode::kRfs,
                             .fragments = Fragments::kTrack,
                             .balance = false,
                             .rfs_flows = 131072,
                             .tx_guard = true,
                             .order_check = true};
  target.figures.balanced = 12;
  const Json view = steering_view(target.running, target.figures, target.rfs_figures());
  EXPECT_EQ(view["mode"], "rfs");
  EXPECT_EQ(view["hash_function"], "fast");
  EXPECT_EQ(view["fragments"], "track");
  EXPECT_EQ(view["balance"], false);
  EXPECT_EQ(view["balanced"], 12);
  EXPECT_EQ(view["rfs_flows"], 131072);
  EXPECT_EQ(view["tx_guard"], true);
  EXPECT_EQ(view["order_check"], true);
  EXPECT_EQ(view["rfs"], (Json{{"entries", 262144}, {"used", 77}, {"displaced", 5}, {"pins", 0}}));
  target.running.steering.mode = SteeringMode::kRps;
  EXPECT_TRUE(steering_view(target.running, target.figures, target.rfs_figures())["rfs"].is_null());
}

TEST(ExplanationView, NamesTheHashFunctionOfTheMode) {
  FlowExplanation explanation = FakeTarget{}.explanation;
  EXPECT_EQ(explanation_view(explanation)["hash_function"], "fast");
  explanation.mode = SteeringMode::kSoftRss;
  EXPECT_EQ(explanation_view(explanation)["hash_function"], "toeplitz");
}

TEST(ConfigView, IsTheFileAsTextAndAsJson) {
  FakeTarget target;
  target.running.steering.weights = {3, 1};
  const Json view = config_view(target.running);
  EXPECT_EQ(view["config"]["instance"], "box");
  EXPECT_EQ(view["config"]["ports"][1]["device"], "net_null1");
  EXPECT_EQ(view["config"]["ports"][0]["rx_descriptors"], 1024);
  EXPECT_EQ(view["config"]["steering"]["symmetric"], true);
  EXPECT_THAT(view["yaml"].get<std::string>(), ::testing::HasSubstr("instance: box\n"));
}

}  // namespace
}  // namespace mqsteer::test
