#include "packet/flow_key.h"

#include "support/dissect_checked.h"
#include "support/packet_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mqsteer::test {
namespace {

using Fields = Packet::Ipv4;

Packet v4() {
  return Packet{}.ethernet().ipv4("10.0.0.2", "10.0.0.1");
}
Packet v4(const Fields& fields) {
  return Packet{}.ethernet().ipv4("10.0.0.2", "10.0.0.1", fields);
}
Packet v6() {
  return Packet{}.ethernet().ipv6("2001:db8::2", "2001:db8::1");
}

TEST(FlowKey, TransportsAreAddressesPortsAndProtocol) {
  EXPECT_EQ(key_of(v4().tcp(40000, 80)), "tcp 10.0.0.1:80 10.0.0.2:40000");
  EXPECT_EQ(key_of(v4().udp(40000, 53)), "udp 10.0.0.1:53 10.0.0.2:40000");
  EXPECT_EQ(key_of(v4().udp_lite(40000, 53)), "udplite 10.0.0.1:53 10.0.0.2:40000");
  EXPECT_EQ(key_of(v4().sctp(40000, 53)), "sctp 10.0.0.1:53 10.0.0.2:40000");
  EXPECT_EQ(key_of(v4().dccp(40000, 53)), "dccp 10.0.0.1:53 10.0.0.2:40000");
  EXPECT_EQ(key_of(v6().tcp(40000, 80)), "tcp [2001:db8::1]:80 [2001:db8::2]:40000");
  EXPECT_EQ(key_of(v6().udp(40000, 53)), "udp [2001:db8::1]:53 [2001:db8::2]:40000");
}

TEST(FlowKey, IsInWireOrderWhereNotSymmetric) {
  EXPECT_EQ(key_of(v4().tcp(40000, 80), kWireOrder), "tcp 10.0.0.2:40000 10.0.0.1:80");
  EXPECT_EQ(key_of(v6().udp(1, 2), kWireOrder), "udp [2001:db8::2]:1 [2001:db8::1]:2");
  EXPECT_EQ(key_of(Packet{}.ethernet("02:00:00:00:00:09", "02:00:00:00:00:01").arp(), kWireOrder),
            "l2 02:00:00:00:00:09 02:00:00:00:00:01 type=0x806");
}

TEST(FlowKey, EqualAddressesAreOrderedByPort) {
  const auto to_self = [](unsigned a, unsigned b) {
    return key_of(Packet{}.ethernet().ipv4("127.0.0.1", "127.0.0.1").tcp(a, b));
  };
  EXPECT_EQ(to_self(9, 7), "tcp 127.0.0.1:7 127.0.0.1:9");
  EXPECT_EQ(to_self(7, 9), to_self(9, 7));
  EXPECT_EQ(key_of(Packet{}.ethernet().ipv6("::1", "::1").udp(9, 7)), "udp [::1]:7 [::1]:9");
}

TEST(FlowKey, EndpointsAreComparedAsUnsignedNumbers) {
  EXPECT_EQ(key_of(Packet{}.ethernet().ipv4("200.0.0.1", "100.0.0.1").tcp(1, 2)),
            "tcp 100.0.0.1:2 200.0.0.1:1");
  EXPECT_EQ(key_of(Packet{}.ethernet().ipv6("fe80::1", "2001::1").tcp(60000, 2)),
            "tcp [2001::1]:2 [fe80::1]:60000");
  EXPECT_EQ(key_of(Packet{}.ethernet().ipv6("2001::8000:0:0:1", "2001::7000:0:0:1").tcp(1, 2)),
            "tcp [2001::7000:0:0:1]:2 [2001::8000:0:0:1]:1");
}

TEST(FlowKey, DontFragmentIsNoFragment) {
  EXPECT_EQ(key_of(v4({.dont_fragment = true}).tcp(1, 2)), "tcp 10.0.0.1:2 10.0.0.2:1");
}

TEST(FlowKey, EveryFragmentOfADatagramHasTheSameKey) {
  const std::string key = "frag 10.0.0.1 10.0.0.2 17";
  EXPECT_EQ(key_of(v4({.more_fragments = true}).udp(1, 2).payload(1472)), key);
  EXPECT_EQ(
      key_of(v4({.more_fragments = true, .fragment_offset = 1480, .protocol = 17}).payload(8)),
      key);
  EXPECT_EQ(key_of(v4({.fragment_offset = 65528, .protocol = 17}).payload(8)), key);
}

TEST(FlowKey, EveryIpv6FragmentOfADatagramHasTheSameKey) {
  const std::string key = "frag 2001:db8::1 2001:db8::2 17";
  EXPECT_EQ(key_of(v6().fragment6(0, true).udp(1, 2).payload(8)), key);
  EXPECT_EQ(key_of(v6().fragment6(1448, true, 1, 17).payload(8)), key);
  EXPECT_EQ(key_of(v6().extension(0).extension(43, 3).fragment6(8, false, 1, 17).payload(8)), key);
}

TEST(FlowKey, AnAtomicIpv6FragmentIsAWholePacket) {
  EXPECT_EQ(key_of(v6().fragment6(0, false).udp(1, 2)), key_of(v6().udp(1, 2)));
}

TEST(FlowKey, IcmpEchoIsAddressesAndId) {
  EXPECT_EQ(key_of(v4().icmp(8, 0, 0x12340001)), "icmp-echo 10.0.0.1 10.0.0.2 id=4660");
  EXPECT_EQ(key_of(v4().icmp(0, 0, 0x12340009)), "icmp-echo 10.0.0.1 10.0.0.2 id=4660");
  EXPECT_EQ(key_of(v6().icmpv6(128, 0, 0x00070001)), "icmp-echo 2001:db8::1 2001:db8::2 id=7");
  EXPECT_EQ(key_of(v6().icmpv6(129, 0, 0x00070001)), "icmp-echo 2001:db8::1 2001:db8::2 id=7");
  EXPECT_EQ(key_of(v4().icmp(13, 0, 0x12340009)), "ip 10.0.0.1 10.0.0.2 1");
}

TEST(FlowKey, EspAndAhAreAddressesAndSpi) {
  EXPECT_EQ(key_of(v4().esp(0xdeadbeef)), "esp 10.0.0.1 10.0.0.2 spi=0xdeadbeef");
  EXPECT_EQ(key_of(v4().ah(0xc0ffee).tcp(1, 2)), "ah 10.0.0.1 10.0.0.2 spi=0xc0ffee");
  EXPECT_EQ(key_of(v6().esp(1)), "esp 2001:db8::1 2001:db8::2 spi=0x1");
  EXPECT_EQ(key_of(v6().extension(60).ah(2).udp(1, 2)), "ah 2001:db8::1 2001:db8::2 spi=0x2");
}

TEST(FlowKey, OtherIpIsAddressesAndProtocol) {
  EXPECT_EQ(key_of(v4({.protocol = 103}).payload(20)), "ip 10.0.0.1 10.0.0.2 103");
  EXPECT_EQ(key_of(v6()), "ip 2001:db8::1 2001:db8::2 59");
  EXPECT_EQ(key_of(v6().icmpv6(143, 0)), "ip 2001:db8::1 2001:db8::2 58");
  EXPECT_EQ(key_of(Packet{}.ethernet().ipv6("::2", "::1").icmp(8, 0, 1)), "ip ::1 ::2 1")
      << "ICMP for IPv4 in IPv6 is no echo";
}

TEST(FlowKey, NotIpIsMacAddressesAndEtherType) {
  EXPECT_EQ(key_of(Packet{}.ethernet().arp()), "l2 02:00:00:00:00:01 02:00:00:00:00:02 type=0x806");
  EXPECT_EQ(key_of(Packet{}.ethernet("02:00:00:00:00:09", "02:00:00:00:00:01").vlan(3).arp()),
            "l2 02:00:00:00:00:01 02:00:00:00:00:09 type=0x806");
}

TEST(FlowKey, FramesWithALengthAreOneFlowWhateverTheirLength) {
  const std::string key = "l2 02:00:00:00:00:01 02:00:00:00:00:02 type=0x0";
  EXPECT_EQ(key_of(Packet{}.ethernet().llc(0x42, 0x42).payload(35)), key);
  EXPECT_EQ(key_of(Packet{}.ethernet().llc(0xaa, 0xaa).payload(900)), key);
}

TEST(FlowKey, TagsLabelsAndSessionsAreLookedThrough) {
  const std::string key = key_of(v4().tcp(40000, 80));
  const auto inside = [](Packet outer) {
    return key_of(outer.ipv4("10.0.0.2", "10.0.0.1").tcp(40000, 80));
  };
  for (const unsigned tpid : {0x8100U, 0x88a8U, 0x9100U}) {
    EXPECT_EQ(inside(Packet{}.ethernet().vlan(5, tpid)), key) << tpid;
    EXPECT_EQ(inside(Packet{}.ethernet().vlan(5, tpid).vlan(6)), key) << tpid;
  }
  EXPECT_EQ(inside(Packet{}.ethernet().mpls(16)), key);
  EXPECT_EQ(inside(Packet{}.ethernet().vlan(1).mpls(16, false).mpls(17, false).mpls(18)), key);
  EXPECT_EQ(inside(Packet{}.ethernet().pppoe()), key);
  EXPECT_EQ(inside(Packet{}.ethernet().vlan(7).pppoe()), key);
  EXPECT_EQ(key_of(Packet{}.ethernet().vlan(1).ipv6("::2", "::1").udp(1, 2)),
            "udp [::1]:2 [::2]:1");
  EXPECT_EQ(key_of(Packet{}.ethernet().mpls(1).ipv6("::2", "::1").udp(1, 2)),
            "udp [::1]:2 [::2]:1");
  EXPECT_EQ(key_of(Packet{}.ethernet().pppoe().ipv6("::2", "::1").udp(1, 2)),
            "udp [::1]:2 [::2]:1");
}

TEST(FlowKey, PppoeWithACompressedProtocolFieldIsLookedThrough) {
  Bytes packet = Packet{}.ethernet().pppoe().ipv4("10.0.0.2", "10.0.0.1").tcp(40000, 80).bytes();
  packet.erase(packet.begin() + 20);  // the 0x00 of 0x0021
  EXPECT_EQ(key_of(packet), "tcp 10.0.0.1:80 10.0.0.2:40000");
}

TEST(FlowKey, OptionsAndExtensionHeadersAreLookedThrough) {
  EXPECT_EQ(key_of(v4({.option_bytes = 40}).tcp(1, 2)), "tcp 10.0.0.1:2 10.0.0.2:1");
  EXPECT_EQ(key_of(v6().extension(0, 2).extension(43, 3).extension(60).tcp(1, 2)),
            "tcp [2001:db8::1]:2 [2001:db8::2]:1");
}

TEST(FlowKey, DepthIsBounded) {
  Packet tags = Packet{}.ethernet();
  Packet labels = Packet{}.ethernet();
  Packet extensions = v6();
  for (int i = 0; i < 30; ++i) {
    tags.vlan(1);
    labels.mpls(1, false);
    extensions.extension(60);
  }
  EXPECT_THAT(key_of(tags.ipv4("10.0.0.2", "10.0.0.1").tcp(1, 2)), testing::StartsWith("l2 "));
  EXPECT_THAT(key_of(labels.mpls(1).ipv4("10.0.0.2", "10.0.0.1").tcp(1, 2)),
              testing::StartsWith("l2 "));
  EXPECT_EQ(key_of(extensions.tcp(1, 2)), "ip 2001:db8::1 2001:db8::2 60 !");
}

TEST(FlowKey, ATruncatedPacketHasTheKeyOfWhatCanBeRead) {
  const Bytes whole = v4().tcp(40000, 80).bytes();
  const auto cut = [&whole](std::size_t size) { return key_of(std::span{whole}.first(size)); };
  EXPECT_EQ(cut(38), "tcp 10.0.0.1:80 10.0.0.2:40000");
  EXPECT_EQ(cut(37), "ip 10.0.0.1 10.0.0.2 6 !");
  EXPECT_EQ(cut(34), "ip 10.0.0.1 10.0.0.2 6 !");
  EXPECT_EQ(cut(33), "l2 02:00:00:00:00:01 02:00:00:00:00:02 type=0x800 !");
  EXPECT_EQ(cut(14), "l2 02:00:00:00:00:01 02:00:00:00:00:02 type=0x800 !");
  EXPECT_EQ(cut(12), "l2 02:00:00:00:00:01 02:00:00:00:00:02 type=0x0 !");
  EXPECT_EQ(cut(3), "l2 00:00:00:00:00:00 02:00:00:00:00:00 type=0x0 !");
  EXPECT_EQ(cut(0), "l2 00:00:00:00:00:00 00:00:00:00:00:00 type=0x0 !");
}

TEST(FlowKey, NoPacketIsReadBehindItsEnd) {
  const std::vector<Packet> packets = {
      v4().tcp(1, 2),
      v6().extension(0).extension(43, 3).fragment6(0, false).udp(1, 2),
      Packet{}.ethernet().vlan(1).vlan(2).mpls(3).ipv4("1.1.1.1", "2.2.2.2").icmp(8, 0, 1),
      v4().icmp(3, 1).ipv4("10.0.0.1", "10.0.0.2").udp(5, 6),
      v4().geneve(1, 3).ethernet().vlan(2).ipv6("::1", "::2").icmpv6(1, 0).ipv6("::2", "::1").ah(3),
      v4().gre(0xb000).ethernet().pppoe().ipv6("::1", "::2").udp(1, 2),
      v4().gtp_u(1, 0x34, {0, 0, 0, 0x85, 1, 0, 0, 0}).ipv4("3.3.3.3", "4.4.4.4").esp(9)};
  for (const Packet& packet : packets) {
    const Bytes whole = packet.bytes();
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      dissect_checked(std::span{whole}.first(size));
      dissect_checked(std::span{whole}.first(size), kWireOrder);
      dissect_checked(std::span{whole}.first(size), kOuter);
    }
  }
}

