#include "packet/flow_tuple.h"

#include "support/packet_builder.h"

#include <gmock/gmock.h>

#include <functional>

namespace mqsteer {
namespace {

using test::Bytes;
using test::Packet;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(FlowTuple, EveryFormReadsBackAsItIsWritten) {
  for (const char* protocol : {"tcp", "udp", "udplite", "sctp", "dccp"}) {
    const auto v4 = FlowTuple::parse(protocol, "10.0.0.1:0", "255.255.255.255:65535");
    ASSERT_TRUE(v4) << v4.error().text();
    EXPECT_EQ(v4->text(), std::string{protocol} + " 10.0.0.1:0 255.255.255.255:65535");
    const auto v6 = FlowTuple::parse(protocol, "[fd00::1]:53", "[::]:1");
    ASSERT_TRUE(v6) << v6.error().text();
    EXPECT_EQ(v6->text(), std::string{protocol} + " [fd00::1]:53 [::]:1");
  }
}

TEST(FlowTuple, WhatIsNoFlowIsRefusedWithWhatIsAllowed) {
  const auto fault = [](const char* protocol, const char* from, const char* to) {
    const auto flow = FlowTuple::parse(protocol, from, to);
    return flow ? std::string{"accepted"} : flow.error().text();
  };
  EXPECT_THAT(fault("icmp", "1.1.1.1:1", "1.1.1.2:1"), StartsWith("'icmp' is not a protocol"));
  EXPECT_THAT(fault("tcp", "1.1.1.1", "1.1.1.2:1"), StartsWith("'1.1.1.1' has no port"));
  EXPECT_THAT(fault("tcp", "1.1.1.1:", "1.1.1.2:1"), HasSubstr("no port of 0..65535"));
  EXPECT_THAT(fault("tcp", "1.1.1.1:65536", "1.1.1.2:1"), HasSubstr("no port of 0..65535"));
  EXPECT_THAT(fault("tcp", "1.1.1.1:-1", "1.1.1.2:1"), HasSubstr("no port of 0..65535"));
  EXPECT_THAT(fault("tcp", "1.1.1.1:8x", "1.1.1.2:1"), HasSubstr("no port of 0..65535"));
  EXPECT_THAT(fault("tcp", "1.1.1.256:1", "1.1.1.2:1"), HasSubstr("no IPv4 address"));
  EXPECT_THAT(fault("tcp", "fd00::1:80", "1.1.1.2:1"), HasSubstr("IPv6 address in brackets"));
  EXPECT_THAT(fault("tcp", "[]:80", "1.1.1.2:1"), HasSubstr("no IPv4 address"));
  EXPECT_THAT(fault("tcp", "[fd00::1]:80", "1.1.1.2:1"), HasSubstr("one end is IPv4"));
  EXPECT_THAT(fault("tcp", ":", ":"), HasSubstr("allowed: A.B.C.D:PORT or [IPV6]:PORT"));
  EXPECT_THAT(fault("tcp", "", ""), HasSubstr("allowed: A.B.C.D:PORT or [IPV6]:PORT"));
}

struct Transport {
  const char* name;
  PacketKind kind;
  std::function<void(Packet&)> add;
};

const std::vector<Transport>& transports() {
  static const std::vector<Transport> all = {
      {"tcp", PacketKind::kTcp, [](Packet& packet) { packet.tcp(40000, 443); }},
      {"udp", PacketKind::kUdp, [](Packet& packet) { packet.udp(40000, 443); }},
      {"udplite", PacketKind::kUdpLite, [](Packet& packet) { packet.udp_lite(40000, 443); }},
      {"sctp", PacketKind::kSctp, [](Packet& packet) { packet.sctp(40000, 443); }},
      {"dccp", PacketKind::kDccp, [](Packet& packet) { packet.dccp(40000, 443); }}};
  return all;
}

/// What the dissector and the hasher make of a packet off the wire.
FlowHasher::Explained seen(const FlowHasher& hasher, const Packet& packet) {
  const Bytes frame = packet.bytes();
  return hasher.explain(reinterpret_cast<const std::byte*>(frame.data()), frame.size(),
                        frame.size());
}

void expect_what_is_seen(const FlowTuple& flow, const Packet& packet, PacketKind kind) {
  for (const auto function : {HasherConfig::kFast, HasherConfig::kToeplitz}) {
    for (const bool symmetric : {true, false}) {
      const FlowHasher hasher{{.kind = function, .symmetric = symmetric}};
      const auto said = flow.explain(hasher);
      const auto real = seen(hasher, packet);
      EXPECT_EQ(said.dissection.key, real.dissection.key) << flow.text() << symmetric;
      EXPECT_EQ(said.hash, real.hash) << flow.text() << symmetric;
      EXPECT_EQ(said.dissection.key.kind, kind) << flow.text();
      EXPECT_EQ(real.dissection.key.kind, kind) << flow.text();
      EXPECT_EQ(said.dissection.flags & kUnreadable, 0) << flow.text();
    }
  }
}

TEST(FlowTuple, HasTheKeyAndTheHashOfItsRealPackets) {
  for (const Transport& transport : transports()) {
    auto v4 = Packet{}.ethernet().ipv4("192.0.2.9", "10.1.2.3");
    transport.add(v4);
    v4.payload(50);
    const auto flow4 = FlowTuple::parse(transport.name, "192.0.2.9:40000", "10.1.2.3:443");
    expect_what_is_seen(flow4.value(), v4, transport.kind);
    auto v6 = Packet{}.ethernet().vlan(7).ipv6("2001:db8::9", "fd00::3");
    transport.add(v6);
    const auto flow6 = FlowTuple::parse(transport.name, "[2001:db8::9]:40000", "[fd00::3]:443");
    expect_what_is_seen(flow6.value(), v6, transport.kind);
  }
}

TEST(FlowTuple, OtherPortsAndProtocolsAreOtherFlows) {
  const FlowHasher hasher{{}};
  const auto key = [&](const char* protocol, const char* from) {
    return FlowTuple::parse(protocol, from, "10.0.0.2:80").value().explain(hasher).dissection.key;
  };
  EXPECT_FALSE(key("tcp", "10.0.0.1:1") == key("udp", "10.0.0.1:1"));
  EXPECT_FALSE(key("tcp", "10.0.0.1:1") == key("tcp", "10.0.0.1:2"));
  EXPECT_FALSE(key("tcp", "10.0.0.1:1") == key("tcp", "10.0.0.3:1"));
}

TEST(FlowTuple, BothDirectionsAreOneFlowWhereSymmetricAndTwoWhereNot) {
  const auto there = FlowTuple::parse("tcp", "10.0.0.1:1234", "10.0.0.2:80");
  const auto back = FlowTuple::parse("tcp", "10.0.0.2:80", "10.0.0.1:1234");
  ASSERT_TRUE(there && back);
  for (const auto kind : {HasherConfig::kFast, HasherConfig::kToeplitz}) {
    const FlowHasher one{{.kind = kind, .symmetric = true}};
    EXPECT_EQ(there->explain(one).hash, back->explain(one).hash);
    const FlowHasher two{{.kind = kind, .symmetric = false}};
    EXPECT_NE(there->explain(two).hash, back->explain(two).hash);
  }
}

/// Microsoft's verification suite for RSS: 66.9.149.187:2794 -> 161.142.100.80:1766 is 0x51ccc178.
TEST(FlowTuple, HasTheHashThatIsPublishedForItsAddressesAndPorts) {
  const FlowHasher hasher{{.kind = HasherConfig::kToeplitz, .symmetric = false}};
  const auto v4 = FlowTuple::parse("tcp", "66.9.149.187:2794", "161.142.100.80:1766");
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->explain(hasher).hash, 0x51ccc178U);
  const auto v6 =
      FlowTuple::parse("tcp", "[3ffe:2501:200:1fff::7]:2794", "[3ffe:2501:200:3::1]:1766");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->explain(hasher).hash, 0x40207d3dU);
}

}  // namespace
}  // namespace mqsteer
