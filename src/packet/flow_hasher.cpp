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

using Start = std::array<std::byte, kMaxDissectBytes>;

bool straddles(const rte_mbuf* mbuf) noexcept {
  return mbuf->next != nullptr && mbuf->data_len < kMaxDissectBytes;
}

/// Copies the start of a packet in segments together. returns: bytes copied
std::size_t gather(const rte_mbuf* mbuf, Start& bytes) noexcept {
  std::size_t filled = 0;
  for (const rte_mbuf* part = mbuf; part != nullptr && filled < bytes.size(); part = part->next) {
    const std::size_t size = std::min<std::size_t>(part->data_len, bytes.size() - filled);
    std::memcpy(bytes.data() + filled, data_of(part), size);
    filled += size;
  }
  return filled;
}

/// Headers that straddle segments.
[[gnu::noinline]] Dissection dissect_segments(const rte_mbuf* mbuf,
                                              const KeyOptions& options) noexcept {
  Start bytes;
  const std::size_t filled = gather(mbuf, bytes);
  return dissect_any(bytes.data(), filled, options);
}

/// Anything but the common packets.
[[gnu::noinline]] Dissection dissect_rare(const rte_mbuf* mbuf,
                                          const KeyOptions& options) noexcept {
  if (straddles(mbuf)) return dissect_segments(mbuf, options);
  return dissect_any(data_of(mbuf), mbuf->data_len, options);
}

void fill(PacketMeta& meta, const Dissection& dissection, std::uint32_t hash) noexcept {
  meta.hash = hash;
  meta.length = static_cast<std::uint16_t>(std::min<std::uint32_t>(meta.mbuf->pkt_len, 0xffff));
  meta.kind = dissection.key.kind;
  meta.flags = static_cast<std::uint8_t>(meta.flags | dissection.flags);
  meta.l3 = dissection.l3;
  meta.l4 = dissection.l4;
}

[[gnu::noinline]] void run_rare(PacketMeta& meta, const KeyOptions& options) noexcept {
  const Dissection dissection = dissect_rare(meta.mbuf, options);
  fill(meta, dissection, fast_hash(dissection.key));
}

/// One pass: the keys of common packets never leave the registers.
void run_fast(std::span<PacketMeta> burst, const KeyOptions& options) noexcept {
  for (PacketMeta& meta : burst) {
    Dissection common;
    if (dissect_common(data_of(meta.mbuf), meta.mbuf->data_len, options.symmetric, common)) {
      fill(meta, common, fast_hash(common.key));
    } else {
      run_rare(meta, options);
    }
  }
}

/// Two passes, keys first: hashing a key just written stalls on store forwarding.
void run_toeplitz(std::span<PacketMeta> burst, const KeyOptions& options,
                  const Toeplitz& toeplitz) noexcept {
  // Left uninitialised: clearing it costs as much as half a dissection.
  alignas(Dissection) std::array<std::byte, sizeof(Dissection) * kMaxBurst> storage;
  auto* found = reinterpret_cast<Dissection*>(storage.data());
  std::array<std::uint32_t, kMaxBurst> hashes;
  for (std::size_t i = 0; i < burst.size(); ++i) {
    const rte_mbuf* mbuf = burst[i].mbuf;
    if (!dissect_common(data_of(mbuf), mbuf->data_len, options.symmetric, found[i])) {
      found[i] = dissect_rare(mbuf, options);
    }
  }
  toeplitz.run({found, burst.size()}, hashes.data());
  for (std::size_t i = 0; i < burst.size(); ++i) fill(burst[i], found[i], hashes[i]);
}

}  // namespace

FlowHasher::FlowHasher(const HasherConfig& config)
    : config_{config}, options_{.symmetric = config.symmetric, .tunnels = config.tunnels} {
  if (config.kind == HasherConfig::kToeplitz) {
    toeplitz_ = std::make_shared<const Toeplitz>(config.key);
  }
}

void FlowHasher::run(std::span<PacketMeta> burst) const noexcept {
  if (toeplitz_ == nullptr) return run_fast(burst, options_);
  for (; burst.size() > kMaxBurst; burst = burst.subspan(kMaxBurst)) {
    run_toeplitz(burst.first(kMaxBurst), options_, *toeplitz_);
  }
  run_toeplitz(burst, options_, *toeplitz_);
}

std::optional<Fragment> FlowHasher::fragment_of(const rte_mbuf& mbuf) const noexcept {
  if (!straddles(&mbuf)) return dissect_fragment(data_of(&mbuf), mbuf.data_len, options_);
  Start bytes;
  const std::size_t filled = gather(&mbuf, bytes);
  return dissect_fragment(bytes.data(), filled, options_);
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
