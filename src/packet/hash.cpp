#include "packet/hash.h"

#include <immintrin.h>

namespace mqsteer {
namespace {

/// The 32 bits of the key that begin at a bit.
std::uint32_t window(std::span<const std::uint8_t> key, std::size_t bit) noexcept {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    const std::size_t at = bit / 8 + i;
    bits = bits << 8U | (at < key.size() ? key[at] : 0U);
  }
  return static_cast<std::uint32_t>(bits >> (8 - bit % 8));
}

std::uint64_t reversed(std::uint64_t value) noexcept {
  std::uint64_t result = 0;
  for (unsigned i = 0; i < 64; ++i) result |= (value >> i & 1U) << (63 - i);
  return result;
}

}  // namespace

bool is_symmetric(const ToeplitzKey& key) noexcept {
  for (std::size_t i = 2; i < key.size(); ++i) {
    if (key[i] != key[i - 2]) return false;
  }
  return true;
}

std::uint32_t toeplitz_reference(std::span<const std::uint8_t> key,
                                 std::span<const std::uint8_t> input) noexcept {
  std::uint32_t hash = 0;
  for (std::size_t bit = 0; bit < input.size() * 8; ++bit) {
    const bool set = (input[bit / 8] >> (7 - bit % 8) & 1U) != 0;
    if (set) hash ^= window(key, bit);
  }
  return hash;
}

Toeplitz::Toeplitz(const ToeplitzKey& key) noexcept {
  for (std::size_t word = 0; word < windows_.size(); ++word) {
    const std::uint64_t high = window(key, word * 32);
    windows_[word] = reversed(high << 32U | window(key, word * 32 + 32));
  }
  for (std::size_t byte = 0; byte < tables_.size(); ++byte) {
    for (unsigned value = 0; value < 256; ++value) {
      std::uint32_t hash = 0;
      for (unsigned bit = 0; bit < 8; ++bit) {
        if ((value >> (7 - bit) & 1U) != 0) hash ^= window(key, byte * 8 + bit);
      }
      tables_[byte][value] = hash;
    }
  }
  set_variant(has_carryless() ? Variant::kCarryless : Variant::kTables);
}

bool Toeplitz::has_carryless() noexcept {
  return __builtin_cpu_supports("pclmul") != 0;
}

void Toeplitz::set_variant(Variant variant) noexcept {
  variant_ = variant;
  run_ = variant == Variant::kCarryless ? run_carryless : run_tables;
}

std::uint32_t Toeplitz::by_tables(const FlowKey& key) const noexcept {
  std::uint32_t hash = 0;
  const std::size_t words = key.word_count();
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint32_t word = key.words[i];
    const auto* table = &tables_[i * 4];
    hash ^= table[0][word >> 24U] ^ table[1][word >> 16U & 0xffU] ^ table[2][word >> 8U & 0xffU] ^
            table[3][word & 0xffU];
  }
  return hash;
}

void Toeplitz::run_tables(const Toeplitz& self, std::span<const Dissection> packets,
                          std::uint32_t* hashes) noexcept {
  for (std::size_t i = 0; i < packets.size(); ++i) hashes[i] = self.by_tables(packets[i].key);
}

// A Toeplitz hash is a carry-less product: bit j of the result is the sum of x[i] k[i+j]. With the
// input word as it is (x[i] at bit 31-i) and the key window reversed (k[m] at bit m), that sum
// stands at bit 31+j of their product; so the products of all words are added, shifted right by 31,
// and the 32 bits reversed once.
__attribute__((target("pclmul"))) void Toeplitz::run_carryless(const Toeplitz& self,
                                                               std::span<const Dissection> packets,
                                                               std::uint32_t* hashes) noexcept {
  const auto two = [&self](const FlowKey& key, std::size_t i)
      __attribute__((target("pclmul"), always_inline)) {
    const auto* words = reinterpret_cast<const __m128i*>(&key.words[i]);
    const auto* windows = reinterpret_cast<const __m128i*>(&self.windows_[i]);
    const __m128i input = _mm_cvtepu32_epi64(_mm_loadl_epi64(words));
    const __m128i window = _mm_load_si128(windows);
    return _mm_xor_si128(_mm_clmulepi64_si128(input, window, 0x00),
                         _mm_clmulepi64_si128(input, window, 0x11));
  };
  const auto one = [&self](const FlowKey& key, std::size_t i)
      __attribute__((target("pclmul"), always_inline)) {
    return _mm_clmulepi64_si128(_mm_cvtsi32_si128(static_cast<int>(key.words[i])),
                                _mm_cvtsi64_si128(static_cast<std::int64_t>(self.windows_[i])), 0);
  };
  for (std::size_t n = 0; n < packets.size(); ++n) {
    const FlowKey& key = packets[n].key;
    __m128i sum = two(key, 0);
    if (key.family == AddressFamily::kIpv4) {
      sum = _mm_xor_si128(sum, one(key, 2));
    } else {
      sum = _mm_xor_si128(sum, two(key, 2));
    }
    if (key.family == AddressFamily::kIpv6) {
      sum = _mm_xor_si128(_mm_xor_si128(sum, two(key, 4)), _mm_xor_si128(two(key, 6), one(key, 8)));
    }
    hashes[n] =
        static_cast<std::uint32_t>(static_cast<std::uint64_t>(_mm_cvtsi128_si64(sum)) >> 31U);
  }
  for (std::size_t n = 0; n < packets.size(); ++n) {
    std::uint32_t x = __builtin_bswap32(hashes[n]);
    x = (x >> 4U & 0x0f0f0f0fU) | (x & 0x0f0f0f0fU) << 4U;
    x = (x >> 2U & 0x33333333U) | (x & 0x33333333U) << 2U;
    x = (x >> 1U & 0x55555555U) | (x & 0x55555555U) << 1U;
    hashes[n] = x;
  }
}

}  // namespace mqsteer
