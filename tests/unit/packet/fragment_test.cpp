#include "packet/fragment.h"

#include "support/dissect_checked.h"
#include "support/fragments.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>

namespace mqsteer::test {
namespace {

/// Of a copy with exactly the packet's size, so that a sanitizer sees a read behind it.
std::optional<Fragment> read(const Bytes& packet, const KeyOptions& options = {}) {
  const auto copy = std::make_unique<std::byte[]>(packet.size());
  if (!packet.empty()) std::memcpy(copy.get(), packet.data(), packet.size());
  const auto found = dissect_fragment(copy.get(), packet.size(), options);
  const auto kind = dissect(copy.get(), packet.size(), packet.size(), options).key.kind;
  EXPECT_EQ(found.has_value(), kind == PacketKind::kFragment);
  return found;
}

FlowKey flow_of(const Bytes& packet, const KeyOptions& options = {}) {
  return dissect_checked(packet, options).key;
}

TEST(Fragments, OnlyFragmentsAreFragments) {
  EXPECT_FALSE(read(whole({})));
  EXPECT_FALSE(read(Packet{}.ethernet().arp().bytes()));
  EXPECT_FALSE(read(Packet{}.ethernet().ipv6("::1", "::2").fragment6(0, false).udp(1, 2).bytes()));
  EXPECT_FALSE(read(Packet{}
                        .ethernet()
                        .ipv4("1.1.1.1", "2.2.2.2")
                        .icmp(3, 1)
                        .ipv4("2.2.2.2", "1.1.1.1", {.fragment_offset = 8, .protocol = 17})
                        .payload(8)
                        .bytes()));
}

TEST(Fragments, SayWhereTheyStandInTheirDatagram) {
  const auto parts = fragments({.bytes = 250, .each = 104});
  ASSERT_EQ(parts.size(), 3);
  const std::vector<unsigned> offsets{0, 104, 208};
  const std::vector<unsigned> bytes{104, 104, 42};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto part = read(parts[i]);
    ASSERT_TRUE(part);
    EXPECT_EQ(part->offset, offsets[i]);
    EXPECT_EQ(part->bytes, bytes[i]);
    EXPECT_EQ(part->more, i < 2);
    EXPECT_EQ(part->datagram, read(parts[0])->datagram);
  }
}

TEST(Fragments, OfIpv6SayTheSame) {
  const Cut cut{.source = "2001:db8::1", .destination = "2001:db8::2", .bytes = 250, .each = 104};
  const auto parts = fragments(cut);
  EXPECT_EQ(read(parts[2])->offset, 208);
  EXPECT_EQ(read(parts[2])->bytes, 42);
  EXPECT_FALSE(read(parts[2])->more);
  EXPECT_EQ(read(parts[2])->datagram, read(parts[0])->datagram);
}

TEST(Fragments, TheFirstOneHasTheKeyOfTheWholeDatagram) {
  for (const KeyOptions& options : {KeyOptions{}, kWireOrder, kOuter}) {
    for (const Cut& cut : {Cut{}, Cut{.source = "2001:db8::2", .destination = "2001:db8::1"},
                           Cut{.vlan = 5}, reversed(Cut{})}) {
      const auto first = read(fragments(cut)[0], options);
      ASSERT_TRUE(first && first->flow_known);
      EXPECT_EQ(first->flow, flow_of(whole(cut), options)) << to_text(first->flow);
    }
  }
}

TEST(Fragments, LaterOnesDoNotKnowTheirFlow) {
  EXPECT_FALSE(read(fragments({})[1])->flow_known);
}

TEST(Fragments, OfATunnelHaveTheKeyOfWhatItCarries) {
  const auto carrier = [](const Packet::Ipv4& fields) {
    return Packet{}
        .ethernet()
        .ipv4("1.1.1.1", "2.2.2.2", fields)
        .vxlan()
        .ethernet()
        .ipv4("10.0.0.1", "10.0.0.2");
  };
  const Bytes first = carrier({.more_fragments = true}).tcp(1, 2).payload(100).bytes();
  const Bytes complete = carrier({}).tcp(1, 2).payload(100).bytes();
  for (const KeyOptions& options : {KeyOptions{}, kWireOrder, kOuter}) {
    EXPECT_EQ(read(first, options)->flow, flow_of(complete, options));
    EXPECT_EQ(
        read(first, options)->datagram.addresses[0],
        read(carrier({.fragment_offset = 800, .protocol = 17}).bytes())->datagram.addresses[0]);
  }
}

TEST(Fragments, WithinAWholeTunnelPacketAreOfTheInnerDatagram) {
  const auto inner = [](const Packet::Ipv4& fields) {
    return Packet{}
        .ethernet()
        .ipv4("1.1.1.1", "2.2.2.2")
        .gre()
        .ipv4("10.0.0.1", "10.0.0.2", fields);
  };
  const auto first = read(inner({.more_fragments = true, .id = 9}).udp(1, 2).payload(8).bytes());
  const auto second =
      read(inner({.fragment_offset = 16, .id = 9, .protocol = 17}).payload(8).bytes());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->datagram, second->datagram);
  EXPECT_EQ(first->flow, flow_of(inner({}).udp(1, 2).payload(8).bytes()));
}

TEST(Fragments, WithExtensionHeadersBehindTheirOwnHaveTheFlowsKey) {
  const auto start = [] { return Packet{}.ethernet().ipv6("::1", "::2").extension(0); };
  const auto first = read(start().fragment6(0, true).extension(60).tcp(1, 2).bytes());
  EXPECT_EQ(first->flow, flow_of(start().extension(60).tcp(1, 2).bytes()));
}

TEST(Fragments, AFirstOneCutWithinItsPortsHidesItsFlow) {
  const Bytes all = whole({});
  const Bytes carried{all.begin() + 34, all.end()};
  // Fragments are multiples of eight bytes; a hostile sender's need not be.
  EXPECT_FALSE(read(fragment({}, carried, 0, 3))->flow_known);
  EXPECT_TRUE(read(fragment({}, carried, 0, 8))->flow_known);
}

TEST(Fragments, OfIcmpEchoAreOfTheirEchoId) {
  const auto ping = [](const Packet::Ipv4& fields) {
    return Packet{}
        .ethernet()
        .ipv4("1.1.1.1", "2.2.2.2", fields)
        .icmp(8, 0, 0x12340001)
        .payload(64);
  };
  EXPECT_EQ(read(ping({.more_fragments = true}).bytes())->flow, flow_of(ping({}).bytes()));
}

TEST(Fragments, AFragmentInAFragmentIsNotLookedFor) {
  const Bytes packet = Packet{}
                           .ethernet()
                           .ipv6("::1", "::2")
                           .fragment6(0, true, 1)
                           .fragment6(8, true, 2, 17)
                           .payload(16)
                           .bytes();
  EXPECT_EQ(read(packet)->offset, 0);
}

TEST(Fragments, CutAnywhereAreReadWithinTheirBounds) {
  for (const Cut& cut : {Cut{.vlan = 1}, Cut{.source = "::1", .destination = "::2"}}) {
    for (const Bytes& part : fragments(cut)) {
      for (std::size_t size = 0; size < part.size(); ++size) {
        read({part.begin(), part.begin() + static_cast<std::ptrdiff_t>(size)});
      }
    }
  }
}

}  // namespace
}  // namespace mqsteer::test
