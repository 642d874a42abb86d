// Frames that are no good TCP for us: neighbours' questions, and everything that is refused.

#include "rr_box.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace mqsteer::test {
namespace {

const RrSettings kSettings = box_settings();

Packet ethernet() {
  return Packet{}.ethernet(kClientMac, kServerMac);
}
Packet ipv4(const Packet::Ipv4& fields = {}) {
  return ethernet().ipv4("10.0.0.2", kServer4, fields);
}

Bytes arp_request(const std::string& wanted, const std::string& mac = "ff:ff:ff:ff:ff:ff") {
  Bytes frame = Packet{}.ethernet(kClientMac, mac).arp().bytes();
  const Bytes sender{2, 0, 0, 0, 0, 1, 10, 0, 0, 2};
  std::copy(sender.begin(), sender.end(), frame.begin() + 22);
  inet_pton(AF_INET, wanted.c_str(), &frame[38]);
  frame.resize(60);  // as from a wire
  return frame;
}

Bytes solicitation(const std::string& source, const std::string& wanted,
                   const Bytes& options = {}) {
  Bytes body(16);
  inet_pton(AF_INET6, wanted.c_str(), body.data());
  body.insert(body.end(), options.begin(), options.end());
  Bytes frame = Packet{}
                    .ethernet(kClientMac, "33:33:ff:00:00:01")
                    .ipv6(source, "ff02::1:ff00:1")
                    .icmpv6(135, 0)
                    .raw(body)
                    .bytes();
  frame[21] = 255;
  return frame;
}

/// The ICMPv6 checksum of a frame, which is 0 where it is right.
std::uint16_t icmpv6_sum(const Bytes& frame) {
  const auto message = std::span{frame}.subspan(54);
  const auto sum = checksum_add(58 + static_cast<std::uint32_t>(message.size()),
                                std::span{frame}.subspan(22, 32));
  return checksum_end(checksum_add(sum, message));
}

class RrFrame : public testing::Test {
 protected:
  RrBox box;
  /// One frame, which must be counted so and not be answered.
  void expect_refused(const Bytes& frame, RrCount reason, std::uint64_t rx_flags = 0) {
    const std::uint64_t before = box.count(reason);
    box.receive(frame, 0, rx_flags);
    EXPECT_EQ(box.count(reason), before + 1) << name_of(reason);
    EXPECT_TRUE(box.silent()) << name_of(reason);
    EXPECT_EQ(box.connections(), 0U);
  }
  void expect_refused(const Packet& packet, RrCount reason) {
    expect_refused(packet.bytes(), reason);
  }
};

TEST_F(RrFrame, ArpRequestForOurAddressIsAnswered) {
  box.receive(arp_request(kServer4));
  const Bytes answer = *box.frame();
  const Bytes expected{2, 0, 0, 0, 0, 1, 2, 0,  0, 0, 0, 2, 8, 6, 0, 1, 8, 0,  6, 4, 0,
                       2, 2, 0, 0, 0, 0, 2, 10, 0, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 2};
  EXPECT_EQ(answer, expected);
  EXPECT_EQ(box.count(RrCount::kArpAnswers), 1U);
}

TEST_F(RrFrame, ArpForOthersOrNoRequestIsNotAnswered) {
  expect_refused(arp_request("10.0.0.3"), RrCount::kNotForUs);
  Bytes reply = arp_request(kServer4, kServerMac);
  reply[21] = 2;
  expect_refused(reply, RrCount::kUnwanted);
  Bytes ours = arp_request(kServer4);
  ours[31] = 1;  // our address as the sender's: somebody has taken it
  expect_refused(ours, RrCount::kBadSource);
  Bytes cut = arp_request(kServer4);
  cut.resize(41);
  expect_refused(cut, RrCount::kMalformed);
}

TEST_F(RrFrame, PingIsAnsweredWithItsData) {
  const Bytes data{1, 2, 3, 4, 5};
  box.receive(ipv4().icmp(8, 0, 0x12345678).raw(data).bytes());
  const Bytes expected = Packet{}
                             .ethernet(kServerMac, kClientMac)
                             .ipv4(kServer4, "10.0.0.2")
                             .icmp(0, 0, 0x12345678)
                             .raw(data)
                             .bytes();
  EXPECT_EQ(*box.frame(), expected);
  EXPECT_EQ(box.count(RrCount::kIcmpAnswers), 1U);
}

TEST_F(RrFrame, PaddingIsNotSentBack) {
  Bytes ping = ipv4().icmp(8, 0, 1).bytes();
  const std::size_t bytes = ping.size();
  ping.resize(60, 0xee);
  box.receive(ping);
  EXPECT_EQ(box.frame()->size(), bytes);
}

TEST_F(RrFrame, Ping6IsAnsweredWithItsData) {
  const Bytes data{1, 2, 3};
  box.receive(ethernet().ipv6("2001:db8::2", kServer6).icmpv6(128, 0, 7).raw(data).bytes());
  const Bytes expected = Packet{}
                             .ethernet(kServerMac, kClientMac)
                             .ipv6(kServer6, "2001:db8::2")
                             .icmpv6(129, 0, 7)
                             .raw(data)
                             .bytes();
  EXPECT_EQ(*box.frame(), expected);
}

TEST_F(RrFrame, SolicitationIsAnsweredWithOurMac) {
  box.receive(solicitation("2001:db8::2", kServer6, {1, 1, 2, 0, 0, 0, 0, 1}));
  const Bytes answer = *box.frame();
  ASSERT_EQ(answer.size(), 86U);
  EXPECT_EQ(icmpv6_sum(answer), 0);
  EXPECT_EQ(answer[21], 255) << "hop limit";
  EXPECT_EQ(be16(answer, 54), 0x8800);
  EXPECT_EQ(be32(answer, 58), 0x60000000U) << "solicited, override";
  EXPECT_EQ(address_text(std::span{answer}.subspan(62, 16)), kServer6);
  EXPECT_EQ(address_text(std::span{answer}.subspan(38, 16)), "2001:db8::2");
  EXPECT_EQ(Bytes(answer.begin() + 78, answer.end()), (Bytes{2, 1, 2, 0, 0, 0, 0, 2}));
  EXPECT_EQ(box.count(RrCount::kNeighbourAnswers), 1U);
}

TEST_F(RrFrame, DuplicateAddressDetectionIsAnsweredToAll) {
  box.spare = 0;  // the answer is longer
  box.receive(solicitation("::", kServer6));
  const Bytes answer = *box.frame();
  EXPECT_EQ(icmpv6_sum(answer), 0);
  EXPECT_EQ(be32(answer, 58), 0x20000000U);
  EXPECT_EQ(address_text(std::span{answer}.subspan(38, 16)), "ff02::1");
  EXPECT_EQ(Bytes(answer.begin(), answer.begin() + 6), (Bytes{0x33, 0x33, 0, 0, 0, 1}));
}

TEST_F(RrFrame, SolicitationThatMayBeForgedIsNotAnswered) {
  Bytes far = solicitation("2001:db8::2", kServer6);
  far[21] = 254;
  expect_refused(far, RrCount::kMalformed);
  expect_refused(solicitation("2001:db8::2", "2001:db8::5"), RrCount::kNotForUs);
  expect_refused(solicitation("2001:db8::2", kServer6, {1, 0, 0, 0, 0, 0, 0, 0}),
                 RrCount::kMalformed);
  expect_refused(solicitation("2001:db8::2", kServer6, {1, 2, 0, 0, 0, 0, 0, 0}),
                 RrCount::kMalformed);
  expect_refused(solicitation("ff02::1", kServer6), RrCount::kBadSource);
  Bytes broken = solicitation("2001:db8::2", kServer6);
  broken[60] ^= 1U;
  expect_refused(broken, RrCount::kBadChecksum);
}

TEST_F(RrFrame, WhatIsNotForUsIsNotAnswered) {
  const auto syn = [](Packet packet) { return packet.tcp(40000, 7, SYN); };
  expect_refused(syn(Packet{}.ethernet(kClientMac, "02:00:00:00:00:09").ipv4("10.0.0.2", kServer4)),
                 RrCount::kNotForUs);
  expect_refused(syn(Packet{}.ethernet(kClientMac, "ff:ff:ff:ff:ff:ff").ipv4("10.0.0.2", kServer4)),
                 RrCount::kNotForUs);
  expect_refused(
      syn(Packet{}.ethernet(kClientMac, "33:33:00:00:00:01").ipv6("2001:db8::2", kServer6)),
      RrCount::kNotForUs);
  expect_refused(syn(ethernet().ipv4("10.0.0.2", "10.0.0.9")), RrCount::kNotForUs);
  expect_refused(syn(ethernet().ipv6("2001:db8::2", "2001:db8::9")), RrCount::kNotForUs);
  expect_refused(syn(ethernet().ipv6("2001:db8::2", "ff02::1:ff00:1")), RrCount::kNotForUs);
  auto packet = box.packet_of(syn(ipv4()).bytes());
  packet.port = 9;
  box.run(packet);
  EXPECT_EQ(box.count(RrCount::kNotForUs), 7U) << "another port of the box";
}

TEST_F(RrFrame, SourcesThatNobodyCanHaveAreNotAnswered) {
  for (const char* source : {"0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255", kServer4}) {
    expect_refused(ethernet().ipv4(source, kServer4).tcp(40000, 7, SYN), RrCount::kBadSource);
  }
  for (const char* source : {"::", "ff02::1", kServer6}) {
    expect_refused(ethernet().ipv6(source, kServer6).tcp(40000, 7, SYN), RrCount::kBadSource);
  }
  expect_refused(
      Packet{}.ethernet("03:00:00:00:00:01", kServerMac).ipv4("10.0.0.2", kServer4).tcp(1, 7, SYN),
      RrCount::kBadSource);
}

TEST_F(RrFrame, WhatWeDoNotSpeakIsCountedByName) {
  expect_refused(ethernet().vlan(5).ipv4("10.0.0.2", kServer4).tcp(40000, 7, SYN),
                 RrCount::kTagged);
  expect_refused(ethernet().mpls(5).ipv4("10.0.0.2", kServer4).tcp(40000, 7, SYN),
                 RrCount::kTagged);
  expect_refused(ipv4({.more_fragments = true}).tcp(40000, 7, SYN), RrCount::kFragments);
  expect_refused(ipv4({.fragment_offset = 8, .protocol = 6}).payload(20), RrCount::kFragments);
  expect_refused(ipv4({.option_bytes = 4}).tcp(40000, 7, SYN), RrCount::kIpOptions);
  expect_refused(ethernet().ipv6("2001:db8::2", kServer6).fragment6(0, true).tcp(1, 7),
                 RrCount::kFragments);
  expect_refused(ethernet().ipv6("2001:db8::2", kServer6).extension(0).tcp(1, 7),
                 RrCount::kIpOptions);
  expect_refused(ipv4().udp(40000, 7).payload(3), RrCount::kUnwanted);
  expect_refused(ipv4().icmp(13, 0), RrCount::kUnwanted);
  expect_refused(ipv4().ipv4("1.1.1.1", "2.2.2.2").tcp(40000, 7, SYN), RrCount::kUnwanted);
  expect_refused(ethernet().ipv6("2001:db8::2", kServer6).icmpv6(133, 0), RrCount::kUnwanted);
  expect_refused(ethernet().llc(0x42, 0x42).payload(40), RrCount::kUnwanted);
  expect_refused(ipv4().tcp(40000, 7, SYN).bytes(), RrCount::kTagged,
                 RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
}

TEST_F(RrFrame, FrameInSeveralSegmentsIsRefused) {
  const Bytes frame = ipv4().tcp(40000, 7, SYN).bytes();
  auto packet = box.packet_of(frame);
  packet.mbuf->nb_segs = 2;
  packet.mbuf->pkt_len += 10;
  box.run(packet);
  EXPECT_EQ(box.count(RrCount::kSegmentedMbufs), 1U);
  EXPECT_TRUE(box.silent());
}

TEST_F(RrFrame, FlagsThatMakeNoSenseAreMalformed) {
  for (const unsigned flags :
       {0U, unsigned{FIN}, unsigned{PSH}, unsigned{SYN | FIN}, unsigned{SYN | RST},
        unsigned{FIN | RST}, unsigned{SYN | FIN | ACK}, 0x3fU, 0x29U}) {
    expect_refused(frame_of({.flags = flags}), RrCount::kMalformed);
  }
}

TEST_F(RrFrame, LengthsThatContradictEachOtherAreMalformed) {
  const Bytes good = frame_of({.flags = SYN});
  const auto with = [&good](std::size_t at, std::uint8_t value) {
    Bytes frame = good;
    frame[at] = value;
    put16(frame, 24, 0);  // the IPv4 checksum must be right
    put16(frame, 24, checksum_end(checksum_add(0, std::span{frame}.subspan(14, 20))));
    return frame;
  };
  expect_refused(with(46, 0x40), RrCount::kMalformed);  // TCP data offset 4
  expect_refused(with(46, 0x60), RrCount::kMalformed);  // 6 words, 5 are there
  expect_refused(with(46, 0xf0), RrCount::kMalformed);
  expect_refused(with(17, 39), RrCount::kMalformed);  // IP length cuts the TCP header
  expect_refused(with(17, 19), RrCount::kMalformed);
  expect_refused(with(17, 41), RrCount::kMalformed);  // beyond the frame
  expect_refused(with(14, 0x44), RrCount::kMalformed);
  expect_refused(with(14, 0x65), RrCount::kMalformed);
  expect_refused(frame_of({.client_port = 0, .flags = SYN}), RrCount::kMalformed);
}

TEST_F(RrFrame, EveryCutOfAFrameIsRefusedAndReadWithinItsBounds) {
  box.spare = 0;
  for (const bool v6 : {false, true}) {
    const Bytes good = frame_of({.v6 = v6,
                                 .client = v6 ? "2001:db8::2" : "10.0.0.2",
                                 .flags = SYN,
                                 .options = {2, 4, 5, 0xb4}});
    for (std::size_t size = 0; size < good.size(); ++size) {
      box.receive(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)));
    }
    EXPECT_TRUE(box.silent());
  }
  EXPECT_EQ(box.count(RrCount::kMalformed), 58U + 78U);
}

