#include "network.h"

#include <gmock/gmock.h>

#include <array>

namespace mqsteer {
namespace {

const Frame kPriorityTag{0x81, 0x00, 0xa0, 0x05};
const Frame kTwoTags{0x88, 0xa8, 0x60, 0x07, 0x81, 0x00, 0x00, 0x09};

/// mtu: of both ends; 9,000 is served by net_pcap, the others by net_af_xdp
class Traffic : public Veth, public testing::WithParamInterface<std::uint16_t> {
 protected:
  void SetUp() override {
    Veth::SetUp();
    set_mtus(GetParam(), GetParam());
    opened_ = open(config());
    host_ = std::make_unique<Host>(place_, "far0");
  }
  void TearDown() override {
    host_.reset();
    opened_.port.reset();
    Veth::TearDown();
  }
  void expect_both_ways(const Frame& frame) {
    host_->send(frame);
    EXPECT_EQ(opened_.receive(), frame);
    opened_.send(frame);
    EXPECT_EQ(host_->receive(), frame);
  }

  OpenedPort opened_;
  std::unique_ptr<Host> host_;
};

TEST_P(Traffic, PassesFramesOfEveryLengthUpToTheMtuWhole) {
  for (const std::size_t bytes : {15UL, 60UL, 61UL, 1000UL, GetParam() + 14UL}) {
    expect_both_ways(test_frame(bytes, static_cast<std::uint8_t>(bytes)));
  }
}

TEST_P(Traffic, KeepsVlanTagsAndTheirPriority) {
  expect_both_ways(test_frame(64, 1, kPriorityTag));
  expect_both_ways(test_frame(68, 2, kTwoTags));
  expect_both_ways(test_frame(GetParam() + 18UL, 3, kPriorityTag));
}

TEST_P(Traffic, NeverBringsItsOwnFramesOrTheHostsBackIn) {
  const Host own_kernel{{}, "near0"};
  own_kernel.send(test_frame(70, 9));  // the host's own chatter on this interface
  opened_.send(test_frame(71, 9));
  ASSERT_EQ(host_->receive(), test_frame(70, 9));
  ASSERT_EQ(host_->receive(), test_frame(71, 9));
  host_->send(test_frame(72, 9));
  EXPECT_EQ(opened_.receive(), test_frame(72, 9)) << "something else came in first";
}

TEST_P(Traffic, CountsWhatWasReceivedAndSent) {
  for (int i = 0; i < 50; ++i) {
    host_->send(test_frame(100, 1));
    ASSERT_EQ(opened_.receive(), test_frame(100, 1));
    opened_.send(test_frame(100, 2));
    ASSERT_EQ(host_->receive(), test_frame(100, 2));
  }
  const PortCounters counters = opened_.port->counters();
  EXPECT_GE(counters.rx_packets, 50U);  // the far kernel may say something of its own
  EXPECT_EQ(counters.tx_packets, 50U);
  EXPECT_EQ(counters.tx_bytes, 5000U);
  EXPECT_EQ(counters.tx_taken_lost, 0U);
}

TEST_P(Traffic, CountsWhatWasLostBecauseNobodyTookIt) {
  constexpr std::uint64_t kSent = 3000;
  for (std::uint64_t i = 0; i < kSent; ++i) host_->send(test_frame(GetParam() + 14UL, 5));
  std::uint64_t received = 0;
  while (true) {
    std::array<rte_mbuf*, 32> burst{};
    const std::size_t got = opened_.port->rx_queue(QueueId{0}).receive(burst);
    rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(got));
    received += got;
    if (got == 0) break;
  }
  const PortCounters counters = opened_.port->counters();
  EXPECT_EQ(counters.rx_packets, received);
  EXPECT_GT(counters.rx_missed, 0U);
  // The veth itself has room for 256 frames on a CPU that is busy otherwise, and counts the rest.
  const std::uint64_t lost_before = std::stoull(
      output_of(place_.command_prefix + "cat /sys/class/net/far0/statistics/tx_dropped"));
  const std::uint64_t known = counters.rx_packets + counters.rx_missed + lost_before;
  EXPECT_GE(known, kSent);
  EXPECT_LE(known, kSent + 20) << "chatter of the far kernel";
}

INSTANTIATE_TEST_SUITE_P(Mtu, Traffic, testing::Values(1500, 3434, 9000));

}  // namespace
}  // namespace mqsteer
