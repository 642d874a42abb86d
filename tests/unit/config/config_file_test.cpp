#include "config/config_file.h"

#include "config/schema.h"
#include "config/validate.h"
#include "unit/config/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mqsteer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Config parsed(const std::string& text) {
  const auto loaded = parse_config(text, "f.yaml");
  if (!loaded) ADD_FAILURE() << loaded.error().text();
  return loaded ? loaded->config : Config{};
}

TEST(ConfigFile, MissingKeysHaveTheDefaultsOfTheDesign) {
  const Config config = parsed("ports: [{name: p, device: eth1}]");
  const std::string text = to_yaml(config);
  for (const char* line : {"instance: mqsteer\n",
                           "lcores: auto\n",
                           "idle: adaptive\n",
                           "idle_max_sleep_us: 100\n",
                           "hugepages: auto\n",
                           "    rx_queues: auto\n",
                           "    rx_descriptors: 1024\n",
                           "    mtu: auto\n",
                           "    offloads: check\n",
                           "bridge: []\n",
                           "  mode: rps\n",
                           "  workers: all\n",
                           "  weights: equal\n",
                           "  hash: software\n",
                           "  symmetric: true\n",
                           "  tunnels: inner\n",
                           "  fragments: key\n",
                           "  rss_buckets: 128\n",
                           "  rss_bits: auto\n",
                           "  rfs_flows: 65536\n",
                           "  backlog_slots: auto\n",
                           "  backlog_budget: 65536\n",
                           "  flow_limit: off\n",
                           "  enabled: false\n",
                           "  directory: /var/lib/mqsteer/captures\n",
                           "  format: pcapng\n",
                           "  snaplen_bytes: 262144\n",
                           "  filter: \"\"\n",
                           "  vlan_aware: false\n",
                           "  block_bytes: 4194304\n",
                           "  blocks: 16\n",
                           "  rotate_bytes: 0\n",
                           "  rotate_seconds: 0\n",
                           "  files: 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(ConfigFile, WhatIsWrittenReadsBackEqual) {
  for (const Config& config : {sample(), unusual()}) {
    EXPECT_EQ(parsed(to_yaml(config)), config);
    EXPECT_EQ(parsed(to_commented_yaml(config)), config);
  }
}

TEST(ConfigFile, TheUnusualSampleChangesEveryKeyThatCanChange) {
  const Config config = unusual();
  const std::string text = to_yaml(config);
  Config plain = config;
  plain.steering = {};
  plain.rr = {};
  plain.capture = {};
  schema::for_each_key(plain, [&](const std::string& path, const auto& key, const auto&) {
    if (!key.rule.fixed.empty() || path.find("ports[") == 0) return;
    if (path == "rr.port") return;
    EXPECT_NE(*get_key(config, path), key.default_text()) << path;
  });
}

TEST(ConfigFile, TheDesignsOwnExampleIsRead) {
  const Config config = parsed(R"(instance: mqsteer         # names the control socket
lcores: auto
idle: adaptive            # poll | adaptive | interrupt
idle_max_sleep_us: 100
hugepages: auto           # auto | off
ports:
  - {name: left,  device: "0000:00:14.0", rx_queues: auto, rx_descriptors: 1024, mtu: auto, offloads: check}
  - {name: right, device: "0000:00:14.1"}
bridge:
  - {name: br0, mode: wire, ports: [left, right], forward_reserved: all, link_propagation: false}
steering: {mode: rps, workers: all, weights: equal, hash: software, symmetric: true, tunnels: inner, fragments: key, rss_buckets: 128, rss_bits: auto, rfs_flows: 65536, backlog_slots: auto, backlog_budget: 65536, flow_limit: off}
capture: {enabled: false, directory: /var/lib/mqsteer/captures, format: pcapng, snaplen_bytes: 262144, filter: "", vlan_aware: false, block_bytes: 4194304, blocks: 16, rotate_bytes: 0, rotate_seconds: 0, files: 0}
)");
  Config wanted = sample();
  wanted.ports[0].device = "0000:00:14.0";
  wanted.ports[1].device = "0000:00:14.1";
  EXPECT_EQ(config, wanted);
}

TEST(ConfigFile, APortThatAnswersReadsBackEqual) {
  Config config = sample();
  config.bridges.clear();
  config.rr = {.port = "left", .ipv4 = "10.9.0.1", .ipv6 = "fd09::1"};
  EXPECT_EQ(parsed(to_yaml(config)), config);
}

TEST(ConfigFile, ListsHaveTwoForms) {
  const Config flow =
      parsed(two_ports + "lcores: [4, 0-1]\nsteering: {workers: [2], weights: [7]}\n");
  const Config text = parsed(two_ports + "lcores: 4,0-1\nsteering: {workers: \"2\", weights: 7}\n");
  EXPECT_THAT(flow.lcores, ElementsAre(4, 0, 1));
  EXPECT_THAT(flow.steering.workers, ElementsAre(2));
  EXPECT_THAT(flow.steering.weights, ElementsAre(7));
  EXPECT_EQ(flow, text);
}

TEST(ConfigFile, SectionsWithoutKeysAreDefaults) {
  EXPECT_EQ(parsed(two_ports + "bridge:\nsteering:\ncapture:\n"), parsed(two_ports));
}

TEST(ConfigFile, SwitchesTakeBothPairsOfWords) {
  EXPECT_TRUE(parsed(two_ports + "steering: {flow_limit: true}\n").steering.flow_limit);
  EXPECT_FALSE(parsed(two_ports + "steering: {symmetric: off}\n").steering.symmetric);
  EXPECT_EQ(verdict(two_ports + "capture: {enabled: off}\n"), "accepted");
}

TEST(ConfigFile, EveryLimitItselfIsAccepted) {
  for (const char* text :
       {"idle_max_sleep_us: 1", "idle_max_sleep_us: 200", "steering: {rss_buckets: 2}",
        "steering: {rss_buckets: 65536}", "steering: {backlog_slots: 128}",
        "steering: {backlog_slots: 32768}", "steering: {backlog_budget: 64}",
        "steering: {backlog_budget: 1048576}", "lcores: 0-126"}) {
    EXPECT_EQ(verdict(two_ports + text + "\n"), "accepted") << text;
  }
}

TEST(BridgeOption, NamesPortsAfterTheirInterfaces) {
  const auto loaded = config_from_bridge_option("eth1,eth2");
  ASSERT_TRUE(loaded) << loaded.error().text();
  Config wanted;
  wanted.ports = {{.name = "eth1", .device = "eth1", .rx_descriptors = 4096},
                  {.name = "eth2", .device = "eth2", .rx_descriptors = 4096}};
  wanted.bridges = {{"br0", {"eth1", "eth2"}}};
  EXPECT_EQ(loaded->config, wanted);
}

TEST(BridgeOption, PciAddressesMakeUsableNames) {
  const auto loaded = config_from_bridge_option("0000:00:14.0,0000:00:14.1");
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_EQ(loaded->config.ports[0].name, "0000_00_14.0");
  EXPECT_EQ(loaded->config.ports[0].device, "0000:00:14.0");
  EXPECT_EQ(loaded->config.ports[0].rx_descriptors, 1024);
  EXPECT_EQ(parsed(to_yaml(loaded->config)), loaded->config);
}

TEST(BridgeOption, ErrorsNameTheOption) {
  const std::string form = "; allowed: two interfaces, --bridge eth1,eth2";
  const std::pair<const char*, std::string> cases[] = {
      {"", "an empty text is not two ports" + form},
      {"eth1", "'eth1' is not two ports" + form},
      {"a,b,c", "'a,b,c' is not two ports" + form},
      {"eth1,", "an empty text is not a device" + form},
      {"eth1, eth2", "' eth2' is not a device" + form},
      {"eth1,eth1", "another port is called 'eth1' too; allowed: a name of its own"},
      {"00:14.0,0000:00:14.0",
       "'0000:00:14.0' is already the device of port 00_14.0; allowed: a device of its own for "
       "each port"},
  };
  for (const auto& [text, message] : cases) {
    const auto loaded = config_from_bridge_option(text);
    ASSERT_FALSE(loaded) << text;
    EXPECT_EQ(loaded.error().text(), "--bridge: " + message);
  }
}

TEST(Options, SetOneKeyAndAreNamedInWhatFollows) {
  auto loaded = config_from_bridge_option("eth1,eth2");
  ASSERT_TRUE(loaded);
  ASSERT_TRUE(apply_option(*loaded, {"--mode", "steering.mode", "soft-rss"}));
  ASSERT_TRUE(apply_option(*loaded, {"--lcores", "lcores", "0,9"}));
  EXPECT_EQ(loaded->config.steering.mode, SteeringMode::kSoftRss);
  const auto valid = validate(loaded->config, {{0, 1}, {0, 1}}, loaded->origins);
  ASSERT_FALSE(valid);
  EXPECT_EQ(valid.error().text(), "--lcores: CPU 9 is not there or offline; allowed: 0-1");
}

TEST(Options, ErrorsNameTheOptionAndLeaveTheConfigAlone) {
  auto loaded = config_from_bridge_option("eth1,eth2");
  ASSERT_TRUE(loaded);
  const Config before = loaded->config;
  EXPECT_EQ(apply_option(*loaded, {"--idle", "idle", "interrupt"}).error().text(),
            "--idle: 'interrupt' is not supported by this version; allowed: poll, adaptive");
  EXPECT_EQ(apply_option(*loaded, {"--lcores", "lcores", "0,0"}).error().text(),
            "--lcores: 0 is given twice; allowed: auto, or at most 127 CPUs such as 0,2-3");
  EXPECT_EQ(loaded->config, before);
}

TEST(Options, OverrideAFileAndItsLine) {
  auto loaded = parse_config(two_ports + "lcores: 0-1\n", "f.yaml");
  ASSERT_TRUE(loaded);
  ASSERT_TRUE(apply_option(*loaded, {"--lcores", "lcores", "0"}));
  EXPECT_THAT(loaded->config.lcores, ElementsAre(0));
  EXPECT_EQ(loaded->origins.describe("lcores"), "--lcores");
  EXPECT_EQ(loaded->origins.describe("ports[1].device"), "f.yaml:3: ports[1].device");
}

TEST(Keys, AreSetAndReadByTheirPath) {
  Config config = sample();
  ASSERT_TRUE(set_key(config, "steering.workers", "0,2-3"));
  ASSERT_TRUE(set_key(config, "ports[1].mtu", "9000"));
  EXPECT_EQ(*get_key(config, "steering.workers"), "0,2-3");
  EXPECT_EQ(config.ports[1].mtu, 9000);
  EXPECT_EQ(allowed_for("steering.mode"), "none, rps, soft-rss, rfs");
  EXPECT_EQ(allowed_for("steering.nothing"), "");
}

TEST(Keys, ErrorsNameTheKey) {
  Config config = sample();
  EXPECT_EQ(set_key(config, "steering.weights", "0").error().text(),
            "steering.weights: 0 is out of range; allowed: equal, or a weight 1..1000 for each "
            "worker such as 3,1");
  EXPECT_THAT(set_key(config, "ports[2].mtu", "1500").error().text(),
              HasSubstr("'ports[2].mtu' is not a key; allowed: instance, lcores, "));
  EXPECT_THAT(get_key(config, "mode").error().text(), HasSubstr("'mode' is not a key"));
  EXPECT_EQ(config, sample());
}

}  // namespace
}  // namespace mqsteer
