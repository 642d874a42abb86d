#pragma once

#include <mqsteer/packet_meta.h>

#include <rte_mbuf.h>

#include <emmintrin.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace mqsteer {

/// How a header line is written: past the cache where another lcore will read it (facts: hot path),
/// into it where the same lcore reads it at once.
enum class LineStore : std::uint8_t { kStreaming, kCached };

/// 64 bytes of ones, then 64 of zeros: loaded at 64 - n it is a mask of the first n bytes.
alignas(64) inline constexpr auto kPrefixMask = [] {
  std::array<std::uint8_t, 128> mask{};
  for (std::size_t i = 0; i < 64; ++i) mask[i] = 0xff;
  return mask;
}();

/// The packet's first bytes, over its segments, into a whole line; the rest of the line is zero.
///
/// returns: valid bytes, at most 64; never one past the packet
/// thread:  owner of the mbuf. A kStreaming line needs a store fence before it is published.
inline std::uint8_t copy_header(const rte_mbuf& mbuf, HeaderLine& line, LineStore store) noexcept {
  const std::uint8_t* bytes = rte_pktmbuf_mtod(&mbuf, const std::uint8_t*);
  std::size_t valid = mbuf.data_len < sizeof(HeaderLine) ? mbuf.data_len : sizeof(HeaderLine);
  HeaderLine gathered;
  const bool room = mbuf.buf_len >= mbuf.data_off + sizeof(HeaderLine);
  if (__builtin_expect(!room || (valid < sizeof(HeaderLine) && mbuf.nb_segs > 1), 0)) {
    valid = mbuf.pkt_len < sizeof(HeaderLine) ? mbuf.pkt_len : sizeof(HeaderLine);
    const void* first =
        rte_pktmbuf_read(&mbuf, 0, static_cast<std::uint32_t>(valid), gathered.bytes.data());
    if (first == nullptr) return 0;
    if (first != gathered.bytes.data()) std::memcpy(gathered.bytes.data(), first, valid);
    bytes = reinterpret_cast<const std::uint8_t*>(gathered.bytes.data());
  }
  const std::uint8_t* mask = kPrefixMask.data() + sizeof(HeaderLine) - valid;
  for (std::size_t at = 0; at < sizeof(HeaderLine); at += sizeof(__m128i)) {
    const __m128i part =
        _mm_and_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + at)),
                      _mm_loadu_si128(reinterpret_cast<const __m128i*>(mask + at)));
    auto* to = reinterpret_cast<__m128i*>(line.bytes.data() + at);
    if (store == LineStore::kStreaming) {
      _mm_stream_si128(to, part);
    } else {
      _mm_store_si128(to, part);
    }
  }
  return static_cast<std::uint8_t>(valid);
}

}  // namespace mqsteer
