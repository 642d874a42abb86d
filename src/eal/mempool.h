#pragma once

#include <mqsteer/error.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace mqsteer {

/// What a mempool is to hold.
struct MempoolConfig {
  std::uint32_t mbufs = 0;  ///< at least 1
  /// Bytes an mbuf holds, DPDK's headroom (128) included; at most 65,535.
  std::uint16_t data_room_bytes = RTE_MBUF_DEFAULT_BUF_SIZE;
  /// mbufs each lcore may keep for itself; at most 512 and two thirds of `mbufs`.
  std::uint16_t cache = 256;
  int numa_node = -1;  ///< -1: any
};

/// The memory a pool of this shape takes, to the page.
[[nodiscard]] std::size_t mempool_bytes(const MempoolConfig& config) noexcept;

/// Packet buffers. All of them lie side by side in one piece of memory without gaps: net_af_xdp
/// registers a pool as `mbufs * object size` bytes from its first byte on, and with 4 KB pages
/// DPDK's own pools leave a gap before each page's end, so half of the frames would be outside.
///
/// Every mbuf must be back before the pool is destroyed. The Eal outlives it.
class Mempool {
 public:
  /// name: unique in the process, at most 25 letters
  static Expected<Mempool> create(const std::string& name, const MempoolConfig& config);

  [[nodiscard]] rte_mempool* raw() const noexcept { return pool_.get(); }
  /// mbufs not in use, those in lcore caches included. Not exact while lcores run. thread: any
  [[nodiscard]] std::uint32_t available() const noexcept {
    return rte_mempool_avail_count(pool_.get());
  }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return pool_->size; }
  /// Bytes one mbuf holds, headroom included.
  [[nodiscard]] std::uint16_t data_room_bytes() const noexcept {
    return rte_pktmbuf_data_room_size(pool_.get());
  }

 private:
  struct Free {
    void operator()(rte_mempool* pool) const noexcept { rte_mempool_free(pool); }
  };
  explicit Mempool(rte_mempool* pool) noexcept : pool_{pool} {}

  std::unique_ptr<rte_mempool, Free> pool_;
};

}  // namespace mqsteer
