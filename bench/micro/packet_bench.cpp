// From mbufs to flow hashes: FlowHasher::run over bursts of 64, 1,024 flows in random order.

#include "packet/flow_hasher.h"
#include "support/packet_builder.h"
#include "tsc_per_packet.h"

#include <rte_mbuf_core.h>

#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace mqsteer::bench {
namespace {

using test::Bytes;
using test::Packet;

constexpr std::size_t kFlows = 1024;

/// 1,024 mbufs of one kind of packet, addresses and ports of their own each.
class Traffic {
 public:
  using Make = Packet (*)(std::mt19937& random);
  explicit Traffic(Make make) : mbufs_(kFlows), bytes_(kFlows), metas_(kFlows) {
    std::mt19937 random{1};
    for (std::size_t i = 0; i < kFlows; ++i) {
      bytes_[i] = make(random).bytes();
      bytes_[i].resize(std::max<std::size_t>(bytes_[i].size(), 60));
      mbufs_[i].buf_addr = bytes_[i].data();
      mbufs_[i].data_len = static_cast<std::uint16_t>(bytes_[i].size());
      mbufs_[i].pkt_len = mbufs_[i].data_len;
      mbufs_[i].nb_segs = 1;
      metas_[i].mbuf = &mbufs_[i];
    }
  }
  std::span<PacketMeta> burst(std::size_t i) {
    return std::span{metas_}.subspan(i * kMaxBurst % kFlows, kMaxBurst);
  }

 private:
  std::vector<rte_mbuf> mbufs_;
  std::vector<Bytes> bytes_;
  std::vector<PacketMeta> metas_;
};

std::string v4(std::mt19937& random) {
  return "10." + std::to_string(random() % 256) + "." + std::to_string(random() % 256) + ".1";
}
std::string v6(std::mt19937& random) {
  return "2001:db8::" + std::to_string(random() % 10000);
}
unsigned port(std::mt19937& random) {
  return 10000 + static_cast<unsigned>(random() % 50000);
}

Packet tcp4(std::mt19937& r) {
  return Packet{}.ethernet().ipv4(v4(r), v4(r)).tcp(port(r), port(r));
}
Packet vlan_udp4(std::mt19937& r) {
  return Packet{}.ethernet().vlan(7).ipv4(v4(r), v4(r)).udp(port(r), port(r));
}
Packet tcp6(std::mt19937& r) {
  return Packet{}.ethernet().ipv6(v6(r), v6(r)).tcp(port(r), port(r));
}
Packet vxlan(std::mt19937& r) {
  return Packet{}
      .ethernet()
      .ipv4("10.0.0.1", "10.0.0.2")
      .vxlan()
      .ethernet()
      .ipv4(v4(r), v4(r))
      .tcp(port(r), port(r));
}
Packet mixed(std::mt19937& r) {
  switch (r() % 8) {
    case 0:
      return vlan_udp4(r);
    case 1:
      return tcp6(r);
    case 2:
      return vxlan(r);
    case 3:
      return Packet{}.ethernet().ipv4(v4(r), v4(r)).icmp(8, 0, 1);
    case 4:
      return Packet{}.ethernet().arp();
    default:
      return tcp4(r);
  }
}

void packet_run(benchmark::State& state, Traffic::Make make, HasherConfig config) {
  Traffic traffic{make};
  const FlowHasher hasher{config};
  std::size_t i = 0;
  const TscPerPacket cycles{state, kMaxBurst};
  for (auto _ : state) {
    const auto burst = traffic.burst(i++);
    hasher.run(burst);
    benchmark::DoNotOptimize(burst.data());
    benchmark::ClobberMemory();
  }
}

constexpr HasherConfig kFast{};
constexpr HasherConfig kFastWireOrder{.symmetric = false};
constexpr HasherConfig kToeplitz{.kind = HasherConfig::kToeplitz};

BENCHMARK_CAPTURE(packet_run, tcp4_fast, tcp4, kFast);
BENCHMARK_CAPTURE(packet_run, tcp4_fast_wire_order, tcp4, kFastWireOrder);
BENCHMARK_CAPTURE(packet_run, tcp4_toeplitz, tcp4, kToeplitz);
BENCHMARK_CAPTURE(packet_run, vlan_udp4_fast, vlan_udp4, kFast);
BENCHMARK_CAPTURE(packet_run, tcp6_fast, tcp6, kFast);
BENCHMARK_CAPTURE(packet_run, tcp6_toeplitz, tcp6, kToeplitz);
BENCHMARK_CAPTURE(packet_run, vxlan_fast, vxlan, kFast);
BENCHMARK_CAPTURE(packet_run, mixed_fast, mixed, kFast);

}  // namespace
}  // namespace mqsteer::bench
