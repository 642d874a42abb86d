#pragma once

#include <mqsteer/error.h>
#include <mqsteer/id.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mqsteer {

/// How DPDK's environment is started.
struct EalConfig {
  /// Names the runtime directory (DPDK's telemetry socket); one a running instance.
  std::string file_prefix = "mqsteer";
  /// CPUs that get a polling lcore, below 128 (DPDK's RTE_MAX_LCORE); the lcore's id is the CPU's
  /// number.
  std::vector<std::uint16_t> cpus;
  /// PCI addresses ("0000:00:14.0") to probe at start; none: the PCI bus is left alone.
  std::vector<std::string> pci_devices;
  /// Use hugepages where enough are free; false: never.
  bool hugepages = true;
  /// Memory for mempools and rings. With hugepages: what must be free, or ordinary pages are used.
  /// Without: all that EAL will ever have. 0: 64 MB.
  std::size_t memory_mb = 0;
  bool telemetry = true;
  /// Handed to rte_eal_init behind our own arguments.
  std::vector<std::string> extra_args;
  /// Gets each line that DPDK logs at warning level or above, without line end. thread: any.
  /// Empty: standard error, as "dpdk: LINE".
  std::function<void(std::string_view)> log;
};

/// A function running on a polling lcore. Joined by join() or by the destructor.
class LcoreTask {
 public:
  LcoreTask(LcoreTask&& other) noexcept;
  LcoreTask& operator=(LcoreTask&& other) noexcept;
  LcoreTask(const LcoreTask&) = delete;
  LcoreTask& operator=(const LcoreTask&) = delete;
  ~LcoreTask();

  /// Waits until the function has returned. Harmless when called twice.
  void join() noexcept;
  [[nodiscard]] bool running() const noexcept;

 private:
  friend class Eal;
  LcoreTask(LcoreId lcore, std::unique_ptr<std::function<void()>> body) noexcept;

  LcoreId lcore_;
  std::unique_ptr<std::function<void()>> body_;  ///< null: joined
};

/// DPDK's environment abstraction layer, initialised. At most once in a process: DPDK cannot start
/// again after its clean-up, so a second init() fails.
///
/// The calling thread keeps its CPU affinity and gets an lcore id of its own beside those of
/// `cpus`, so control work never occupies a polling lcore. Nothing is left in the file system that
/// could block a later start: hugepages are anonymous (--in-memory), and no shared configuration
/// is kept, so kill -9 is harmless.
class Eal {
 public:
  static Expected<Eal> init(const EalConfig& config);

  Eal(Eal&& other) noexcept;
  Eal& operator=(Eal&& other) noexcept;
  Eal(const Eal&) = delete;
  Eal& operator=(const Eal&) = delete;
  /// Ports, mempools and tasks must be gone before.
  ~Eal();

  /// Runs `body` on a polling lcore, one of EalConfig::cpus that runs nothing else.
  /// thread: the one that called init(). `body` must not throw.
  [[nodiscard]] Expected<LcoreTask> launch(LcoreId lcore, std::function<void()> body) const;

  /// Whether memory comes from hugepages.
  [[nodiscard]] bool uses_hugepages() const noexcept { return hugepages_; }

 private:
  explicit Eal(bool hugepages) noexcept : hugepages_{hugepages}, live_{true} {}

  bool hugepages_ = false;
  bool live_ = false;
};

/// Bytes of free hugepages of all sizes and NUMA nodes, as the kernel says; 0 where it has none.
/// Source: Linux Documentation/admin-guide/mm/hugetlbpage.rst
[[nodiscard]] std::size_t free_hugepage_bytes();

/// The same over a directory laid out as /sys/kernel/mm/hugepages.
[[nodiscard]] std::size_t free_hugepage_bytes(const std::string& sysfs_directory);

/// The arguments given to rte_eal_init, the program name first; spare_lcore is the main lcore's.
[[nodiscard]] Expected<std::vector<std::string>> eal_arguments(
    const EalConfig& config, bool hugepages, const std::vector<std::uint16_t>& affinity);

/// NUMA node of a CPU; -1 where the machine has no NUMA nodes. Needs EAL.
[[nodiscard]] int numa_node_of(LcoreId lcore) noexcept;

}  // namespace mqsteer