TEST(FlowKey, MalformedIpv4HasItsAddresses) {
  EXPECT_EQ(key_of(v4({.header_words = 3}).tcp(1, 2)), "ip 10.0.0.1 10.0.0.2 6 !");
  EXPECT_EQ(key_of(v4({.header_words = 15}).tcp(1, 2)), "ip 10.0.0.1 10.0.0.2 6 !");
  EXPECT_EQ(key_of(v4({.total_length = 10}).tcp(1, 2)), "ip 10.0.0.1 10.0.0.2 6 !");
  EXPECT_EQ(key_of(Packet{}
                       .ethernet("02:00:00:00:00:01", "02:00:00:00:00:02", 0x86dd)
                       .ipv4("10.0.0.2", "10.0.0.1")
                       .payload(40)),
            "l2 02:00:00:00:00:01 02:00:00:00:00:02 type=0x86dd !");
}

TEST(FlowKey, PaddingIsNotReadAsPorts) {
  EXPECT_EQ(key_of(v4({.protocol = 17, .total_length = 20}).payload(26, 7)),
            "ip 10.0.0.1 10.0.0.2 17 !");
  EXPECT_EQ(key_of(v4({.protocol = 17, .total_length = 23}).payload(26, 7)),
            "ip 10.0.0.1 10.0.0.2 17 !");
}

