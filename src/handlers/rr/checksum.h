#pragma once

#include "handlers/rr/bytes.h"

#include <cstddef>
#include <cstdint>

namespace mqsteer::rr {

/// The internet checksum, summed over words as they lie in memory: a one's complement sum is the
/// same in either byte order, so that the result is stored as it lies too.
///
/// Source: RFC 1071, sections 1 and 2 (B)
class Checksum {
 public:
  /// Adds bytes that begin at an even offset of what is summed. size: any; at most 64 KiB in all
  void add(const std::byte* at, std::size_t size) noexcept {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    for (; size >= sizeof(std::uint64_t); at += sizeof(std::uint64_t)) {
      const auto word = load_raw<std::uint64_t>(at);
      low += static_cast<std::uint32_t>(word);
      high += word >> 32U;
      size -= sizeof(std::uint64_t);
    }
    std::uint64_t rest = 0;
    std::memcpy(&rest, at, size);
    sum_ += low + high + static_cast<std::uint32_t>(rest) + (rest >> 32U);
  }
  /// Adds a 16-bit field, given in host order.
  void add_field(std::uint16_t value) noexcept { sum_ += __builtin_bswap16(value); }

  /// The sum folded to 16 bits, in the order of the wire: 0xffff over data and a right checksum.
  [[nodiscard]] std::uint16_t folded() const noexcept {
    std::uint64_t sum = (sum_ & 0xffffffffU) + (sum_ >> 32U);
    sum = (sum & 0xffffU) + (sum >> 16U);
    sum = (sum & 0xffffU) + (sum >> 16U);
    sum = (sum & 0xffffU) + (sum >> 16U);
    return static_cast<std::uint16_t>(sum);
  }
  /// The value for the checksum field, to be stored raw.
  [[nodiscard]] std::uint16_t value() const noexcept {
    return static_cast<std::uint16_t>(~folded());
  }
  [[nodiscard]] bool holds() const noexcept { return folded() == 0xffffU; }

 private:
  std::uint64_t sum_ = 0;
};

}  // namespace mqsteer::rr
