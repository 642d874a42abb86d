#pragma once

#include "eal/mempool.h"
#include "runtime/runtime.h"
#include "support/eal_once.h"
#include "support/ring_port.h"

#include <rte_eth_ring.h>
#include <rte_ring.h>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace mqsteer::test {

/// A runtime between two net_ring ports of one RX queue each, `left` and `right`. Tests put packets
/// into a port's `in` and take what it has transmitted from its `out`. All TX queues of a port end
/// in one ring, so that `out` has the order in which workers transmitted.
class RingBox {
 public:
  struct End {
    rte_ring* in = nullptr;
    rte_ring* out = nullptr;
    std::uint16_t port = 0;
  };
  static constexpr unsigned kRingSlots = 16384;
  static constexpr unsigned kSourceMbufs = 32767;

  /// loops: made when the ports are known; gets their capabilities
  /// hands_over: the handler's kHandsOver
  template <class MakeLoops>
  RingBox(Config config, MakeLoops make_loops, bool hands_over = false) {
    auto pool = Mempool::create(unique("source"), {.mbufs = kSourceMbufs});
    if (!pool) throw std::runtime_error(pool.error().text());
    pool_ = std::make_unique<Mempool>(std::move(*pool));
    config.ports = {{.name = "left", .device = "net_ring_left"},
                    {.name = "right", .device = "net_ring_right"}};
    config.bridges = {{.name = "br0", .ports = {"left", "right"}}};
    if (config.lcores.empty()) config.lcores = {0, 1};
    const auto workers = static_cast<std::uint16_t>(config.lcores.size());
    std::vector<PortCapabilities> ports;
    for (End* end : {&left, &right}) {
      open(*end, workers);
      ports.push_back(ring_port(end->port, end == &left ? "left" : "right", workers));
    }
    PlanInput input{.config = config, .hands_over = hands_over};
    for (const auto cpu : config.lcores) input.lcores.emplace_back(cpu);
    for (std::size_t i = 0; i < 2; ++i) input.ports.push_back(facts_of(ports[i], config.ports[i]));
    auto plan = make_plan(input);
    if (!plan) throw std::runtime_error(plan.error().text());
    auto started = Runtime::start({.eal = &*eal_once(),
                                   .config = config,
                                   .plan = *plan,
                                   .ports = ports,
                                   .loops = make_loops(config, ports)});
    if (!started) throw std::runtime_error(started.error().text());
    runtime = std::move(*started);
  }
  RingBox(const RingBox&) = delete;
  RingBox& operator=(const RingBox&) = delete;
  RingBox(RingBox&&) = delete;
  RingBox& operator=(RingBox&&) = delete;

  ~RingBox() {
    runtime.reset();
    for (const End& end : {left, right}) {
      free_all(end.in);
      free_all(end.out);
    }
  }

  [[nodiscard]] rte_mempool* pool() const { return pool_->raw(); }

  /// Puts a packet into a port. returns: false where its ring is full; the mbuf stays yours
  static bool put(const End& end, rte_mbuf* mbuf) { return rte_ring_enqueue(end.in, mbuf) == 0; }

  /// Takes up to 64 transmitted packets and gives them to `see`, then frees them.
  template <class See>
  static unsigned take(const End& end, See see) {
    std::array<void*, 64> mbufs;
    const unsigned count = rte_ring_dequeue_burst(end.out, mbufs.data(), mbufs.size(), nullptr);
    for (unsigned i = 0; i < count; ++i) {
      auto* mbuf = static_cast<rte_mbuf*>(mbufs[i]);
      see(*mbuf);
      rte_pktmbuf_free(mbuf);
    }
    return count;
  }

  /// Stops, and checks the accounts to the packet and that every mbuf is back.
  void stop_and_check() {
    const auto stopped = runtime->stop();
    ASSERT_TRUE(stopped) << stopped.error().text();
    for (const End& end : {left, right}) {
      while (take(end, [](const rte_mbuf&) {}) != 0) {
      }
      drain_input(end);
    }
    const TotalFigures totals = runtime->snapshot().totals;
    EXPECT_EQ(totals.in(), totals.out());
    EXPECT_EQ(totals.in_flight, 0U);
    EXPECT_EQ(pool_->available(), pool_->capacity());
    for (const auto& pool : runtime->pools()) {
      if (pool == nullptr) continue;
      EXPECT_EQ(pool->available(), pool->capacity());
    }
  }

  End left;
  End right;
  std::unique_ptr<Runtime> runtime;

 private:
  static std::string unique(const std::string& name) {
    static int number = 0;
    return name + std::to_string(number++);
  }
  static void drain_input(const End& end) {
    void* mbuf = nullptr;
    while (rte_ring_dequeue(end.in, &mbuf) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(mbuf));
  }
  static void free_all(rte_ring* ring) {
    void* mbuf = nullptr;
    while (ring != nullptr && rte_ring_dequeue(ring, &mbuf) == 0) {
      rte_pktmbuf_free(static_cast<rte_mbuf*>(mbuf));
    }
    rte_ring_free(ring);
  }

  static void open(End& end, std::uint16_t tx_queues) {
    end.in = rte_ring_create(unique("in").c_str(), kRingSlots, SOCKET_ID_ANY, 0);
    end.out = rte_ring_create(unique("out").c_str(), kRingSlots, SOCKET_ID_ANY, 0);
    std::vector<rte_ring*> outs(tx_queues, end.out);
    const int port =
        rte_eth_from_rings(unique("box").c_str(), &end.in, 1, outs.data(), tx_queues, 0);
    if (port < 0) throw std::runtime_error("rte_eth_from_rings failed");
    end.port = static_cast<std::uint16_t>(port);
  }

  std::unique_ptr<Mempool> pool_;
};

}  // namespace mqsteer::test
