#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mqsteer::bench {

/// Ethernet, IPv4 and TCP headers: what every contender's worker reads of every packet.
inline constexpr std::size_t kFoldedBytes = 54;

/// A checksum of a packet's first 54 bytes. Sums of it do not depend on the packets' order.
inline std::uint64_t fold(const void* bytes) noexcept {
  std::uint64_t sum = 0;
  for (const std::size_t at : {0U, 8U, 16U, 24U, 32U, 40U, 46U}) {
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(bytes) + at, sizeof word);
    sum += word ^ (at * 0x9e3779b97f4a7c15ULL);  // the same word elsewhere is another sum
  }
  return sum;
}

}  // namespace mqsteer::bench