TEST_F(RrFrame, OptionsThatMakeNoSenseAreHarmless) {
  const std::vector<Bytes> options{
      {2, 0, 0, 0}, {2, 1, 0, 0}, {2, 200, 0, 0},   {1, 1, 1, 2}, {3, 3, 1, 1},
      {2, 3, 0, 1}, {0, 2, 4, 5}, {254, 255, 0, 0}, {2, 4, 0, 0}, {1, 1, 1, 1, 2, 4, 0, 1}};
  std::uint16_t port = 1;
  for (const Bytes& each : options) {
    box.receive(frame_of({.client_port = port++, .flags = SYN, .options = each}));
    const auto answer = box.reply();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->flags, unsigned{SYN | ACK});
  }
}

TEST_F(RrFrame, EveryFlippedBitOfASegmentIsFoundByAChecksum) {
  const Bytes good = frame_of({.flags = SYN, .text = {1, 2, 3}});
  for (std::size_t bit = 26 * 8; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] = static_cast<std::uint8_t>(bad[bit / 8] ^ 1U << bit % 8);
    box.receive(bad);
    EXPECT_TRUE(box.silent()) << "bit " << bit;
  }
}

TEST_F(RrFrame, ChecksumThatTheNicHasVerifiedIsNotVerifiedAgain) {
  Bytes frame = frame_of({.flags = SYN});
  put16(frame, 50, 0);  // left to a NIC that never saw it
  expect_refused(frame, RrCount::kBadChecksum);
  expect_refused(frame, RrCount::kBadChecksum, RTE_MBUF_F_RX_L4_CKSUM_BAD);
  for (const std::uint64_t flags : {RTE_MBUF_F_RX_L4_CKSUM_GOOD, RTE_MBUF_F_RX_L4_CKSUM_NONE}) {
    box.receive(frame, 0, flags);
    EXPECT_TRUE(box.reply());
  }
}

TEST_F(RrFrame, ChecksumThatTheNicFoundBadIsBelieved) {
  const Bytes good = frame_of({.flags = SYN});
  expect_refused(good, RrCount::kBadChecksum, RTE_MBUF_F_RX_L4_CKSUM_BAD);
  expect_refused(good, RrCount::kBadChecksum, RTE_MBUF_F_RX_IP_CKSUM_BAD);
}

TEST_F(RrFrame, WithoutAnAddressOfItsKindNothingIsAnswered) {
  auto settings = box_settings();
  settings.ipv6.reset();
  RrBox only4{settings};
  only4.receive(solicitation("2001:db8::2", kServer6));
  only4.receive(frame_of({.v6 = true, .client = "2001:db8::2", .flags = SYN}));
  EXPECT_TRUE(only4.silent());
  settings = box_settings();
  settings.ipv4.reset();
  RrBox only6{settings};
  only6.receive(arp_request(kServer4));
  only6.receive(arp_request("0.0.0.0"));
  only6.receive(frame_of({.flags = SYN}));
  EXPECT_TRUE(only6.silent());
}

}  // namespace
}  // namespace mqsteer::test
