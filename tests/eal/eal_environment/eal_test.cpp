#include "eal/eal.h"

#include "eal/dpdk_log.h"
#include "environment.h"

#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_pause.h>

#include <gmock/gmock.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <mutex>

namespace mqsteer {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

std::mutex lines_mutex;
std::vector<std::string> lines;

cpu_set_t affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

EalConfig config_of_tests() {
  EalConfig config{.file_prefix = "mqsteer-eal-test", .cpus = {polling_cpu()}};
  config.hugepages = false;
  config.telemetry = false;
  config.log = [](std::string_view line) {
    const std::scoped_lock lock{lines_mutex};
    lines.emplace_back(line);
  };
  return config;
}

Expected<std::vector<std::string>> arguments_of(const EalConfig& config, bool hugepages) {
  return eal_arguments(config, hugepages, {0, 1, 2, 3});
}

TEST(EalArguments, GiveEachCpuAnLcoreOfItsNumberAndTheCallerASpareOne) {
  const auto arguments = arguments_of({.cpus = {1, 3}}, false);
  ASSERT_TRUE(arguments);
  EXPECT_THAT(*arguments, IsSupersetOf({"--lcores=1@1,3@3,127@(0,1,2,3)", "--main-lcore=127"}));
}

TEST(EalArguments, KeepNothingInTheFileSystem) {
  EXPECT_THAT(*arguments_of({.cpus = {0}}, true), Contains("--in-memory"));
  const auto ordinary = *arguments_of({.cpus = {0}, .memory_mb = 77}, false);
  EXPECT_THAT(ordinary, IsSupersetOf({"--no-huge", "--no-shconf", "-m", "77"}));
  EXPECT_THAT(ordinary, Not(Contains("--in-memory")));
}

TEST(EalArguments, LeaveThePciBusAloneUnlessDevicesAreNamed) {
  EXPECT_THAT(*arguments_of({.cpus = {0}}, false), Contains("--no-pci"));
  const auto with = *arguments_of({.cpus = {0}, .pci_devices = {"0000:00:14.0"}}, false);
  EXPECT_THAT(with, IsSupersetOf({"-a", "0000:00:14.0"}));
  EXPECT_THAT(with, Not(Contains("--no-pci")));
}

TEST(EalArguments, RefuseCpusThatCannotBeUsed) {
  EXPECT_EQ(arguments_of({.cpus = {128}}, false).error().text(),
            "lcores: CPU 128 is beyond DPDK's 128 lcores; use CPUs below that");
  EXPECT_EQ(arguments_of({.cpus = {7}}, false).error().text(),
            "lcores: CPU 7 is not one of those this process may use (0,1,2,3)");
  EXPECT_EQ(arguments_of({.cpus = {1, 1}}, false).error().text(), "lcores: CPU 1 is named twice");
}

TEST(Hugepages, AreCountedOverAllSizes) {
  const auto directory = std::filesystem::temp_directory_path() / "mqsteer-hugepages";
  for (const auto& [name, free] : {std::pair{"hugepages-2048kB", 3}, {"hugepages-1048576kB", 1}}) {
    std::filesystem::create_directories(directory / name);
    std::ofstream{directory / name / "free_hugepages"} << free << '\n';
  }
  EXPECT_EQ(free_hugepage_bytes(directory), 3 * 2048UL * 1024 + 1024UL * 1024 * 1024);
  std::filesystem::remove_all(directory);
  EXPECT_EQ(free_hugepage_bytes(directory), 0U);
}

TEST(Eal, LeavesTheCallersAffinityAndUsesNoPollingLcoreForIt) {
  const cpu_set_t before = affinity();
  eal();
  const cpu_set_t after = affinity();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  EXPECT_EQ(rte_get_main_lcore(), 127U);
  EXPECT_EQ(rte_lcore_is_enabled(polling_cpu()), 1);
}

TEST(Eal, RunsAFunctionOnTheCpuOfTheLcoreAndJoinsIt) {
  int cpu = -1;
  auto task = eal().launch(LcoreId{polling_cpu()}, [&cpu] { cpu = sched_getcpu(); });
  ASSERT_TRUE(task) << task.error().text();
  task->join();
  EXPECT_EQ(cpu, polling_cpu());
  EXPECT_FALSE(task->running());
}

TEST(Eal, RunsOneFunctionAtATimeOnAnLcore) {
  std::atomic<bool> stop{false};
  auto first = eal().launch(LcoreId{polling_cpu()}, [&stop] {
    while (!stop) rte_pause();
  });
  ASSERT_TRUE(first);
  const auto second = eal().launch(LcoreId{polling_cpu()}, [] {});
  stop = true;
  EXPECT_EQ(second.error().code, EBUSY);
}

TEST(Eal, RefusesAnLcoreThatIsNotPolling) {
  EXPECT_EQ(eal().launch(LcoreId{99}, [] {}).error().text(),
            "lcore 99 is none of the polling lcores");
  EXPECT_EQ(eal().launch(LcoreId{127}, [] {}).error().text(),
            "lcore 127 is none of the polling lcores");
}

TEST(Eal, CannotBeStartedTwice) {
  eal();
  EXPECT_EQ(Eal::init(config_of_tests()).error().text(),
            "DPDK was started in this process before and cannot start again");
}

TEST(DpdkLog, ShowsOnlyWarningsAndKeepsThemWhileAnAttemptIsMade) {
  eal();
  {
    const DpdkLogCapture capture;
    RTE_LOG(ERR, EAL, "the cause\n");
    RTE_LOG(ERR, EAL, "its consequence\n");
    EXPECT_EQ(with_dpdk_reason("it failed", capture), "it failed (EAL: the cause)");
  }
  RTE_LOG(WARNING, EAL, "watch out\n");
  RTE_LOG(NOTICE, EAL, "by the way\n");
  EXPECT_THAT(logged_lines(), Contains("EAL: watch out"));
  EXPECT_THAT(logged_lines(), Not(Contains("EAL: by the way")));
  EXPECT_THAT(logged_lines(), Not(Contains("EAL: the cause")));
}

}  // namespace

std::uint16_t polling_cpu() {
  static const std::uint16_t cpu = [] {
    const cpu_set_t set = affinity();
    std::uint16_t first = 0;
    while (!CPU_ISSET(first, &set)) ++first;
    return first;
  }();
  return cpu;
}

std::vector<std::string> logged_lines() {
  const std::scoped_lock lock{lines_mutex};
  return lines;
}

Eal& eal() {
  static Expected<Eal> started = Eal::init(config_of_tests());
  if (!started) throw std::runtime_error{started.error().text()};
  return *started;
}

}  // namespace mqsteer
