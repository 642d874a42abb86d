#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mqsteer::rr {

using SipKey = std::array<std::uint64_t, 2>;

/// SipHash-2-4 of whole 64-bit words: a keyed hash that a sender cannot predict.
///
/// Source: Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012
[[nodiscard]] constexpr std::uint64_t siphash(const SipKey& key,
                                              std::span<const std::uint64_t> words) noexcept {
  std::uint64_t v0 = key[0] ^ 0x736f6d6570736575U;
  std::uint64_t v1 = key[1] ^ 0x646f72616e646f6dU;
  std::uint64_t v2 = key[0] ^ 0x6c7967656e657261U;
  std::uint64_t v3 = key[1] ^ 0x7465646279746573U;
  const auto rounds = [&](int count) {
    for (; count > 0; --count) {
      v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
      v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
    }
  };
  const auto absorb = [&](std::uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  };
  for (const std::uint64_t word : words) absorb(word);
  absorb(static_cast<std::uint64_t>(words.size() * sizeof(std::uint64_t)) << 56U);
  v2 ^= 0xffU;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace mqsteer::rr
