#include "control/commands.h"

#include "config/config_file.h"
#include "control/command_table.h"
#include "control/request.h"
#include "fake_target.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace mqsteer::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

class CommandsTest : public ::testing::Test {
 protected:
  Json ask(const std::string& object, const std::string& command, const KeyValues& keys = {}) {
    return Json::parse(answer(target, request_line({object, command, keys})));
  }
  /// What a command that must fail says: "WHAT | ALLOWED".
  std::string fault(const std::string& object, const std::string& command,
                    const KeyValues& keys = {}) {
    const Json reply = ask(object, command, keys);
    if (!reply.contains("error")) return "no error: " + reply.dump();
    return reply["error"]["what"].get<std::string>() + " | " +
           reply["error"]["allowed"].get<std::string>();
  }

  FakeTarget target;
};

TEST_F(CommandsTest, EveryCommandOfTheDaemonAnswers) {
  target.facts.config_path = "/etc/mqsteer/mqsteer.yaml";
  target.facts.read_file = [&] { return target.running; };
  for (const CommandSpec& spec : command_table()) {
    if (spec.in_client) continue;
    KeyValues keys;
    if (spec.needed == KeysNeeded::kAll) keys = {{"worker", "1"}};
    if (spec.needed == KeysNeeded::kOne) keys = {{"mode", "rps"}};
    if (!spec.words.empty()) {
      keys = {{"protocol", "tcp"}, {"from", "10.0.0.1:1"}, {"to", "10.0.0.2:2"}};
    }
    const Json reply = ask(std::string{spec.object}, std::string{spec.command}, keys);
    EXPECT_FALSE(reply.contains("error")) << spec.name() << ": " << reply.dump();
    EXPECT_FALSE(reply.empty()) << spec.name();
  }
}

