#include "config/validate.h"

#include "unit/config/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

namespace mqsteer {
namespace {

using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

const MachineFacts four_cpus{{0, 1, 2, 3}, {0, 1, 2}};

std::string verdict_on(const Config& config, const MachineFacts& facts = four_cpus) {
  const auto valid = validate(config, facts);
  return valid ? "valid" : valid.error().text();
}

TEST(Validate, TheSampleIsValid) {
  EXPECT_EQ(verdict_on(sample()), "valid");
  EXPECT_EQ(lcores_of(sample(), four_cpus), four_cpus.usable_cpus);
}

TEST(Validate, AnLcoreThatTheMachineLacks) {
  Config config = sample();
  config.lcores = {0, 4};
  EXPECT_EQ(verdict_on(config), "lcores: CPU 4 is not there or offline; allowed: 0-2");
}

TEST(Validate, AnLcoreOutsideTheAffinityMask) {
  Config config = sample();
  config.lcores = {3};
  EXPECT_EQ(verdict_on(config),
            "lcores: CPU 3 is outside the affinity mask of this process; allowed: 0-2");
}

TEST(Validate, WorkersCountTheLcores) {
  Config config = sample();
  config.steering.workers = {0, 2};
  EXPECT_EQ(verdict_on(config), "valid");
  config.steering.workers = {3};
  EXPECT_EQ(verdict_on(config),
            "steering.workers: worker 3 does not exist with 3 lcores; allowed: 0..2");
  config.lcores = {1, 2};
  config.steering.workers = {2};
  EXPECT_EQ(verdict_on(config),
            "steering.workers: worker 2 does not exist with 2 lcores; allowed: 0..1");
}

TEST(Validate, WeightsMatchTheWorkers) {
  Config config = sample();
  config.steering.weights = {1, 2};
  EXPECT_EQ(verdict_on(config),
            "steering.weights: 2 weights for 3 workers; allowed: equal, or a weight for each "
            "worker");
  config.steering.workers = {2, 0};
  EXPECT_EQ(verdict_on(config), "valid");
}

TEST(Validate, APortThatAnswersHasAnAddressAndNoBridgeBesideIt) {
  Config config = sample();
  config.rr = {.port = "middle", .ipv4 = "10.9.0.1"};
  EXPECT_EQ(verdict_on(config), "rr.port: 'middle' is not a port; allowed: left, right");
  config.rr.port = "left";
  EXPECT_EQ(verdict_on(config),
            "rr.port: a box answers or bridges, and there is bridge br0 too; allowed: no bridge "
            "beside rr.port");
  config.bridges.clear();
  EXPECT_EQ(verdict_on(config), "valid");
  config.rr.ipv4 = "10.9.0.256";
  EXPECT_EQ(
      verdict_on(config),
      "rr.ipv4: '10.9.0.256' is not an IPv4 address; allowed: an IPv4 address, \"\" for none");
  config.rr.ipv4 = "";
  EXPECT_EQ(verdict_on(config),
            "rr.ipv4: port left has no address to answer for; allowed: an IPv4 address, or "
            "rr.ipv6, or both");
}

TEST(Validate, AutoOnAMachineOfMoreCpusThanLcores) {
  MachineFacts facts;
  for (std::uint16_t cpu = 0; cpu < 200; ++cpu) facts.online_cpus.push_back(cpu);
  facts.usable_cpus = facts.online_cpus;
  EXPECT_EQ(verdict_on(sample(), facts),
            "lcores: auto means 200 CPUs here; allowed: 1..127, list them such as 0-126");
}

/// A configuration that no file was read for (steering set) is held to the same ranges.
TEST(Validate, RangesHoldWithoutAFile) {
  Config config = sample();
  config.steering.rss_buckets = 3;
  EXPECT_EQ(verdict_on(config),
            "steering.rss_buckets: 3 is not a power of two; allowed: a power of two 2..65536 "
            "buckets");
  config = sample();
  config.steering.workers = {1, 1};
  EXPECT_EQ(verdict_on(config),
            "steering.workers: 1 is given twice; allowed: all, or worker numbers such as 0,2-3");
  config = sample();
  config.ports[1].name = "";
  EXPECT_EQ(verdict_on(config),
            "ports[1].name: an empty text is not a name; allowed: 1..31 of the characters a-z A-Z "
            "0-9 _ . -");
}

TEST(Validate, AFileIsNamedWithItsLine) {
  const auto loaded = parse_config(two_ports + "lcores: 0,7\nsteering:\n  workers: 1\n", "f.yaml");
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_EQ(validate(loaded->config, four_cpus, loaded->origins).error().text(),
            "f.yaml:4: lcores: CPU 7 is not there or offline; allowed: 0-2");
}

TEST(KeyOrigins, AKeyThatWasNotWrittenStandsAtItsSection) {
  KeyOrigins origins{"f.yaml"};
  origins.add_line("", 1);
  origins.add_line("ports[0]", 7);
  EXPECT_EQ(origins.describe("ports[0].device"), "f.yaml:7: ports[0].device");
  EXPECT_EQ(origins.describe("ports[1].device"), "f.yaml:1: ports[1].device");
  EXPECT_EQ(KeyOrigins{}.describe("lcores"), "lcores");
}

TEST(MachineFacts, AreThoseOfThisProcess) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  const auto facts = machine_facts();
  ASSERT_TRUE(facts) << facts.error().text();
  EXPECT_THAT(facts->usable_cpus, Not(IsEmpty()));
  EXPECT_THAT(facts->online_cpus, IsSupersetOf(facts->usable_cpus));
  EXPECT_EQ(facts->usable_cpus.size(), static_cast<std::size_t>(CPU_COUNT(&mask)));
  for (const std::uint16_t cpu : facts->usable_cpus) EXPECT_TRUE(CPU_ISSET(cpu, &mask)) << cpu;
}

}  // namespace
}  // namespace mqsteer
