#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <span>
#include <type_traits>
#include <utility>

namespace mqsteer {

inline constexpr std::size_t kCacheLine = 64;

/// A fixed array that starts on a cache line; zero-initialised and touched at creation, so that the
/// data path takes no page fault. Move-only.
///
/// The memory comes from the given resource (hugepages near an lcore in the runtime, the heap in
/// tests), which must outlive the array.
template <class T>
requires std::is_trivially_destructible_v<T>
class AlignedArray {
 public:
  AlignedArray() = default;
  AlignedArray(std::size_t size, std::pmr::memory_resource& memory)
      : data_{static_cast<T*>(memory.allocate(size * kElementBytes, kCacheLine)),
              Free{&memory, size * kElementBytes}},
        size_{size} {
    std::uninitialized_value_construct_n(data_.get(), size);
  }

  [[nodiscard]] T* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T& operator[](std::size_t index) const noexcept { return data_.get()[index]; }
  [[nodiscard]] std::span<T> span() const noexcept { return {data_.get(), size_}; }

 private:
  // NOLINTNEXTLINE(bugprone-sizeof-expression): where T is a pointer, pointers are what is kept
  static constexpr std::size_t kElementBytes = sizeof(T);

  struct Free {
    std::pmr::memory_resource* memory = nullptr;
    std::size_t bytes = 0;
    void operator()(T* data) const noexcept { memory->deallocate(data, bytes, kCacheLine); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace mqsteer
