#include "eal/eal.h"

#include "eal/dpdk_log.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

namespace mqsteer {
namespace {

constexpr std::size_t kDefaultMemoryMb = 64;
constexpr std::size_t kBytesPerMb = std::size_t{1} << 20U;

std::size_t memory_mb_of(const EalConfig& config) {
  return config.memory_mb == 0 ? kDefaultMemoryMb : config.memory_mb;
}

std::vector<std::uint16_t> cpus_of(const cpu_set_t& set) {
  std::vector<std::uint16_t> cpus;
  for (std::uint16_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

/// The highest lcore id that no polling lcore has.
std::optional<std::uint16_t> spare_lcore(const std::vector<std::uint16_t>& cpus) {
  for (std::uint16_t lcore = RTE_MAX_LCORE; lcore-- > 0;) {
    if (std::ranges::find(cpus, lcore) == cpus.end()) return lcore;
  }
  return std::nullopt;
}

std::string joined(const std::vector<std::uint16_t>& numbers) {
  std::string text;
  for (const std::uint16_t number : numbers) {
    text += (text.empty() ? "" : ",") + std::to_string(number);
  }
  return text;
}

Expected<void> check_cpus(const EalConfig& config, const std::vector<std::uint16_t>& affinity) {
  for (const std::uint16_t cpu : config.cpus) {
    if (cpu >= RTE_MAX_LCORE) {
      return fail("lcores: CPU " + std::to_string(cpu) + " is beyond DPDK's " +
                  std::to_string(RTE_MAX_LCORE) + " lcores; use CPUs below that");
    }
    if (std::ranges::count(config.cpus, cpu) > 1) {
      return fail("lcores: CPU " + std::to_string(cpu) + " is named twice");
    }
    if (std::ranges::find(affinity, cpu) == affinity.end()) {
      return fail("lcores: CPU " + std::to_string(cpu) +
                  " is not one of those this process may use (" + joined(affinity) + ")");
    }
  }
  return {};
}

std::string lcores_argument(const EalConfig& config, std::uint16_t spare,
                            const std::vector<std::uint16_t>& affinity) {
  std::string text;
  for (const std::uint16_t cpu : config.cpus) {
    text += std::to_string(cpu) + "@" + std::to_string(cpu) + ",";
  }
  return text + std::to_string(spare) + "@(" + joined(affinity) + ")";
}

int run_body(void* body) {
  (*static_cast<std::function<void()>*>(body))();
  return 0;
}

/// rte_eal_init pins the calling thread and changes argv; this keeps both away from the caller.
int init_with(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return rte_eal_init(static_cast<int>(arguments.size()), argv.data());
}

std::string start_failure(const EalConfig& config, bool hugepages) {
  return "DPDK does not start with " + std::to_string(memory_mb_of(config)) + " MB of " +
         (hugepages ? "hugepages" : "ordinary pages") + " on CPUs " + joined(config.cpus);
}

}  // namespace

std::size_t free_hugepage_bytes(const std::string& sysfs_directory) {
  std::size_t bytes = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{sysfs_directory, ignored}) {
    // hugepages-2048kB
    const std::string name = entry.path().filename();
    std::size_t kilobytes = 0;
    if (sscanf(name.c_str(), "hugepages-%zukB", &kilobytes) != 1) continue;
    std::size_t pages = 0;
    if (std::ifstream{entry.path() / "free_hugepages"} >> pages) bytes += pages * kilobytes * 1024;
  }
  return bytes;
}

std::size_t free_hugepage_bytes() {
  return free_hugepage_bytes("/sys/kernel/mm/hugepages");
}

int numa_node_of(LcoreId lcore) noexcept {
  return static_cast<int>(rte_lcore_to_socket_id(lcore.value()));
}

Expected<std::vector<std::string>> eal_arguments(const EalConfig& config, bool hugepages,
                                                 const std::vector<std::uint16_t>& affinity) {
  if (auto checked = check_cpus(config, affinity); !checked) {
    return tl::unexpected(checked.error());
  }
  const auto spare = spare_lcore(config.cpus);
  if (!spare) return fail("lcores: no lcore id is left for the control thread; use one CPU fewer");

  std::vector<std::string> arguments{"mqsteer", "--file-prefix=" + config.file_prefix,
                                     "--lcores=" + lcores_argument(config, *spare, affinity),
                                     "--main-lcore=" + std::to_string(*spare),
                                     "--log-level=*:warning"};
  if (hugepages) {
    arguments.emplace_back("--in-memory");
  } else {
    // Without --no-shconf a file of every run would stay in the runtime directory.
    arguments.insert(arguments.end(),
                     {"--no-huge", "--no-shconf", "-m", std::to_string(memory_mb_of(config))});
  }
  if (config.pci_devices.empty()) {
    arguments.insert(arguments.end(), {"--no-pci", "--iova-mode=va"});
  }
  for (const std::string& address : config.pci_devices) {
    arguments.insert(arguments.end(), {"-a", address});
  }
  if (!config.telemetry) arguments.emplace_back("--no-telemetry");
  arguments.insert(arguments.end(), config.extra_args.begin(), config.extra_args.end());
  return arguments;
}

Expected<Eal> Eal::init(const EalConfig& config) {
  static bool started = false;
  if (started) return fail("DPDK was started in this process before and cannot start again");
  cpu_set_t affinity;
  CPU_ZERO(&affinity);
  if (sched_getaffinity(0, sizeof affinity, &affinity) != 0) {
    return fail(errno, "reading the CPUs this process may use");
  }
  const bool hugepages =
      config.hugepages && free_hugepage_bytes() >= memory_mb_of(config) * kBytesPerMb;
  const auto arguments = eal_arguments(config, hugepages, cpus_of(affinity));
  if (!arguments) return tl::unexpected(arguments.error());

  take_dpdk_log(config.log);
  const DpdkLogCapture capture;
  if (init_with(*arguments) < 0) {
    const int code = rte_errno;
    return fail(code, with_dpdk_reason(start_failure(config, hugepages), capture));
  }
  started = true;
  Eal eal{hugepages};
  if (const int code = pthread_setaffinity_np(pthread_self(), sizeof affinity, &affinity);
      code != 0) {
    return fail(code, "restoring the CPU affinity of the control thread");
  }
  return eal;
}

Eal::Eal(Eal&& other) noexcept
    : hugepages_{other.hugepages_}, live_{std::exchange(other.live_, false)} {}

Eal& Eal::operator=(Eal&& other) noexcept {
  std::swap(hugepages_, other.hugepages_);
  std::swap(live_, other.live_);
  return *this;
}

Eal::~Eal() {
  if (!live_) return;
  // What DPDK has to say about its own clean-up concerns nobody.
  const DpdkLogCapture quiet;
  const std::string directory = rte_eal_get_runtime_dir();
  static_cast<void>(rte_eal_cleanup());
  std::error_code ignored;  // another process of this prefix may have files there
  std::filesystem::remove(directory, ignored);
}

Expected<LcoreTask> Eal::launch(LcoreId lcore, std::function<void()> body) const {
  auto owned = std::make_unique<std::function<void()>>(std::move(body));
  if (lcore.value() == rte_get_main_lcore() || rte_lcore_is_enabled(lcore.value()) == 0) {
    return fail("lcore " + std::to_string(lcore.value()) + " is none of the polling lcores");
  }
  if (const int code = rte_eal_remote_launch(run_body, owned.get(), lcore.value()); code != 0) {
    return fail(-code, "starting lcore " + std::to_string(lcore.value()));
  }
  return LcoreTask{lcore, std::move(owned)};
}

LcoreTask::LcoreTask(LcoreId lcore, std::unique_ptr<std::function<void()>> body) noexcept
    : lcore_{lcore}, body_{std::move(body)} {}

LcoreTask::LcoreTask(LcoreTask&& other) noexcept
    : lcore_{other.lcore_}, body_{std::move(other.body_)} {}

LcoreTask& LcoreTask::operator=(LcoreTask&& other) noexcept {
  std::swap(lcore_, other.lcore_);
  std::swap(body_, other.body_);
  return *this;
}

LcoreTask::~LcoreTask() {
  join();
}

void LcoreTask::join() noexcept {
  if (body_ == nullptr) return;
  static_cast<void>(rte_eal_wait_lcore(lcore_.value()));
  body_.reset();
}

bool LcoreTask::running() const noexcept {
  return body_ != nullptr && rte_eal_get_lcore_state(lcore_.value()) == RUNNING;
}

}  // namespace mqsteer
