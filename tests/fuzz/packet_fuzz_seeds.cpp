// Writes one file a packet into a folder: what the fuzzer begins with.

#include "support/packet_builder.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using mqsteer::test::Packet;

Packet v4() {
  return Packet{}.ethernet().ipv4("10.0.0.2", "10.0.0.1");
}
Packet v6() {
  return Packet{}.ethernet().ipv6("2001:db8::2", "2001:db8::1");
}

std::vector<Packet> packets() {
  return {
      v4().tcp(40000, 80).payload(6),
      v6().udp(40000, 53).payload(6),
      v4().udp_lite(1, 2),
      v4().sctp(1, 2),
      v6().dccp(1, 2),
      v4().icmp(8, 0, 0x10001),
      v6().icmpv6(128, 0, 0x10001),
      v6().icmpv6(135, 0),
      v4().esp(7),
      v6().ah(7).tcp(1, 2),
      v4().tcp(40000, 179),
      v4().udp(40000, 3784),
      Packet{}.ethernet().ipv4("1.1.1.1", "2.2.2.2", {.option_bytes = 40}).tcp(1, 2),
      Packet{}.ethernet().ipv4("1.1.1.1", "2.2.2.2", {.more_fragments = true}).udp(1, 2),
      Packet{}.ethernet().ipv4("1.1.1.1", "2.2.2.2", {.fragment_offset = 8, .protocol = 17}),
      v6().extension(0).extension(43, 3).fragment6(0, true).udp(1, 2),
      v6().fragment6(0, false).extension(60).udp(1, 2),
      Packet{}.ethernet().vlan(1, 0x88a8).vlan(2).ipv4("1.1.1.1", "2.2.2.2").tcp(1, 2),
      Packet{}.ethernet().mpls(16, false).mpls(17).ipv6("::1", "::2").tcp(1, 2),
      Packet{}.ethernet().pppoe().ipv4("1.1.1.1", "2.2.2.2").tcp(1, 2),
      Packet{}.ethernet().arp(),
      Packet{}.ethernet("02:00:00:00:00:01", "01:80:c2:00:00:00").llc(0x42, 0x42).payload(35),
      Packet{}.ethernet("02:00:00:00:00:01", "01:80:c2:00:00:01", 0x8808).payload(46),
      v4().ipv4("1.1.1.1", "2.2.2.2").tcp(1, 2),
      v4().ipv6("::1", "::2").udp(1, 2),
      v6().ipv4("1.1.1.1", "2.2.2.2").tcp(1, 2),
      v4().gre(0xb000).ipv4("1.1.1.1", "2.2.2.2").tcp(1, 2),
      v4().gre(0x2000).ethernet().vlan(1).ipv6("::1", "::2").udp(1, 2),
      v4().vxlan().ethernet().ipv4("1.1.1.1", "2.2.2.2").tcp(1, 2),
      v6().vxlan(1, 8472).ethernet().arp(),
      v4().geneve(1, 3).ethernet().ipv6("::1", "::2").tcp(1, 2),
      v4().geneve(1, 0).ipv4("1.1.1.1", "2.2.2.2").esp(1),
      v4().gtp_u().ipv4("1.1.1.1", "2.2.2.2").tcp(1, 2),
      v4().gtp_u(1, 0x34, {0, 0, 0, 0x85, 1, 0, 9, 0}).ipv6("::1", "::2").udp(1, 2),
      v4().icmp(3, 1).ipv4("1.1.1.1", "2.2.2.2").udp(1, 2),
      v6().icmpv6(1, 0).ipv6("::1", "::2").fragment6(8, false, 1, 17).payload(8),
      v4().icmp(11, 0)
          .ipv4("1.1.1.1", "2.2.2.2")
          .vxlan()
          .ethernet()
          .ipv4("3.3.3.3", "4.4.4.4")
          .tcp(1, 2),
      v4().ipv4("1.1.1.1", "2.2.2.2").ipv6("::1", "::2").gre().ipv4("3.3.3.3", "4.4.4.4").udp(1, 2),
  };
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: packet_fuzz_seeds FOLDER\n");
    return 1;
  }
  int n = 0;
  for (const Packet& packet : packets()) {
    const auto bytes = packet.bytes();
    std::ofstream file{std::filesystem::path{argv[1]} / std::to_string(n++), std::ios::binary};
    for (const auto byte : bytes) file.put(static_cast<char>(byte));
    if (!file.flush()) {
      std::fprintf(stderr, "packet_fuzz_seeds: cannot write to %s\n", argv[1]);
      return 2;
    }
  }
  return 0;
}
