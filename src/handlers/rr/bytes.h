#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mqsteer::rr {

/// Loads and stores of unaligned bytes; the caller has checked the bounds. "raw" keeps the order of
/// the wire, for what is only compared, copied or summed.
template <class T>
[[nodiscard]] inline T load_raw(const std::byte* at) noexcept {
  T value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
inline void store_raw(std::byte* at, const T& value) noexcept {
  std::memcpy(at, &value, sizeof value);
}
inline void store_be16(std::byte* at, std::uint16_t value) noexcept {
  store_raw(at, __builtin_bswap16(value));
}
inline void store_be32(std::byte* at, std::uint32_t value) noexcept {
  store_raw(at, __builtin_bswap32(value));
}
[[nodiscard]] inline std::uint8_t load_u8(const std::byte* at) noexcept {
  return std::to_integer<std::uint8_t>(*at);
}

}  // namespace mqsteer::rr
