// Single flows of a running box: pins, explanations, and that mqsim says the same.

#include "control/request.h"
#include "control/runtime_target.h"
#include "mqsim/simulation.h"
#include "null_box.h"
#include "support/deadline.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

namespace mqsteer::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

class FlowsTest : public ::testing::Test {
 protected:
  Json ask(const std::string& object, const std::string& command, const KeyValues& keys = {}) {
    return Json::parse(answer(target_, request_line({object, command, keys})));
  }
  Json ask_flow(const std::string& command, KeyValues keys = {}) {
    keys.merge(KeyValues{{"protocol", "tcp"}, {"from", "10.0.0.1:1234"}, {"to", "10.0.0.2:80"}});
    return ask("flow", command, keys);
  }
  std::string fault(const Json& reply) {
    return reply.contains("error") ? reply["error"]["what"].get<std::string>() : reply.dump();
  }
  /// A change of mode under overload is refused where the box does not drain in time.
  void set(const KeyValues& keys) {
    Json reply;
    ASSERT_TRUE(eventually(milliseconds{10'000}, [&] {
      reply = ask("steering", "set", keys);
      return !reply.contains("error");
    })) << reply;
  }

  NullBox box_;
  RuntimeTarget target_{*box_.runtime, {.version = "1", .config_path = {}, .read_file = {}}};
};

TEST_F(FlowsTest, APinIsExplainedAndUnpinningGivesTheFlowBackToItsBucket) {
  set({{"mode", "rfs"}});
  const Json before = ask_flow("explain");
  ASSERT_EQ(before["why"], "bucket") << before;
  EXPECT_EQ(before["forced"], false);
  const int other = 1 - before["desired"].get<int>();
  EXPECT_EQ(ask_flow("pin", {{"worker", std::to_string(other)}})["worker"], other);
  const Json pinned = ask_flow("explain");
  EXPECT_EQ(pinned["why"], "pin");
  EXPECT_EQ(pinned["forced"], true);
  EXPECT_EQ(pinned["desired"], other);
  EXPECT_EQ(pinned["hash"], before["hash"]);
  EXPECT_EQ(ask("flow", "show")["rfs"]["pins"], 1);
  EXPECT_EQ(ask_flow("unpin")["unpinned"], "tcp 10.0.0.1:1234 10.0.0.2:80");
  const Json after = ask_flow("explain");
  EXPECT_EQ(after["why"], "bucket");
  EXPECT_EQ(after["desired"], before["desired"]);
  EXPECT_TRUE(ask("flow", "show")["pins"].empty());
}

TEST_F(FlowsTest, APinWithoutAWorkerIsWhereTheFlowIsWanted) {
  set({{"mode", "rfs"}});
  const Json before = ask_flow("explain");
  EXPECT_EQ(ask_flow("pin")["worker"], before["desired"]);
  EXPECT_EQ(ask_flow("explain")["why"], "pin");
}

TEST_F(FlowsTest, PinsOutliveAChangeOfModeAndOfTheHash) {
  set({{"mode", "rfs"}});
  const int other = 1 - ask_flow("explain")["desired"].get<int>();
  ask_flow("pin", {{"worker", std::to_string(other)}});
  set({{"mode", "soft-rss"}});
  EXPECT_EQ(ask_flow("explain")["why"], "bucket");
  EXPECT_EQ(ask("flow", "show")["pins"].size(), 1U) << "they wait for rfs";
  EXPECT_TRUE(ask("flow", "show")["rfs"].is_null());
  set({{"mode", "rfs"}, {"symmetric", "off"}});
  EXPECT_EQ(ask_flow("explain")["why"], "pin");
  EXPECT_EQ(ask_flow("explain")["desired"], other);
}

TEST_F(FlowsTest, BothDirectionsArePinnedWhereSymmetric) {
  set({{"mode", "rfs"}});
  ask_flow("pin");
  const KeyValues back = {{"protocol", "tcp"}, {"from", "10.0.0.2:80"}, {"to", "10.0.0.1:1234"}};
  EXPECT_EQ(ask("flow", "explain", back)["why"], "pin");
  EXPECT_TRUE(ask("flow", "unpin", back).contains("unpinned"));
  EXPECT_TRUE(ask("flow", "show")["pins"].empty());
}

TEST_F(FlowsTest, PinsThatCannotBeAreRefusedWithTheReason) {
  EXPECT_THAT(fault(ask_flow("pin", {{"worker", "1"}})),
              StartsWith("flow pin: only mode rfs steers single flows"));
  set({{"mode", "rfs"}});
  EXPECT_THAT(fault(ask_flow("unpin")), HasSubstr("10.0.0.2:80 is not pinned"));
  EXPECT_THAT(fault(ask_flow("pin", {{"worker", "2"}})), StartsWith("there is no worker '2'"));
  EXPECT_THAT(fault(ask_flow("pin", {{"worker", "-1"}})),
              StartsWith("worker: '-1' is not a worker's number"));
  set({{"workers", "0"}});
  EXPECT_THAT(fault(ask_flow("pin", {{"worker", "1"}})), HasSubstr("worker 1 gets no flows"));
  EXPECT_TRUE(ask("flow", "show")["pins"].empty());
}

