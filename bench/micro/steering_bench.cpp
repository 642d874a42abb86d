// What steering and hand-over cost on one CPU, hot: the instructions, without the cache lines that
// move between CPUs (bench/steering measures those).

#include "steering/dispatcher.h"
#include "support/fake_mbufs.h"
#include "tsc_per_packet.h"

#include <rte_ring.h>

#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

namespace mqsteer::bench {
namespace {

constexpr std::size_t kBurst = 64;

std::pmr::memory_resource& heap() {
  return *std::pmr::new_delete_resource();
}

/// Bursts whose packets share 64-byte buffers; the hashes are spread over all buckets.
struct Bursts {
  explicit Bursts(std::size_t flows) : packets(flows) {
    const std::vector<std::uint8_t> frame(64, 0x5a);
    for (std::size_t i = 0; i < flows; ++i) {
      packets[i].mbuf = mbufs.make(frame);
      packets[i].hash = static_cast<std::uint32_t>(i * 0x9e3779b1U);
      packets[i].length = 64;
    }
  }
  [[nodiscard]] std::span<const PacketMeta> next() {
    at = (at + kBurst) % packets.size();
    return {packets.data() + at, kBurst};
  }
  test::FakeMbufs mbufs;
  std::vector<PacketMeta> packets;
  std::size_t at = 0;
};

/// Bucket, worker, admission and slot, published and taken again. argument: 1 with header lines
void select_and_stage(benchmark::State& state) {
  Bursts bursts{1024};
  Backlog backlog{{.slots = 1024, .headers = state.range(0) != 0}, heap()};
  SteeringTable table{{}, HasherConfig{}};
  Dispatcher<> dispatcher{{.backlogs = {&backlog}}, heap()};
  dispatcher.adopt(table);
  TscPerPacket tsc{state, kBurst};
  for (auto _ : state) {
    dispatcher.dispatch(bursts.next());
    dispatcher.flush(true);
    benchmark::DoNotOptimize(backlog.take(backlog.look()).packets.data());
    backlog.finish();
  }
}
BENCHMARK(select_and_stage)->Name("steering/select_and_stage/headers")->Arg(0)->Arg(1);

void hand_over(benchmark::State& state) {
  Bursts bursts{1024};
  Backlog backlog{{.slots = 1024}, heap()};
  TscPerPacket tsc{state, kBurst};
  for (auto _ : state) {
    for (const PacketMeta& packet : bursts.next()) {
      if (backlog.room() == 0) backlog.refresh_head();
      backlog.assign(packet);
    }
    backlog.publish();
    benchmark::DoNotOptimize(backlog.take(backlog.look()).packets.data());
    backlog.finish();
  }
}
BENCHMARK(hand_over)->Name("backlog/hand_over");

/// DPDK's own, for pointers: what a hand-over without metadata costs.
void rte_ring_hand_over(benchmark::State& state) {
  Bursts bursts{1024};
  constexpr unsigned kSlots = 1024;
  std::unique_ptr<void, decltype(&std::free)> memory{
      std::aligned_alloc(64, static_cast<std::size_t>(rte_ring_get_memsize(kSlots))), &std::free};
  auto* ring = static_cast<rte_ring*>(memory.get());
  rte_ring_init(ring, "bench", kSlots, RING_F_SP_ENQ | RING_F_SC_DEQ);
  TscPerPacket tsc{state, kBurst};
  for (auto _ : state) {
    std::array<void*, kBurst> mbufs;
    const auto burst = bursts.next();
    for (std::size_t i = 0; i < kBurst; ++i) mbufs[i] = burst[i].mbuf;
    rte_ring_sp_enqueue_burst(ring, mbufs.data(), kBurst, nullptr);
    rte_ring_sc_dequeue_burst(ring, mbufs.data(), kBurst, nullptr);
    benchmark::DoNotOptimize(mbufs.data());
  }
}
BENCHMARK(rte_ring_hand_over)->Name("rte_ring/hand_over");

}  // namespace
}  // namespace mqsteer::bench
