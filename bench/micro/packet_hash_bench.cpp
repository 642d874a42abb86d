// The hashes alone, beside DPDK's: one key, 64 at a time, keys made before.

#include "packet/hash.h"
#include "tsc_per_packet.h"

#include <rte_jhash.h>
#include <rte_thash.h>

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <random>

namespace mqsteer::bench {
namespace {

using Keys = std::array<Dissection, kMaxBurst>;
using Hashes = std::array<std::uint32_t, kMaxBurst>;

Keys keys(AddressFamily family) {
  std::mt19937 random{1};
  Keys all{};
  for (Dissection& packet : all) {
    packet.key.family = family;
    packet.key.protocol = 6;
    for (auto& word : packet.key.words) word = static_cast<std::uint32_t>(random());
  }
  return all;
}

template <class Hash>
void run(benchmark::State& state, AddressFamily family, Hash hash) {
  Keys all = keys(family);
  Hashes hashes{};
  const TscPerPacket cycles{state, kMaxBurst};
  for (auto _ : state) {
    benchmark::DoNotOptimize(all.data());
    hash(all, hashes);
    benchmark::DoNotOptimize(hashes.data());
    benchmark::ClobberMemory();
  }
}

void fast(benchmark::State& state, AddressFamily family) {
  run(state, family, [](const Keys& all, Hashes& hashes) {
    for (std::size_t i = 0; i < all.size(); ++i) hashes[i] = fast_hash(all[i].key);
  });
}

void toeplitz(benchmark::State& state, AddressFamily family, Toeplitz::Variant variant) {
  if (variant == Toeplitz::Variant::kCarryless && !Toeplitz::has_carryless()) {
    return state.SkipWithError("this CPU has no PCLMULQDQ");
  }
  static Toeplitz object{kMicrosoftKey};
  object.set_variant(variant);
  run(state, family, [](const Keys& all, Hashes& hashes) { object.run(all, hashes.data()); });
}

void dpdk_softrss_be(benchmark::State& state, AddressFamily family) {
  std::array<std::uint8_t, 40> key{};
  rte_convert_rss_key(reinterpret_cast<const std::uint32_t*>(kMicrosoftKey.data()),
                      reinterpret_cast<std::uint32_t*>(key.data()), 40);
  run(state, family, [&key](Keys& all, Hashes& hashes) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      hashes[i] = rte_softrss_be(all[i].key.words.data(),
                                 static_cast<std::uint32_t>(all[i].key.word_count()), key.data());
    }
  });
}

void dpdk_jhash(benchmark::State& state, AddressFamily family) {
  run(state, family, [](const Keys& all, Hashes& hashes) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      hashes[i] = rte_jhash_32b(all[i].key.words.data(),
                                static_cast<std::uint32_t>(all[i].key.word_count()), 6);
    }
  });
}

BENCHMARK_CAPTURE(fast, packet_hash_ipv4, AddressFamily::kIpv4);
BENCHMARK_CAPTURE(fast, packet_hash_ipv6, AddressFamily::kIpv6);
BENCHMARK_CAPTURE(dpdk_jhash, packet_hash_ipv4, AddressFamily::kIpv4);
BENCHMARK_CAPTURE(dpdk_jhash, packet_hash_ipv6, AddressFamily::kIpv6);
BENCHMARK_CAPTURE(toeplitz, packet_hash_ipv4_carryless, AddressFamily::kIpv4,
                  Toeplitz::Variant::kCarryless);
BENCHMARK_CAPTURE(toeplitz, packet_hash_ipv6_carryless, AddressFamily::kIpv6,
                  Toeplitz::Variant::kCarryless);
BENCHMARK_CAPTURE(toeplitz, packet_hash_ipv4_tables, AddressFamily::kIpv4,
                  Toeplitz::Variant::kTables);
BENCHMARK_CAPTURE(toeplitz, packet_hash_ipv6_tables, AddressFamily::kIpv6,
                  Toeplitz::Variant::kTables);
BENCHMARK_CAPTURE(dpdk_softrss_be, packet_hash_ipv4, AddressFamily::kIpv4);
BENCHMARK_CAPTURE(dpdk_softrss_be, packet_hash_ipv6, AddressFamily::kIpv6);

}  // namespace
}  // namespace mqsteer::bench