TEST_F(FlowsTest, APinToAWorkerThatGoesIsExplained) {
  set({{"mode", "rfs"}});
  ask_flow("pin", {{"worker", "1"}});
  ASSERT_TRUE(ask("worker", "abandon", {{"worker", "1"}}).contains("abandoned"));
  const Json gone = ask_flow("explain");
  EXPECT_EQ(gone["why"], "consumer_gone");
  EXPECT_EQ(gone["desired"], 0);
  ASSERT_TRUE(ask("worker", "restore", {{"worker", "1"}}).contains("restored"));
  EXPECT_EQ(ask_flow("explain")["why"], "pin");
}

TEST_F(FlowsTest, ExplanationsCoverEveryRxLcoreAndAllModes) {
  for (const char* mode : {"rps", "soft-rss", "rfs"}) {
    set({{"mode", mode}});
    const Json view = ask_flow("explain");
    EXPECT_EQ(view["mode"], mode);
    EXPECT_EQ(view["current"].size(), 2U) << view;
    EXPECT_LT(view["bucket"], view["buckets"]);
  }
  set({{"mode", "none"}});
  EXPECT_TRUE(ask_flow("explain")["desired"].is_null());
  EXPECT_TRUE(fault(ask_flow("pin")).starts_with("flow pin: only mode rfs"));
}

TEST_F(FlowsTest, TheBoxsOwnFlowIsAtTheWorkerThatItIsWantedAt) {
  // What net_null delivers is all zeros: a frame without IP, which no FlowTuple names. Its bucket
  // is in use all the same, so explain the table itself.
  const SteeringTable& table = box_.runtime->table();
  const std::array<std::byte, 64> frame{};
  const auto hash = table.hasher().explain(frame.data(), frame.size(), frame.size()).hash;
  const std::uint16_t wanted = table.desired_of(hash).worker();
  EXPECT_TRUE(eventually(milliseconds{5000}, [&] {
    return box_.runtime->snapshot().workers[wanted].packets > 10'000;
  }));
  EXPECT_EQ(box_.runtime->snapshot().workers[1U - wanted].packets, 0U);
}

TEST_F(FlowsTest, GuardAndOrderCheckAreSwitchedWhilePacketsFlow) {
  set({{"tx_guard", "on"}, {"order_check", "on"}});
  EXPECT_EQ(ask("steering", "show")["order_check"], true);
  EXPECT_TRUE(eventually(milliseconds{5000}, [&] {
    std::uint64_t checked = 0;
    const Json workers = ask("worker", "show")["workers"];
    for (const Json& worker : workers) checked += worker["order_checked"].get<std::uint64_t>();
    return checked > 1000;
  }));
  for (const Json& worker : ask("worker", "show")["workers"]) EXPECT_EQ(worker["reordered"], 0);
  set({{"tx_guard", "off"}, {"order_check", "off"}});
  EXPECT_EQ(ask("steering", "show")["tx_guard"], false);
}

/// mqsim's table for the box as it runs now.
std::unique_ptr<SteeringTable> simulated(const Runtime& runtime) {
  const SteeringConfig& steering = runtime.config().steering;
  std::uint32_t reta = 0;
  bool several = false;
  for (const auto& port : runtime.ports()) {
    reta = std::max<std::uint32_t>(reta, port->capabilities().reta_entries);
    several = several || port->rx_queues() > 1;
  }
  return sim::table_of({.mode = steering.mode,
                        .workers = static_cast<std::uint16_t>(runtime.plan().lcores.size()),
                        .symmetric = steering.symmetric,
                        .tunnels = steering.tunnels,
                        .rss_buckets = steering.rss_buckets,
                        .reta_entries = several ? reta : 0,
                        .rfs_flows = steering.rfs_flows});
}

TEST_F(FlowsTest, MqsimsTableIsTheRuntimes) {
  std::minstd_rand random{7};
  for (const char* mode : {"rps", "soft-rss", "rfs"}) {
    set({{"mode", mode}});
    const SteeringTable& ours = box_.runtime->table();
    const auto theirs = simulated(*box_.runtime);
    EXPECT_EQ(ours.shape().shift, theirs->shape().shift) << mode;
    EXPECT_EQ(ours.current_bits(), theirs->current_bits()) << mode;
    for (int i = 0; i < 1000; ++i) {
      const auto tuple = FlowTuple::parse("udp", "10.1.2.3:" + std::to_string(random() % 65536),
                                          "192.0.2.1:" + std::to_string(random() % 65536));
      const std::uint32_t hash = tuple.value().explain(ours.hasher()).hash;
      ASSERT_EQ(hash, tuple->explain(theirs->hasher()).hash) << mode;
      ASSERT_EQ(ours.bucket_of(hash), theirs->bucket_of(hash)) << mode;
      ASSERT_EQ(ours.desired_of(hash).worker(), theirs->desired_of(hash).worker()) << mode;
      ASSERT_EQ(box_.runtime->explain(*tuple).desired.value(), theirs->desired_of(hash).worker());
    }
  }
}

}  // namespace
}  // namespace mqsteer::test