TEST_F(CommandsTest, RepliesAreOneLine) {
  target.running.capture.filter = "a\nb";
  const std::string line = answer(target, R"({"object":"config","command":"show"})");
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST_F(CommandsTest, UnknownWordsAreAnsweredWithWhatWasExpected) {
  EXPECT_EQ(fault("worker", "shwo"),
            "'shwo' is not a command of worker, perhaps show | abandon, restore, show");
  EXPECT_THAT(fault("steering", "set", {{"bits", "4"}}), StartsWith("'bits' is not a key of"));
  EXPECT_THAT(fault("top", ""), HasSubstr("is made by mqsteerctl"));
}

TEST_F(CommandsTest, SteeringSetTakesAnySubset) {
  const Json reply =
      ask("steering", "set", {{"mode", "soft-rss"}, {"rss_buckets", "256"}, {"flow_limit", "on"}});
  EXPECT_EQ(reply["changed_buckets"], 1024);
  EXPECT_EQ(reply["mode"], "soft-rss");
  EXPECT_EQ(target.running.steering.rss_buckets, 256U);
  EXPECT_TRUE(target.running.steering.flow_limit);
  EXPECT_TRUE(target.running.steering.symmetric);
}

TEST_F(CommandsTest, SteeringSetChangesAllOrNothing) {
  const Config before = target.running;
  EXPECT_EQ(
      fault("steering", "set", {{"mode", "none"}, {"weights", "1,x"}, {"workers", "0,1"}}),
      "steering.weights: 'x' is not a whole decimal number | equal, or a weight 1..1000 for each "
      "worker such as 3,1");
  EXPECT_EQ(target.running, before);
  EXPECT_EQ(target.sets, 0);
}

TEST_F(CommandsTest, SteeringSetRefusesWhatCannotBe) {
  for (const KeyValues& keys : {KeyValues{{"mode", "fast"}},
                                {{"mode", ""}},
                                {{"workers", "0,0"}},
                                {{"rss_buckets", "100"}},
                                {{"rss_buckets", "99999999999999999999999"}},
                                {{"weights", "0,1"}},
                                {{"weights", "-1"}},
                                {{"tunnels", "sideways"}},
                                {{"symmetric", "2"}},
                                {{"workers", "1,2"}, {"weights", "1"}},
                                {{"mode", std::string{"rps\0", 4}}}}) {
    EXPECT_THAT(fault("steering", "set", keys), StartsWith("steering.")) << keys.begin()->second;
  }
  EXPECT_EQ(target.sets, 0);
}

KeyValues flow_keys(KeyValues more = {}) {
  more.merge(KeyValues{{"protocol", "tcp"}, {"from", "10.0.0.1:1234"}, {"to", "10.0.0.2:80"}});
  return more;
}

TEST_F(CommandsTest, FlowExplainTellsWhereAndWhy) {
  const auto view = ask("flow", "explain", flow_keys());
  EXPECT_EQ(view.at("flow"), "tcp 10.0.0.1:1234 10.0.0.2:80");
  EXPECT_EQ(view.at("hash"), "0x1234abcd");
  EXPECT_EQ(view.at("desired"), 1);
  EXPECT_EQ(view.at("why"), "consumer");
  EXPECT_EQ(view.at("current").size(), 2U);
  EXPECT_TRUE(view.at("current")[1].at("worker").is_null());
}

TEST_F(CommandsTest, FlowPinTakesAWorkerOrWhereTheFlowIsWanted) {
  target.running.steering.mode = SteeringMode::kRfs;
  EXPECT_EQ(ask("flow", "pin", flow_keys({{"worker", "0"}})).at("worker"), 0);
  EXPECT_EQ(ask("flow", "pin", flow_keys()).at("worker"), 1);
  EXPECT_EQ(ask("flow", "show").at("pins").size(), 2U);
  EXPECT_EQ(ask("flow", "show").at("rfs").at("used"), 77);
  ask("flow", "unpin", flow_keys());
  EXPECT_TRUE(ask("flow", "show").at("pins").empty());
}

TEST_F(CommandsTest, FlowsThatAreNoneAreRefused) {
  EXPECT_THAT(fault("flow", "pin", flow_keys({{"worker", "9"}})),
              StartsWith("there is no worker '9'"));
  KeyValues keys = flow_keys();
  keys["protocol"] = "icmp";
  EXPECT_THAT(fault("flow", "explain", keys), StartsWith("'icmp' is not a protocol with ports"));
  keys = flow_keys();
  keys["to"] = "10.0.0.2";
  EXPECT_THAT(fault("flow", "explain", keys), StartsWith("'10.0.0.2' has no port"));
  keys["to"] = "[fd00::1]:80";
  EXPECT_THAT(fault("flow", "explain", keys), StartsWith("one end is IPv4 and the other IPv6"));
}

TEST_F(CommandsTest, APinThatTheTableHasNoPlaceForIsShownWithoutEffect) {
  target.running.steering.mode = SteeringMode::kRfs;
  ask("flow", "pin", flow_keys());
  target.explanation.why = DesiredBy::kPin;
  EXPECT_EQ(ask("flow", "show")["pins"][0]["state"], "pinned");
  target.explanation.why = DesiredBy::kConsumer;  // a new table did not take it
  EXPECT_EQ(ask("flow", "show")["pins"][0]["state"], "no_place");
  target.running.steering.mode = SteeringMode::kSoftRss;
  EXPECT_EQ(ask("flow", "show")["pins"][0]["state"], "waits");
}

TEST_F(CommandsTest, WhatIsMalformedForEveryBoxIsToldFromWhatThisOneRefuses) {
  const auto malformed = [&](const std::string& object, const std::string& command,
                             const KeyValues& keys) {
    return ask(object, command, keys).at("error").contains("malformed");
  };
  EXPECT_TRUE(malformed("steering", "set", {{"weights", "x"}}));
  EXPECT_FALSE(malformed("steering", "set", {{"weights", "1"}})) << "there are two workers";
  EXPECT_TRUE(malformed("worker", "abandon", {{"worker", "one"}}));
  EXPECT_FALSE(malformed("worker", "abandon", {{"worker", "2"}}));
  EXPECT_TRUE(malformed("flow", "pin", flow_keys({{"worker", ""}})));
  EXPECT_TRUE(malformed("worker", "shwo", {}));
  target.refusal = "not now";
  EXPECT_FALSE(malformed("flow", "pin", flow_keys()));
}

TEST_F(CommandsTest, WeightsThatDoNotFitTheWorkersAreRefusedWithWhatDoes) {
  EXPECT_EQ(
      fault("steering", "set", {{"weights", "1"}}),
      "steering.weights: 1 weights do not fit 2 workers | weights=equal, or a weight for each "
      "worker");
  EXPECT_EQ(target.sets, 0);
}

TEST_F(CommandsTest, SteeringSetSaysWhetherTheTableIsMadeAnew) {
  EXPECT_EQ(ask("steering", "set", {{"weights", "3,1"}})["new_table"], false);
  EXPECT_EQ(ask("steering", "set", {{"rss_buckets", "256"}})["new_table"], false) << "under rps";
  EXPECT_EQ(ask("steering", "set", {{"fragments", "track"}})["new_table"], true);
  EXPECT_EQ(ask("steering", "set", {{"mode", "soft-rss"}})["new_table"], true);
  EXPECT_EQ(ask("steering", "set", {{"rss_buckets", "512"}})["new_table"], true);
}

TEST_F(CommandsTest, TheRuntimesRefusalOfAPinReachesTheUser) {
  target.refusal = "flow pin: only mode rfs steers single flows; mqsteerctl steering set mode=rfs";
  EXPECT_EQ(fault("flow", "pin", flow_keys()), *target.refusal + " | ");
  EXPECT_EQ(fault("flow", "unpin", flow_keys()), *target.refusal + " | ");
  EXPECT_TRUE(target.pinned.empty());
}

TEST_F(CommandsTest, AFlowWithAWordMissingIsRefusedByTheDaemonToo) {
  EXPECT_EQ(fault("flow", "explain", {{"protocol", "tcp"}, {"to", "10.0.0.2:80"}}),
            "flow explain: FROM is missing | PROTOCOL FROM TO");
  EXPECT_THAT(fault("flow", "unpin", flow_keys({{"worker", "1"}})),
              StartsWith("'worker' is not a key of flow unpin"));
}

TEST_F(CommandsTest, SteeringSetTakesTheKeysOfRfsAndOfOrder) {
  const Json reply = ask("steering", "set",
                         {{"mode", "rfs"},
                          {"fragments", "track"},
                          {"balance", "off"},
                          {"tx_guard", "on"},
                          {"order_check", "on"}});
  EXPECT_EQ(reply["mode"], "rfs") << reply;
  const SteeringConfig& steering = target.running.steering;
  EXPECT_EQ(steering.mode, SteeringMode::kRfs);
  EXPECT_EQ(steering.fragments, Fragments::kTrack);
  EXPECT_FALSE(steering.balance);
  EXPECT_TRUE(steering.tx_guard);
  EXPECT_TRUE(steering.order_check);
  EXPECT_THAT(fault("steering", "set", {{"fragments", "drop"}}), StartsWith("steering.fragments"));
}

TEST_F(CommandsTest, SteeringSetSaysThatOldWeightsDoNotFitNewWorkers) {
  target.running.steering.workers = {0, 1};
  target.running.steering.weights = {3, 1};
  EXPECT_EQ(fault("steering", "set", {{"workers", "1"}}),
            "steering.weights: the 2 weights set before do not fit 1 workers | weights=equal, or "
            "a weight for each worker");
  EXPECT_TRUE(ask("steering", "set", {{"workers", "1"}, {"weights", "equal"}}).contains("mode"));
}

TEST_F(CommandsTest, TheRuntimesRefusalReachesTheUser) {
  target.refusal = "steering: worker 1 (lcore 3) still has 7 packets after 100 ms";
  const Config before = target.running;
  EXPECT_EQ(fault("steering", "set", {{"mode", "none"}}), *target.refusal + " | ");
  EXPECT_EQ(fault("worker", "abandon", {{"worker", "1"}}), *target.refusal + " | ");
  EXPECT_EQ(fault("worker", "restore", {{"worker", "1"}}), *target.refusal + " | ");
  EXPECT_EQ(target.running, before);
}

TEST_F(CommandsTest, WorkersAreAbandonedAndTakenInAgain) {
  EXPECT_EQ(ask("worker", "abandon", {{"worker", "1"}})["abandoned"], 1);
  EXPECT_EQ(ask("worker", "show")["workers"][1]["state"], "abandoned");
  EXPECT_EQ(ask("worker", "restore", {{"worker", "1"}})["restored"], 1);
  EXPECT_EQ(ask("worker", "show")["workers"][1]["state"], "listed");
}

TEST_F(CommandsTest, AWorkerThatIsNotThereIsNeverReachedFor) {
  for (const char* number : {"2", "65536"}) {
    EXPECT_THAT(fault("worker", "abandon", {{"worker", number}}), StartsWith("there is no worker "))
        << number;
  }
  for (const char* text : {"-1", "18446744073709551616", "one", ""}) {
    EXPECT_THAT(fault("worker", "abandon", {{"worker", text}}),
                HasSubstr(" is not a worker's number | 0-1"))
        << text;
  }
  EXPECT_EQ(fault("worker", "abandon", {{"worker", "2"}}), "there is no worker '2' | 0-1");
}

TEST_F(CommandsTest, ConfigShowIsReadBackToTheSameConfiguration) {
  target.running.steering.mode = SteeringMode::kSoftRss;
  const auto read = parse_config(ask("config", "show")["yaml"].get<std::string>(), "running");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->config, target.running);
}

