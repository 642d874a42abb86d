#include "port/port.h"

#include "environment.h"

#include <rte_eth_ring.h>
#include <rte_ring.h>

#include <gmock/gmock.h>

#include <array>
#include <stdexcept>
#include <utility>

namespace mqsteer {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A net_ring port whose other end is the test: what it receives is put into `in`, what it sends
/// comes out of `out`.
struct RingPort {
  explicit RingPort(const std::string& name, unsigned slots = 64) {
    start_eal();
    in = rte_ring_create((name + "_in").c_str(), slots, -1, RING_F_SP_ENQ | RING_F_SC_DEQ);
    out = rte_ring_create((name + "_out").c_str(), slots, -1, RING_F_SP_ENQ | RING_F_SC_DEQ);
    if (rte_eth_from_rings(name.c_str(), &in, 1, &out, 1, 0) < 0) {
      throw std::runtime_error{"rte_eth_from_rings"};
    }
    opened = open("net_ring_" + name);
  }
  ~RingPort() {
    opened.port.reset();
    rte_ring_free(in);
    rte_ring_free(out);
  }
  RingPort(const RingPort&) = delete;
  RingPort& operator=(const RingPort&) = delete;

  rte_ring* in = nullptr;
  rte_ring* out = nullptr;
  OpenedPort opened;
};

TEST(Port, ReceivesAndTransmitsAndGivesEveryMbufBack) {
  const OpenedPort opened = open("net_null0");
  std::array<rte_mbuf*, 32> burst{};
  for (int round = 0; round < 10; ++round) {
    ASSERT_EQ(opened.rx().receive(burst), burst.size());
    ASSERT_EQ(opened.tx().send(burst), burst.size());
  }
  opened.port->stop();
  const PortCounters counters = opened.port->counters();
  EXPECT_EQ(counters.rx_packets, 320U);
  EXPECT_EQ(counters.tx_packets, 320U);
  EXPECT_EQ(counters.tx_taken_lost, 0U);
  EXPECT_EQ(opened.pool->available(), opened.pool->capacity());
}

TEST(Port, ReceivesWhatArrivesInOrder) {
  const RingPort ring{"order"};
  std::array<void*, 3> frames{};
  for (std::uint8_t i = 0; i < 3; ++i) frames[i] = ring.opened.frame(60, i);
  ASSERT_EQ(rte_ring_enqueue_bulk(ring.in, frames.data(), 3, nullptr), 3U);

  std::array<rte_mbuf*, 8> burst{};
  ASSERT_EQ(ring.opened.rx().receive(burst), 3U);
  for (std::uint8_t i = 0; i < 3; ++i) {
    EXPECT_EQ(*rte_pktmbuf_mtod(burst[i], std::uint8_t*), i);
    rte_pktmbuf_free(burst[i]);
  }
  EXPECT_EQ(ring.opened.pool->available(), ring.opened.pool->capacity());
}

TEST(Port, TakesAPrefixWhenItsRingIsFullAndCountsOnlyThat) {
  const RingPort ring{"full", 8};  // a ring of 8 slots holds 7
  std::array<rte_mbuf*, 10> burst{};
  for (rte_mbuf*& mbuf : burst) mbuf = ring.opened.frame(60);
  EXPECT_EQ(ring.opened.tx().send(burst), 7U);
  rte_pktmbuf_free_bulk(&burst[7], 3);
  EXPECT_EQ(ring.opened.port->counters().tx_packets, 7U);
  EXPECT_EQ(ring.opened.port->counters().tx_taken_lost, 0U);

  std::array<void*, 8> sent{};
  ASSERT_EQ(rte_ring_dequeue_burst(ring.out, sent.data(), 8, nullptr), 7U);
  for (std::size_t i = 0; i < 7; ++i) rte_pktmbuf_free(static_cast<rte_mbuf*>(sent[i]));
  EXPECT_EQ(ring.opened.pool->available(), ring.opened.pool->capacity());
}

TEST(Port, CountsFromItsStartOn) {
  start_eal();
  std::array<rte_mbuf*, 4> burst{};
  for (int run = 0; run < 2; ++run) {
    const OpenedPort opened = open("net_null_again");
    EXPECT_EQ(opened.port->counters().rx_packets, 0U);
    ASSERT_EQ(opened.rx().receive(burst), 4U);
    rte_pktmbuf_free_bulk(burst.data(), 4);
    EXPECT_EQ(opened.port->counters().rx_packets, 4U);
  }
}

TEST(Port, KeepsItsLastCountersWhenStoppedAndMayBeStoppedTwice) {
  const OpenedPort opened = open("net_null_last");
  std::array<rte_mbuf*, 4> burst{};
  ASSERT_EQ(opened.rx().receive(burst), 4U);
  rte_pktmbuf_free_bulk(burst.data(), 4);
  EXPECT_TRUE(opened.port->link_up());
  opened.port->stop();
  opened.port->stop();
  EXPECT_FALSE(opened.port->link_up());
  EXPECT_EQ(opened.port->counters().rx_packets, 4U);
}

TEST(Port, MovesWithoutStopping) {
  OpenedPort opened = open("net_null_move");
  Port moved{std::move(*opened.port)};
  opened.port.reset();
  EXPECT_TRUE(moved.link_up());
  std::array<rte_mbuf*, 4> burst{};
  EXPECT_EQ(moved.rx_queue(QueueId{0}).receive(burst), 4U);
  rte_pktmbuf_free_bulk(burst.data(), 4);
}

TEST(Port, HasSeveralQueuesWhereTheDeviceHas) {
  const OpenedPort opened = open("net_null_many", {.rx_queues = 4, .tx_queues = 2});
  EXPECT_EQ(opened.port->rx_queues(), 4);
  EXPECT_EQ(opened.port->tx_queues(), 2);
  EXPECT_THAT(opened.port->notes(), IsEmpty());
  std::array<rte_mbuf*, 4> burst{};
  for (std::uint16_t queue = 0; queue < 4; ++queue) {
    ASSERT_EQ(opened.rx(queue).receive(burst), 4U);
    ASSERT_EQ(opened.tx(queue % 2).send(burst), 4U);
  }
}

TEST(Port, SaysOnceThatItHasFewerQueuesThanWanted) {
  const Directory directory;
  write_pcap(directory.file("in.pcap"), {Frame(60)});
  const OpenedPort opened =
      open("net_pcap_cut,rx_pcap=" + directory.file("in.pcap"), {.rx_queues = 4, .tx_queues = 3});
  EXPECT_EQ(opened.port->rx_queues(), 1);
  EXPECT_EQ(opened.port->tx_queues(), 1);
  EXPECT_THAT(opened.port->notes(), ElementsAre("port left: 4 RX queues wanted, net_pcap has 1",
                                                "port left: 3 TX queues wanted, net_pcap has 1"));
}

TEST(Port, RefusesAnMtuThatTheDeviceDoesNotTake) {
  EXPECT_EQ(refusal("net_null_mtu", {.mtu = 20000}),
            "port left (net_null_mtu): an MTU of 20000 is above the 16106 that net_null takes; "
            "lower mtu");
  EXPECT_EQ(refusal("net_null_mtu", {.mtu = 67}),
            "port left (net_null_mtu): an MTU of 67 is below 68, IPv4's least");
}

TEST(Port, RefusesMbufsThatAFrameOfTheMtuDoesNotFitIn) {
  EXPECT_EQ(refusal("net_null_room", {.mtu = 9000}),
            "port left (net_null_room): a frame of MTU 9000 does not fit in mbufs of 2176 bytes, "
            "and net_null does not split it");
  EXPECT_EQ(refusal("net_null_room", {.mtu = 9000}, 9152), "");
}

TEST(Port, SplitsLongFramesWhereTheDeviceCan) {
  start_eal();
  rte_ring* const ring = rte_ring_create("scatter", 64, -1, 0);
  ASSERT_GE(rte_eth_from_rings("scatter", &ring, 1, &ring, 1, 0), 0);
  EXPECT_EQ(refusal("net_ring_scatter", {.mtu = 9000}), "");
  rte_ring_free(ring);
}

TEST(Port, RefusesToStartWithoutQueuesOrPools) {
  EXPECT_EQ(refusal("net_null_none", {.rx_queues = 0}),
            "port left (net_null_none): needs at least one RX and one TX queue");
  start_eal();
  const auto port = open_port({.name = "left", .device = "net_null_none"});
  ASSERT_TRUE(port);
  EXPECT_EQ(Port::start(*port, {.rx_queues = 2}).error().text(),
            "port left (net_null_none): 2 RX queues but 0 mempools");
}

TEST(Port, TellsTheLongestFrameWithTwoTags) {
  const OpenedPort opened = open("net_null_long");
  EXPECT_EQ(opened.port->mtu(), 1500);
  EXPECT_EQ(opened.port->max_frame_bytes(), 1522U);
  EXPECT_FALSE(opened.port->single_segment_tx());
}

TEST(Port, CanBeOpenedAndClosedAgainAndAgain) {
  start_eal();
  const auto pool = Mempool::create("again", {.mbufs = 512, .cache = 0});
  for (int round = 0; round < 50; ++round) {
    auto port = open_port({.name = "left", .device = "net_null_round"});
    ASSERT_TRUE(port) << "round " << round << ": " << port.error().text();
    EXPECT_EQ(port->id, PortId{0}) << "a port was left behind";
    const auto started = Port::start(*port, {.rx_pools = {const_cast<Mempool*>(&*pool)}});
    ASSERT_TRUE(started) << started.error().text();
  }
}

}  // namespace
}  // namespace mqsteer
