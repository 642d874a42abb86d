#include "packet/flow_hasher.h"

#include "support/packet_builder.h"

#include <rte_mbuf_core.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

namespace mqsteer::test {
namespace {

/// A packet in an mbuf chain of segments of at most segment_bytes, each in a heap block of its
/// size.
class Chain {
 public:
  Chain(const Bytes& packet, std::size_t segment_bytes) {
    std::size_t at = 0;
    do {
      const std::size_t size = std::min(segment_bytes, packet.size() - at);
      auto& block = blocks_.emplace_back(std::make_unique<std::uint8_t[]>(size));
      if (size > 0) std::memcpy(block.get(), packet.data() + at, size);
      rte_mbuf& mbuf = mbufs_.emplace_back();
      mbuf.buf_addr = block.get();
      mbuf.data_len = static_cast<std::uint16_t>(size);
      if (mbufs_.size() > 1) mbufs_[mbufs_.size() - 2].next = &mbuf;
      at += size;
    } while (at < packet.size());
    first()->pkt_len = static_cast<std::uint32_t>(packet.size());
    first()->nb_segs = static_cast<std::uint16_t>(mbufs_.size());
  }
  rte_mbuf* first() { return &mbufs_.front(); }

 private:
  std::vector<std::unique_ptr<std::uint8_t[]>> blocks_;
  std::deque<rte_mbuf> mbufs_;
};

PacketMeta run(const HasherConfig& config, const Bytes& packet, std::size_t segment_bytes = 4096) {
  Chain chain{packet, segment_bytes};
  PacketMeta meta{.mbuf = chain.first()};
  FlowHasher{config}.run({&meta, 1});
  meta.mbuf = nullptr;
  return meta;
}

bool same(const PacketMeta& a, const PacketMeta& b) {
  return a.hash == b.hash && a.length == b.length && a.kind == b.kind && a.flags == b.flags &&
         a.l3 == b.l3 && a.l4 == b.l4;
}

std::vector<Bytes> samples() {
  std::vector<Bytes> all;
  const auto add = [&all](const Packet& packet) { all.push_back(packet.bytes()); };
  add(Packet{}.ethernet().ipv4("10.0.0.2", "10.0.0.1").tcp(1, 2).payload(900));
  add(Packet{}.ethernet().vlan(4).ipv6("::2", "::1").udp(1, 2).payload(900));
  add(Packet{}.ethernet().ipv6("::2", "::1").extension(0, 20).extension(60, 20).udp(1, 2));
  add(Packet{}
          .ethernet()
          .ipv4("10.0.0.2", "10.0.0.1")
          .vxlan()
          .ethernet()
          .ipv6("::1", "::2")
          .esp(4));
  add(Packet{}
          .ethernet()
          .ipv4("9.0.0.2", "9.0.0.1")
          .icmp(3, 1)
          .ipv4("1.1.1.1", "2.2.2.2")
          .udp(3, 4));
  add(Packet{}.ethernet().arp());
  add(Packet{}
          .ethernet()
          .ipv4("10.0.0.2", "10.0.0.1", {.more_fragments = true})
          .udp(1, 2)
          .payload(800));
  return all;
}

TEST(FlowHasher, SegmentsMakeNoDifference) {
  for (const auto kind : {HasherConfig::kFast, HasherConfig::kToeplitz}) {
    for (const Bytes& packet : samples()) {
      const PacketMeta whole = run({.kind = kind}, packet);
      for (const std::size_t segment : {1U, 7U, 14U, 20U, 33U, 37U, 64U, 511U, 512U}) {
        EXPECT_TRUE(same(run({.kind = kind}, packet, segment), whole)) << segment;
      }
    }
  }
}

TEST(FlowHasher, ExplainSaysWhatTheDataPathDoes) {
  for (const auto kind : {HasherConfig::kFast, HasherConfig::kToeplitz}) {
    for (const bool symmetric : {false, true}) {
      for (const auto tunnels : {TunnelKey::kInner, TunnelKey::kOuter}) {
        const HasherConfig config{.kind = kind, .symmetric = symmetric, .tunnels = tunnels};
        for (const Bytes& packet : samples()) {
          const auto said = FlowHasher{config}.explain(
              reinterpret_cast<const std::byte*>(packet.data()), packet.size(), packet.size());
          const PacketMeta done = run(config, packet);
          EXPECT_EQ(done.hash, said.hash);
          EXPECT_EQ(done.kind, said.dissection.key.kind);
          EXPECT_EQ(done.flags, said.dissection.flags);
        }
      }
    }
  }
}

TEST(FlowHasher, FillsAWholeBurstInOrder) {
  std::deque<Chain> chains;
  std::vector<PacketMeta> burst;
  std::vector<std::uint32_t> expected;
  const std::vector<Bytes> packets = samples();
  for (std::size_t i = 0; i < kMaxBurst; ++i) {
    const Bytes& packet = packets[i % packets.size()];
    burst.push_back({.mbuf = chains.emplace_back(packet, 4096).first()});
    expected.push_back(run({}, packet).hash);
  }
  FlowHasher{HasherConfig{}}.run(burst);
  for (std::size_t i = 0; i < burst.size(); ++i) EXPECT_EQ(burst[i].hash, expected[i]) << i;
}

TEST(FlowHasher, OrsItsFlagsIntoThoseOfTheCaller) {
  Chain chain{Packet{}.ethernet().arp().bytes(), 4096};
  PacketMeta meta{.mbuf = chain.first(), .flags = kRecyclable};
  FlowHasher{HasherConfig{}}.run({&meta, 1});
  EXPECT_EQ(meta.flags, kRecyclable | kControlTraffic);
}

TEST(FlowHasher, LengthSaturates) {
  Chain chain{samples()[0], 4096};
  chain.first()->pkt_len = 80000;
  PacketMeta meta{.mbuf = chain.first()};
  FlowHasher{HasherConfig{}}.run({&meta, 1});
  EXPECT_EQ(meta.length, 65535);
}

// grout 742: a driver that leaves hash.rss unset leaves there what the mbuf had before.
TEST(FlowHasher, NeverUsesAStaleNicHash) {
  Chain chain{samples()[0], 4096};
  PacketMeta meta{.mbuf = chain.first()};
  chain.first()->hash.rss = 0xdeadbeef;
  FlowHasher{HasherConfig{}}.run({&meta, 1});
  EXPECT_EQ(meta.hash, run({}, samples()[0]).hash);
}

TEST(FlowHasher, SurvivesEmptySegments) {
  Chain chain{samples()[0], 30};
  Chain empty{{}, 1};
  empty.first()->next = chain.first();
  PacketMeta meta{.mbuf = empty.first()};
  FlowHasher{HasherConfig{}}.run({&meta, 1});
  EXPECT_EQ(meta.hash, run({}, samples()[0]).hash);
  Chain nothing{{}, 1};
  PacketMeta none{.mbuf = nothing.first()};
  FlowHasher{HasherConfig{}}.run({&none, 1});
  EXPECT_EQ(none.flags, kUnreadable);
  FlowHasher{HasherConfig{}}.run({});
}

}  // namespace
}  // namespace mqsteer::test
