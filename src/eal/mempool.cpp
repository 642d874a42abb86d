#include "eal/mempool.h"

#include "eal/dpdk_log.h"
#include "eal/eal.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_memzone.h>

#include <unistd.h>

#include <utility>

namespace mqsteer {
namespace {

constexpr std::size_t kBytesPerMb = std::size_t{1} << 20U;
constexpr std::size_t kHugepageBytes = 2 * kBytesPerMb;

std::uint32_t element_bytes(const MempoolConfig& config) noexcept {
  return static_cast<std::uint32_t>(sizeof(rte_mbuf)) + config.data_room_bytes;
}

std::string no_memory(const std::string& name, const MempoolConfig& config) {
  const std::size_t bytes = mempool_bytes(config);
  std::string text = "mempool " + name + ": " + std::to_string(config.mbufs) + " mbufs of " +
                     std::to_string(config.data_room_bytes) + " bytes take " +
                     std::to_string((bytes + kBytesPerMb - 1) / kBytesPerMb) + " MB";
  if (rte_eal_has_hugepages() != 0) {
    const std::size_t pages = (bytes + kHugepageBytes - 1) / kHugepageBytes;
    return text + " of hugepages and " + std::to_string(free_hugepage_bytes() / kBytesPerMb) +
           " MB are free; give the kernel " + std::to_string(pages) +
           " more pages of 2 MB (vm.nr_hugepages), or lower backlog_budget or rx_descriptors";
  }
  return text +
         ", more than DPDK was started with; lower backlog_budget or rx_descriptors, or "
         "use hugepages";
}

void free_memzone(rte_mempool_memhdr* /*chunk*/, void* zone) {
  static_cast<void>(rte_memzone_free(static_cast<const rte_memzone*>(zone)));
}

/// Fills the pool from one memzone, object beside object. Where buses see virtual addresses, any
/// virtually contiguous memory will do; else DPDK's own way, which minds physical pages.
int populate(rte_mempool* pool, const std::string& name, const MempoolConfig& config) {
  if (rte_eal_iova_mode() != RTE_IOVA_VA) return rte_mempool_populate_default(pool);
  const std::string zone_name = "MQ_" + name;
  const rte_memzone* zone = rte_memzone_reserve_aligned(
      zone_name.c_str(), mempool_bytes(config), config.numa_node,
      RTE_MEMZONE_1GB | RTE_MEMZONE_SIZE_HINT_ONLY, static_cast<unsigned>(sysconf(_SC_PAGESIZE)));
  if (zone == nullptr) return -ENOMEM;
  const int added =
      rte_mempool_populate_iova(pool, static_cast<char*>(zone->addr), zone->iova, zone->len,
                                free_memzone, const_cast<rte_memzone*>(zone));
  if (added <= 0) static_cast<void>(rte_memzone_free(zone));
  return added;
}

Expected<void> check(const std::string& name, const MempoolConfig& config) {
  constexpr std::size_t kLongestName = RTE_MEMZONE_NAMESIZE - sizeof "MP_" - 3;
  if (name.empty() || name.size() > kLongestName) {
    return fail("mempool " + name + ": a name has 1 to " + std::to_string(kLongestName) +
                " letters");
  }
  if (config.mbufs == 0) return fail("mempool " + name + ": 0 mbufs are none");
  if (config.data_room_bytes < RTE_PKTMBUF_HEADROOM) {
    return fail("mempool " + name + ": a data room of " + std::to_string(config.data_room_bytes) +
                " bytes has no room for the headroom of " + std::to_string(RTE_PKTMBUF_HEADROOM));
  }
  return {};
}

}  // namespace

std::size_t mempool_bytes(const MempoolConfig& config) noexcept {
  rte_mempool_objsz size;
  static_cast<void>(rte_mempool_calc_obj_size(element_bytes(config), 0, &size));
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = std::size_t{size.total_size} * config.mbufs;
  return (bytes + page - 1) / page * page;
}

Expected<Mempool> Mempool::create(const std::string& name, const MempoolConfig& config) {
  if (auto checked = check(name, config); !checked) return tl::unexpected(checked.error());
  // With this flag DPDK lets an object lie across the boundary of two pages.
  const unsigned flags = rte_eal_iova_mode() == RTE_IOVA_VA ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0;
  const DpdkLogCapture capture;
  Mempool pool{rte_mempool_create_empty(name.c_str(), config.mbufs, element_bytes(config),
                                        config.cache, sizeof(rte_pktmbuf_pool_private),
                                        config.numa_node, flags)};
  if (pool.raw() == nullptr) {
    const int code = rte_errno;
    return code == ENOMEM ? fail(no_memory(name, config))
                          : fail(code, with_dpdk_reason("mempool " + name, capture));
  }
  if (const int code = rte_mempool_set_ops_byname(pool.raw(), rte_mbuf_best_mempool_ops(), nullptr);
      code != 0) {
    return fail(-code, "mempool " + name + ": choosing how DPDK keeps it");
  }
  rte_pktmbuf_pool_private shape{};
  shape.mbuf_data_room_size = config.data_room_bytes;
  rte_pktmbuf_pool_init(pool.raw(), &shape);
  if (const int added = populate(pool.raw(), name, config); added < 0) {
    return added == -ENOMEM ? fail(no_memory(name, config))
                            : fail(-added, with_dpdk_reason("mempool " + name, capture));
  }
  if (pool.raw()->populated_size < config.mbufs) return fail(no_memory(name, config));
  // The flag says as well that no device can use the pool, which is wrong here: it was filled with
  // bus addresses.
  pool.raw()->flags &= ~(RTE_MEMPOOL_F_NO_IOVA_CONTIG | RTE_MEMPOOL_F_NON_IO);
  static_cast<void>(rte_mempool_obj_iter(pool.raw(), rte_pktmbuf_init, nullptr));
  return pool;
}

}  // namespace mqsteer
