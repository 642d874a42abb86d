#include "config/changes.h"

#include "config/schema.h"
#include "unit/config/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mqsteer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<std::string> keys_of(const std::vector<ConfigChange>& changes) {
  std::vector<std::string> keys;
  keys.reserve(changes.size());
  for (const ConfigChange& change : changes) keys.push_back(change.key);
  return keys;
}

TEST(Changes, EqualConfigurationsDoNotDiffer) {
  EXPECT_THAT(diff_configs(unusual(), unusual()), IsEmpty());
}

TEST(Changes, ReadAsInTheFile) {
  Config file = sample();
  file.steering.mode = SteeringMode::kSoftRss;
  file.steering.workers = {0, 2, 3};
  file.steering.backlog_slots = 1024;
  file.ports[1].mtu = 9000;
  file.instance = "b";
  EXPECT_THAT(diff_configs(sample(), file),
              ElementsAre("instance: mqsteer -> b", "ports[1].mtu: auto -> 9000",
                          "steering.mode: rps -> soft-rss", "steering.workers: all -> 0,2-3",
                          "steering.backlog_slots: auto -> 1024"));
}

TEST(Changes, PortsAreComparedByName) {
  Config file = sample();
  file.ports.insert(file.ports.begin(), {.name = "middle", .device = "eth9"});
  file.ports[1].rx_queues = 2;
  file.bridges.clear();
  EXPECT_THAT(diff_configs(sample(), file),
              ElementsAre("ports: left, right -> middle, left, right",
                          "ports[1].rx_queues: auto -> 2", "bridge: br0 -> none"));
}

TEST(Changes, TheseAndNoOthersAreLive) {
  std::vector<std::string> live;
  Config config = sample();
  schema::for_each_key(config, [&live](const std::string& path, const auto& key, const auto&) {
    if (key.note.live) live.push_back(path);
  });
  EXPECT_THAT(
      live, UnorderedElementsAre("idle", "idle_max_sleep_us", "steering.mode", "steering.workers",
                                 "steering.weights", "steering.symmetric", "steering.tunnels",
                                 "steering.fragments", "steering.rss_buckets", "steering.rss_bits",
                                 "steering.balance", "steering.tx_guard", "steering.order_check",
                                 "steering.flow_limit"));
}

TEST(Changes, AReloadAppliesTheLiveOnesAndNamesTheRest) {
  const Config running = sample();
  Config wanted = running;
  wanted.idle = IdlePolicy::kPoll;
  wanted.lcores = {0};
  wanted.ports[0].offloads = OffloadPolicy::kFix;
  wanted.steering.mode = SteeringMode::kNone;
  wanted.steering.backlog_budget = 1024;
  const SplitChanges split = split_changes(running, wanted);
  EXPECT_THAT(keys_of(split.live), ElementsAre("idle", "steering.mode"));
  EXPECT_THAT(keys_of(split.restart),
              ElementsAre("lcores", "ports[0].offloads", "steering.backlog_budget"));
}

TEST(Changes, WhatIsAppliedHasTheLiveValuesOnTheRunningRest) {
  const Config running = sample();
  const SplitChanges split = split_changes(running, unusual());
  Config wanted = running;
  wanted.idle = unusual().idle;
  wanted.idle_max_sleep_us = unusual().idle_max_sleep_us;
  wanted.steering = unusual().steering;
  wanted.steering.rfs_flows = running.steering.rfs_flows;
  wanted.steering.backlog_slots = running.steering.backlog_slots;
  wanted.steering.backlog_budget = running.steering.backlog_budget;
  EXPECT_EQ(split.applied, wanted);
  EXPECT_EQ(keys_of(split.live), keys_of(changes_between(running, split.applied)));
}

}  // namespace
}  // namespace mqsteer