TEST(FlowKey, TotalLengthZeroIsSegmentationOffload) {
  EXPECT_EQ(key_of(v4({.total_length = 0}).tcp(1, 2).payload(3000)), "tcp 10.0.0.1:2 10.0.0.2:1");
}

TEST(FlowKey, OffsetsAreThoseOfTheKeyedHeaders) {
  const Dissection plain = dissect_checked(v4().tcp(1, 2).bytes());
  EXPECT_EQ(plain.l3, 14);
  EXPECT_EQ(plain.l4, 34);
  const Dissection inner =
      dissect_checked(v4().vxlan().ethernet().vlan(1).ipv6("::1", "::2").udp(1, 2).bytes());
  EXPECT_EQ(inner.l3, 50 + 18);
  EXPECT_EQ(inner.l4, 50 + 18 + 40);
  const Dissection later =
      dissect_checked(v4({.fragment_offset = 8, .protocol = 6}).payload(50).bytes());
  EXPECT_EQ(later.l3, 14);
  EXPECT_EQ(later.l4, 0);
  const Dissection far = dissect_checked(v6().extension(0, 30).tcp(1, 2).bytes());
  EXPECT_EQ(far.l3, 14);
  EXPECT_EQ(far.l4, 0) << "beyond 255";
}

TEST(FlowKey, ControlTrafficIsMarked) {
  for (const unsigned port : {3784U, 3785U, 4784U, 6784U}) {
    EXPECT_EQ(flags_of(v4().udp(50000, port).payload(24)), kControlTraffic) << port;
    EXPECT_EQ(flags_of(v6().udp(50000, port).payload(24)), kControlTraffic) << port;
  }
  EXPECT_EQ(flags_of(v4().tcp(40000, 179)), kControlTraffic);
  EXPECT_EQ(flags_of(v6().tcp(179, 40000)), kControlTraffic);
  EXPECT_EQ(flags_of(v4({.protocol = 89}).payload(44)), kControlTraffic);
  EXPECT_EQ(flags_of(v4({.protocol = 112}).payload(20)), kControlTraffic);
  EXPECT_EQ(flags_of(v6().icmpv6(135, 0)), kControlTraffic);
  EXPECT_EQ(flags_of(v6().icmpv6(137, 0)), kControlTraffic);
  EXPECT_EQ(flags_of(Packet{}.ethernet().vlan(1).arp()), kControlTraffic);
  EXPECT_EQ(
      flags_of(Packet{}.ethernet("02:00:00:00:00:01", "01:80:c2:00:00:02", 0x8809).payload(110)),
      kControlTraffic);
  EXPECT_EQ(
      flags_of(
          Packet{}.ethernet("02:00:00:00:00:01", "01:80:c2:00:00:00").llc(0x42, 0x42).payload(35)),
      kControlTraffic);
}

