#pragma once

#include <rte_malloc.h>

#include <memory_resource>
#include <new>

namespace mqsteer {

/// DPDK's heap (hugepages where EAL has them) on one NUMA node, for what the data path reads.
/// EAL must be up for as long as anything of it is in use. Throws std::bad_alloc when it is full.
class RteMemory final : public std::pmr::memory_resource {
 public:
  /// node: -1 for any
  explicit RteMemory(int node) noexcept : node_{node} {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes == 0) bytes = 1;
    void* memory = rte_malloc_socket("mqsteer", bytes, static_cast<unsigned>(alignment), node_);
    if (memory == nullptr) throw std::bad_alloc{};
    return memory;
  }
  void do_deallocate(void* memory, std::size_t /*bytes*/, std::size_t /*alignment*/) override {
    rte_free(memory);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  int node_;
};

}  // namespace mqsteer
