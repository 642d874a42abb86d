// What `fragments: track` costs: FragmentTracker::track over bursts of 64 that were hashed before.

#include "packet/flow_hasher.h"
#include "steering/fragment_tracker.h"
#include "support/fragments.h"
#include "tsc_per_packet.h"

#include <rte_mbuf_core.h>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mqsteer::bench {
namespace {

constexpr std::size_t kDatagrams = 512;  ///< of four fragments each

/// What a datagram sends, in which order.
using Make = std::vector<test::Bytes> (*)(const test::Cut& cut);

std::vector<test::Bytes> whole(const test::Cut& cut) {
  return std::vector<test::Bytes>(4, test::whole(cut));
}
std::vector<test::Bytes> first_first(const test::Cut& cut) {
  return test::fragments(cut);
}
std::vector<test::Bytes> first_last(const test::Cut& cut) {
  auto parts = test::fragments(cut);
  std::swap(parts.front(), parts.back());
  return parts;
}

/// Hashed packets, a burst after the other.
class Traffic {
 public:
  Traffic(Make make, const FlowHasher& hasher)
      : bytes_(kPackets), mbufs_(kPackets), metas_(kPackets) {
    for (std::size_t i = 0; i < kDatagrams; ++i) {
      const auto flow = static_cast<unsigned>(i);
      const auto parts = make({.source_port = 1000 + flow, .id = static_cast<std::uint16_t>(i)});
      for (std::size_t part = 0; part < 4; ++part) bytes_[i * 4 + part] = parts.at(part);
    }
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      mbufs_[i].buf_addr = bytes_[i].data();
      mbufs_[i].data_len = static_cast<std::uint16_t>(bytes_[i].size());
      mbufs_[i].pkt_len = mbufs_[i].data_len;
      metas_[i].mbuf = &mbufs_[i];
    }
    hasher.run(metas_);
  }
  std::span<PacketMeta> burst(std::size_t i) {
    return std::span{metas_}.subspan(i * kMaxBurst % metas_.size(), kMaxBurst);
  }

 private:
  static constexpr std::size_t kPackets = kDatagrams * 4;

  std::vector<test::Bytes> bytes_;
  std::vector<rte_mbuf> mbufs_;
  std::vector<PacketMeta> metas_;
};

void fragments_track(benchmark::State& state, Make make, HasherConfig config) {
  const FlowHasher hasher{config};
  Traffic traffic{make, hasher};
  FragmentTracker tracker{1'000'000'000, *std::pmr::new_delete_resource()};
  tracker.adopt(hasher);
  std::size_t i = 0;
  const TscPerPacket cycles{state, kMaxBurst};
  for (auto _ : state) {
    ++i;
    const auto out = tracker.track(traffic.burst(i), TscCycles{i * 1000});
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
}

BENCHMARK_CAPTURE(fragments_track, none_come, whole, HasherConfig{});
BENCHMARK_CAPTURE(fragments_track, first_first, first_first, HasherConfig{});
BENCHMARK_CAPTURE(fragments_track, first_last, first_last, HasherConfig{});
BENCHMARK_CAPTURE(fragments_track, first_first_toeplitz, first_first,
                  HasherConfig{.kind = HasherConfig::kToeplitz});

}  // namespace
}  // namespace mqsteer::bench
