#pragma once

#include <atomic>

namespace mqsteer {

/// Asks for a cache line of a large table ahead of its use, by loading from it.
///
/// A prefetch instruction is a hint, which is dropped where the page is not in the TLB; a load is
/// not, and nobody waits for it while nothing is made of its value. Only for memory that may be
/// read. Measured (AMD EPYC in a VM, whose host maps the guest's huge pages in small ones; tables
/// of 48 MB): 2.67 M transactions a second with prefetches, 3.10 M with loads.
template <class T>
inline void touch(const T& first) noexcept {
  const T value = first;
  asm volatile("" : : "r"(value));
}
template <class T>
inline void touch(const std::atomic<T>& first) noexcept {
  touch(first.load(std::memory_order_relaxed));
}

}  // namespace mqsteer
