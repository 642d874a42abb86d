#include "config/config_file.h"
#include "config/device_name.h"
#include "config/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace mqsteer {
namespace {

namespace fs = std::filesystem;

const MachineFacts eight_cpus{{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}};

std::string path_of(const std::string& name) {
  return std::string{MQSTEER_CONFIGS} + '/' + name;
}

Config load(const std::string& name) {
  const auto loaded = load_config(path_of(name));
  if (!loaded) ADD_FAILURE() << loaded.error().text();
  return loaded ? loaded->config : Config{};
}

TEST(ReadyConfigs, AllAreValidOnAMachineOfEightCpus) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator{MQSTEER_CONFIGS}) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    const auto loaded = load_config(entry.path());
    ASSERT_TRUE(loaded) << loaded.error().text();
    const auto valid = validate(loaded->config, eight_cpus, loaded->origins);
    EXPECT_TRUE(valid) << valid.error().text();
  }
  EXPECT_GE(files, 4);
}

/// mqsteer.yaml is made from the schema. MQSTEER_WRITE_CONFIGS=1 writes it anew.
TEST(ReadyConfigs, TheDefaultIsTheSchemaWrittenOut) {
  Config config;
  config.ports = {{.name = "left", .device = "0000:00:14.0"},
                  {.name = "right", .device = "0000:00:14.1"}};
  config.bridges = {{"br0", {"left", "right"}}};
  const std::string wanted = to_commented_yaml(config);
  if (std::getenv("MQSTEER_WRITE_CONFIGS") != nullptr)
    std::ofstream{path_of("mqsteer.yaml")} << wanted;
  std::stringstream text;
  text << std::ifstream{path_of("mqsteer.yaml")}.rdbuf();
  EXPECT_EQ(text.str(), wanted) << "run this test with MQSTEER_WRITE_CONFIGS=1";
}

TEST(ReadyConfigs, TheVethBridgeJoinsTwoKernelInterfaces) {
  const Config config = load("bridge-veth.yaml");
  ASSERT_EQ(config.bridges.size(), 1U);
  for (const PortConfig& port : config.ports) {
    EXPECT_EQ(*parse_device(port.device), DeviceKind::kInterface);
  }
}

TEST(ReadyConfigs, TheI354BridgeHasTwoPciPortsOnFourLcores) {
  const Config config = load("bridge-i354.yaml");
  EXPECT_THAT(config.lcores, testing::ElementsAre(0, 1, 2, 3));
  ASSERT_EQ(config.ports.size(), 2U);
  for (const PortConfig& port : config.ports) {
    EXPECT_EQ(*parse_device(port.device), DeviceKind::kPci);
  }
}

TEST(ReadyConfigs, TheCaptureBoxIsASinkWithoutABridge) {
  const Config config = load("capture-82599.yaml");
  EXPECT_TRUE(config.bridges.empty());
  EXPECT_EQ(config.steering.mode, SteeringMode::kNone);
}

}  // namespace
}  // namespace mqsteer
