#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mqsteer {

/// Big-endian loads from unaligned bytes. The caller has checked the bounds.
[[nodiscard]] inline std::uint16_t load_be16(const std::byte* at) noexcept {
  std::uint16_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap16(value);
}

[[nodiscard]] inline std::uint32_t load_be32(const std::byte* at) noexcept {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap32(value);
}

[[nodiscard]] inline std::uint64_t load_be64(const std::byte* at) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap64(value);
}

}  // namespace mqsteer
