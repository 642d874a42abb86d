#include "packet/flow_key.h"
#include "support/dissect_checked.h"
#include "support/packet_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mqsteer::test {
namespace {

Packet outer4() {
  return Packet{}.ethernet().ipv4("192.0.2.2", "192.0.2.1");
}
Packet outer6() {
  return Packet{}.ethernet().ipv6("2001:db8::2", "2001:db8::1");
}
Packet tcp4(Packet outer) {
  return outer.ipv4("10.0.0.2", "10.0.0.1").tcp(40000, 80);
}
Packet udp6(Packet outer) {
  return outer.ipv6("::2", "::1").udp(40000, 53);
}

constexpr auto kTcp4 = "tcp 10.0.0.1:80 10.0.0.2:40000";
constexpr auto kUdp6 = "udp [::1]:53 [::2]:40000";

TEST(TunnelKey, IsTheInnerFlow) {
  EXPECT_EQ(key_of(tcp4(outer4())), kTcp4) << "IPIP";
  EXPECT_EQ(key_of(udp6(outer4())), kUdp6) << "6in4";
  EXPECT_EQ(key_of(tcp4(outer6())), kTcp4) << "4in6";
  EXPECT_EQ(key_of(udp6(outer6())), kUdp6) << "6in6";
  for (const unsigned flags : {0U, 0x8000U, 0x2000U, 0x1000U, 0xb000U}) {
    EXPECT_EQ(key_of(tcp4(outer4().gre(flags))), kTcp4) << flags;
    EXPECT_EQ(key_of(udp6(outer6().gre(flags))), kUdp6) << flags;
  }
  EXPECT_EQ(key_of(tcp4(outer4().gre(0x2000).ethernet().vlan(3))), kTcp4) << "NVGRE";
  EXPECT_EQ(key_of(tcp4(outer4().gre().mpls(16))), kTcp4);
  EXPECT_EQ(key_of(tcp4(outer4().vxlan().ethernet())), kTcp4);
  EXPECT_EQ(key_of(udp6(outer6().vxlan(1, 8472).ethernet().vlan(1))), kUdp6);
  EXPECT_EQ(key_of(tcp4(outer4().geneve(1, 0).ethernet())), kTcp4);
  EXPECT_EQ(key_of(udp6(outer4().geneve(1, 7))), kUdp6) << "Geneve with options, without Ethernet";
  EXPECT_EQ(key_of(tcp4(outer4().gtp_u())), kTcp4);
  EXPECT_EQ(key_of(udp6(outer4().gtp_u(1, 0x32, {0, 1, 0, 0}))), kUdp6) << "sequence number";
  EXPECT_EQ(key_of(tcp4(outer4().gtp_u(1, 0x34, {0, 0, 0, 0x85, 1, 0, 9, 0}))), kTcp4)
      << "extension";
}

TEST(TunnelKey, IsTheOuterFlowWhereAskedFor) {
  EXPECT_EQ(key_of(tcp4(outer4()), kOuter), "ip 192.0.2.1 192.0.2.2 4");
  EXPECT_EQ(key_of(udp6(outer4()), kOuter), "ip 192.0.2.1 192.0.2.2 41");
  EXPECT_EQ(key_of(tcp4(outer4().gre()), kOuter), "ip 192.0.2.1 192.0.2.2 47");
  EXPECT_EQ(key_of(tcp4(outer4().vxlan().ethernet()), kOuter),
            "udp 192.0.2.1:4789 192.0.2.2:49152");
  EXPECT_EQ(key_of(tcp4(outer4().geneve().ethernet()), kOuter),
            "udp 192.0.2.1:6081 192.0.2.2:49152");
  EXPECT_EQ(key_of(tcp4(outer4().gtp_u()), kOuter), "udp 192.0.2.1:2152 192.0.2.2:2152");
}

TEST(TunnelKey, IsTheOuterFlowWhereTheInsideCannotBeRead) {
  const Bytes whole = tcp4(outer4().vxlan().ethernet()).bytes();
  const auto cut = [&whole](std::size_t size) { return key_of(std::span{whole}.first(size)); };
  EXPECT_EQ(cut(whole.size() - 16), kTcp4);
  EXPECT_EQ(cut(whole.size() - 17), "ip 10.0.0.1 10.0.0.2 6 !")
      << "what could be read of the inside";
  EXPECT_EQ(cut(whole.size() - 21), "udp 192.0.2.1:4789 192.0.2.2:49152 !");
  EXPECT_EQ(cut(42), "udp 192.0.2.1:4789 192.0.2.2:49152 !");
  EXPECT_EQ(key_of(outer4().gre(0, 0x880b).payload(40)), "ip 192.0.2.1 192.0.2.2 47") << "PPP";
  EXPECT_EQ(key_of(tcp4(outer4().gre(0x4000))), "ip 192.0.2.1 192.0.2.2 47") << "routing";
  EXPECT_EQ(key_of(tcp4(outer4().gre(0x0001))), "ip 192.0.2.1 192.0.2.2 47") << "version 1";
  EXPECT_EQ(key_of(outer4().gtp_u(1, 0x32, {0, 0, 0, 0}, 1)), "udp 192.0.2.1:2152 192.0.2.2:2152")
      << "GTP echo";
  EXPECT_EQ(key_of(tcp4(outer4().gtp_u(1, 0x34, {0, 0, 0, 0x85, 0, 0, 0, 0}))),
            "udp 192.0.2.1:2152 192.0.2.2:2152 !")
      << "an extension header of length 0 never ends";
}

TEST(TunnelKey, OfAFragmentedTunnelIsTheOuterOne) {
  EXPECT_EQ(key_of(Packet{}
                       .ethernet()
                       .ipv4("192.0.2.2", "192.0.2.1", {.more_fragments = true})
                       .vxlan()
                       .ethernet()
                       .ipv4("10.0.0.2", "10.0.0.1")
                       .tcp(1, 2)),
            "frag 192.0.2.1 192.0.2.2 17");
}

TEST(TunnelKey, OfAnInnerFragmentIsTheInnerAddresses) {
  EXPECT_EQ(key_of(outer4().ipv4("10.0.0.2", "10.0.0.1", {.fragment_offset = 8, .protocol = 17})),
            "frag 10.0.0.1 10.0.0.2 17");
}

TEST(TunnelKey, OfABridgedFrameThatIsNoIpIsItsMacAddresses) {
  EXPECT_EQ(key_of(outer4().vxlan().ethernet("02:aa:00:00:00:02", "02:aa:00:00:00:01").arp()),
            "l2 02:aa:00:00:00:01 02:aa:00:00:00:02 type=0x806");
}

TEST(TunnelKey, NestingIsBounded) {
  const auto nested = [](int depth) {
    Packet packet = Packet{}.ethernet();
    for (int i = 0; i < depth; ++i) packet.ipv4("192.0.2.2", "192.0.2.1");
    return key_of(packet.ipv4("10.0.0.2", "10.0.0.1").tcp(40000, 80));
  };
  EXPECT_EQ(nested(4), kTcp4);
  EXPECT_EQ(nested(5), "ip 192.0.2.1 192.0.2.2 4");
  EXPECT_EQ(nested(20), "ip 192.0.2.1 192.0.2.2 4");
}

// ---- ICMP errors: the flow that they quote

Packet error4() {
  return Packet{}.ethernet().ipv4("172.16.0.1", "10.0.0.2").icmp(3, 1);
}
Packet error6() {
  return Packet{}.ethernet().ipv6("fe80::9", "::2").icmpv6(3, 0);
}

TEST(IcmpErrorKey, IsTheQuotedFlow) {
  EXPECT_EQ(key_of(tcp4(error4())), "icmp-error 10.0.0.1:80 10.0.0.2:40000");
  EXPECT_EQ(key_of(udp6(error6())), "icmp-error [::1]:53 [::2]:40000");
  EXPECT_EQ(key_of(error4().ipv4("10.0.0.2", "10.0.0.1").esp(7)),
            "icmp-error 10.0.0.1 10.0.0.2 spi=0x7");
  EXPECT_EQ(key_of(error4().ipv4("10.0.0.2", "10.0.0.1").icmp(8, 0, 0x50001)),
            "icmp-error 10.0.0.1 10.0.0.2 id=5");
  for (const std::uint8_t type : std::initializer_list<std::uint8_t>{3, 4, 5, 11, 12}) {
    EXPECT_THAT(key_of(tcp4(Packet{}.ethernet().ipv4("172.16.0.1", "10.0.0.2").icmp(type, 0))),
                testing::StartsWith("icmp-error "));
  }
}

TEST(IcmpErrorKey, WithoutSymmetryIsThatOfTheOtherDirection) {
  const auto answer = Packet{}.ethernet().ipv4("10.0.0.1", "10.0.0.2").tcp(80, 40000);
  EXPECT_EQ(key_of(tcp4(error4()), kWireOrder), "icmp-error 10.0.0.1:80 10.0.0.2:40000");
  EXPECT_EQ(dissect_checked(tcp4(error4()).bytes(), kWireOrder).key,
            dissect_checked(answer.bytes(), kWireOrder).key);
  EXPECT_EQ(key_of(udp6(error6()), kWireOrder), "icmp-error [::1]:53 [::2]:40000");
}

TEST(IcmpErrorKey, OfALaterFragmentIsAddressesAndProtocol) {
  EXPECT_EQ(
      key_of(
          error4().ipv4("10.0.0.2", "10.0.0.1", {.fragment_offset = 8, .protocol = 17}).payload(8)),
      "icmp-error 10.0.0.1 10.0.0.2 17");
  EXPECT_EQ(key_of(error6().ipv6("::2", "::1").fragment6(8, true, 1, 17).payload(8)),
            "icmp-error ::1 ::2 17");
}

TEST(IcmpErrorKey, OfAFirstFragmentHasThePorts) {
  EXPECT_EQ(key_of(error4().ipv4("10.0.0.2", "10.0.0.1", {.more_fragments = true}).udp(5, 6)),
            "icmp-error 10.0.0.1:6 10.0.0.2:5");
}

TEST(IcmpErrorKey, WithAShortQuoteIsAddressesAndProtocol) {
  const Bytes quote = Packet{}.ipv4("10.0.0.2", "10.0.0.1").tcp(40000, 80).bytes();
  const auto quoting = [&quote](std::ptrdiff_t size) {
    return key_of(error4().raw({quote.begin(), quote.begin() + size}));
  };
  EXPECT_EQ(quoting(28), "icmp-error 10.0.0.1:80 10.0.0.2:40000");
  EXPECT_EQ(quoting(24), "icmp-error 10.0.0.1:80 10.0.0.2:40000");
  EXPECT_EQ(quoting(23), "icmp-error 10.0.0.1 10.0.0.2 6 !");
  EXPECT_EQ(quoting(20), "icmp-error 10.0.0.1 10.0.0.2 6 !");
  EXPECT_EQ(quoting(19), "ip 10.0.0.2 172.16.0.1 1 !") << "no flow to be read";
}

TEST(IcmpErrorKey, OfAQuotedErrorIsAddressesAndProtocol) {
  EXPECT_EQ(key_of(tcp4(error4().ipv4("10.0.0.2", "10.0.0.1").icmp(3, 1))),
            "icmp-error 10.0.0.1 10.0.0.2 1");
}

TEST(IcmpErrorKey, OfAQuotedTunnelFollowsTheTunnelRuleOneLevel) {
  const Packet quoted = tcp4(error4().ipv4("192.0.2.2", "192.0.2.1"));
  EXPECT_EQ(key_of(quoted), "icmp-error 10.0.0.1:80 10.0.0.2:40000");
  EXPECT_EQ(key_of(quoted, kOuter), "icmp-error 192.0.2.1 192.0.2.2 4");
  const Packet twice = tcp4(error4().ipv4("192.0.2.2", "192.0.2.1").ipv4("10.9.0.2", "10.9.0.1"));
  EXPECT_EQ(key_of(twice), "icmp-error 10.9.0.1 10.9.0.2 4");
}

TEST(IcmpErrorKey, InsideATunnelIsTheQuotedFlow) {
  EXPECT_EQ(key_of(tcp4(outer4().vxlan().ethernet().ipv4("172.16.0.1", "10.0.0.2").icmp(11, 0))),
            "icmp-error 10.0.0.1:80 10.0.0.2:40000");
}

}  // namespace
}  // namespace mqsteer::test