TEST_F(CommandsTest, ConfigDiffComparesWithTheFileAsItIsNow) {
  Config file = target.running;
  target.facts.config_path = "/etc/box.yaml";
  target.facts.read_file = [&] { return file; };
  EXPECT_EQ(ask("config", "diff"), (Json{{"path", "/etc/box.yaml"}, {"changes", Json::array()}}));
  file.steering.mode = SteeringMode::kNone;
  file.ports[0].mtu = 9000;
  const Json changes = ask("config", "diff")["changes"];
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(
      changes[0],
      (Json{{"key", "ports[0].mtu"}, {"running", "auto"}, {"file", "9000"}, {"live", false}}));
  EXPECT_EQ(changes[1]["live"], true);
}

TEST_F(CommandsTest, ConfigDiffSaysWhatIsWrongWithTheFile) {
  EXPECT_THAT(fault("config", "diff"), HasSubstr("was started without a file"));
  target.facts.config_path = "/etc/box.yaml";
  target.facts.read_file = []() -> Expected<Config> { return fail("/etc/box.yaml:3: bad"); };
  EXPECT_EQ(fault("config", "diff"), "/etc/box.yaml:3: bad | ");
}

TEST_F(CommandsTest, VersionAndPingNameTheInstance) {
  target.facts.started = std::chrono::steady_clock::now() - std::chrono::seconds{90};
  const Json version = ask("version", "");
  EXPECT_EQ(version["version"], "9.8.7");
  EXPECT_EQ(version["instance"], "box");
  EXPECT_EQ(version["uptime_s"], 90);
  EXPECT_EQ(ask("ping", "")["pong"], "box");
}

TEST_F(CommandsTest, BytesThatAreNoUtf8DoNotBreakTheReply) {
  target.figures.ports[0].device = "net_pcap0,rx_pcap=\xff\xfe.pcap";
  EXPECT_TRUE(ask("port", "show").contains("ports"));
}

TEST_F(CommandsTest, AnyBytesGetAnAnswer) {
  for (const std::string& line :
       {std::string{}, std::string(1000, '\0'), std::string(60'000, '{'), std::string{"\"a\""},
        std::string{R"({"object":"worker","command":"abandon","keys":{"worker":1e400}})"},
        std::string{R"({"object":"worker","command":"abandon","keys":{"worker":-0.5}})"}}) {
    const Json reply = Json::parse(answer(target, line), nullptr, false);
    EXPECT_TRUE(reply.is_object() && reply.contains("error")) << reply.dump();
  }
}

}  // namespace
}  // namespace mqsteer::test