TEST(FlowKey, OtherTrafficIsNotMarked) {
  EXPECT_EQ(flags_of(v4().udp(3784, 50000)), 0U);
  EXPECT_EQ(flags_of(v4().udp(179, 179)), 0U);
  EXPECT_EQ(flags_of(v4().tcp(3784, 3784)), 0U);
  EXPECT_EQ(flags_of(v6().icmpv6(138, 0)), 0U);
  EXPECT_EQ(flags_of(v6().icmpv6(132, 0)), 0U);
  EXPECT_EQ(flags_of(Packet{}.ethernet().llc(0x42, 0x42).payload(35)), 0U);
  EXPECT_EQ(flags_of(v4().icmp(3, 1).ipv4("1.1.1.1", "2.2.2.2").tcp(179, 1)), 0U);
}

TEST(FlowKey, PauseFramesAreMarked) {
  const auto pause = Packet{}.ethernet("02:00:00:00:00:01", "01:80:c2:00:00:01", 0x8808);
  EXPECT_EQ(flags_of(Packet{pause}.payload(46)), kPauseFrame);
  EXPECT_EQ(flags_of(Packet{}.ethernet().vlan(1, 0x8100, 0x8808).payload(46)), 0U)
      << "MAC control frames are never tagged";
  EXPECT_EQ(flags_of(v4().vxlan().ethernet("02:00:00:00:00:01", "01:80:c2:00:00:01", 0x8808)), 0U);
}

TEST(FlowKey, IdentityIsNotTheKind) {
  const FlowKey flow = dissect_checked(v4().udp(5, 6).bytes()).key;
  const FlowKey error =
      dissect_checked(v4().icmp(3, 1).ipv4("10.0.0.1", "10.0.0.2").udp(6, 5).bytes()).key;
  EXPECT_EQ(error, flow);
  EXPECT_NE(error.kind, flow.kind);
}

}  // namespace
}  // namespace mqsteer::test
