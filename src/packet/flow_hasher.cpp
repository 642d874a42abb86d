#include "packet/flow_hasher.h"

#include "packet/dissect_inl.h"

#include <rte_mbuf_core.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace mqsteer {
namespace {

const std::byte* data_of(const rte_mbuf* mbuf) noexcept {
  return static_cast<const std::byte*>(mbuf->buf_addr) + mbuf->data_off;
}

/// Headers that straddle segments: their start is copied together first.
[[gnu::noinline]] Dissection dissect_segments(const rte_mbuf* mbuf,
                                              const KeyOptions& options) noexcept {
  std::array<std::byte, kMaxDissectBytes> bytes;
  std::size_t filled = 0;
  for (const rte_mbuf* part = mbuf; part != nullptr && filled < bytes.size(); part = part->next) {
    const std::size_t size = std::min<std::size_t>(part->data_len, bytes.size() - filled);
    std::memcpy(bytes.data() + filled, data_of(part), size);
    filled += size;
  }
  return dissect_any(bytes.data(), filled, options);
}

void dissect_mbuf(const rte_mbuf* mbuf, const KeyOptions& options, Dissection& out) noexcept {
  if (dissect_common(data_of(mbuf), mbuf->data_len, options.symmetric, out)) return;
  if (mbuf->next != nullptr && mbuf->data_len < kMaxDissectBytes) {
    out = dissect_segments(mbuf, options);
  } else {
    out = dissect_any(data_of(mbuf), mbuf->data_len, options);
  }
}

}  // namespace

FlowHasher::FlowHasher(const HasherConfig& config)
    : config_{config}, options_{.symmetric = config.symmetric, .tunnels = config.tunnels} {
  if (config.kind == HasherConfig::kToeplitz) {
    toeplitz_ = std::make_shared<const Toeplitz>(config.key);
  }
}

void FlowHasher::run(std::span<PacketMeta> burst) const noexcept {
  // Keys first, then hashes: hashing a key just written stalls on store forwarding.
  std::array<Dissection, kMaxBurst> found;
  std::array<std::uint32_t, kMaxBurst> hashes;
  const std::size_t count = std::min(burst.size(), kMaxBurst);
  for (std::size_t i = 0; i < count; ++i) dissect_mbuf(burst[i].mbuf, options_, found[i]);
  if (toeplitz_ != nullptr) {
    toeplitz_->run(std::span{found}.first(count), hashes.data());
  } else {
    for (std::size_t i = 0; i < count; ++i) hashes[i] = fast_hash(found[i].key);
  }
  for (std::size_t i = 0; i < count; ++i) {
    PacketMeta& meta = burst[i];
    const Dissection& dissection = found[i];
    meta.hash = hashes[i];
    meta.length = static_cast<std::uint16_t>(std::min<std::uint32_t>(meta.mbuf->pkt_len, 0xffff));
    meta.kind = dissection.key.kind;
    meta.flags = static_cast<std::uint8_t>(meta.flags | dissection.flags);
    meta.l3 = dissection.l3;
    meta.l4 = dissection.l4;
  }
}

FlowHasher::Explained FlowHasher::explain(const std::byte* data, std::size_t readable,
                                          std::size_t frame_length) const noexcept {
  Explained result{.dissection = dissect(data, readable, frame_length, options_)};
  result.hash = hash_of(result.dissection.key);
  return result;
}

std::uint32_t FlowHasher::hash_of(const FlowKey& key) const noexcept {
  return toeplitz_ != nullptr ? toeplitz_->by_tables(key) : fast_hash(key);
}

}  // namespace mqsteer
