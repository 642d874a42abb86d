// Broken captures, as they are and readdressed to the rr handler: no crash, no read behind a packet
// (each lies in a block of its size), every one leaves once.

#include "rr_box.h"

#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

namespace mqsteer::test {
namespace {

constexpr std::uint64_t kVerified = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;

/// returns: packets read, of whatever link type
int read_packets(const std::string& file, const std::function<void(const Bytes&)>& each) {
  std::array<char, PCAP_ERRBUF_SIZE> reason{};
  pcap_t* pcap = pcap_open_offline(file.c_str(), reason.data());
  if (pcap == nullptr) return 0;
  int packets = 0;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  for (; pcap_next_ex(pcap, &header, &data) == 1; ++packets) each({data, data + header->caplen});
  pcap_close(pcap);
  return packets;
}

/// The same bytes, sent to the server's address; to its port where asked for.
Bytes readdressed(Bytes frame, bool to_port) {
  const Bytes macs = Packet{}.ethernet(kClientMac, kServerMac).bytes();
  if (frame.size() < 14) return frame;
  std::copy(macs.begin(), macs.begin() + 12, frame.begin());
  const unsigned type = be16(frame, 12);
  const bool v6 = type == 0x86dd;
  const std::size_t address = v6 ? 38 : 30;
  const std::size_t size = v6 ? 16 : 4;
  if ((type != 0x0800 && !v6) || frame.size() < address + size) return frame;
  inet_pton(v6 ? AF_INET6 : AF_INET, v6 ? kServer6 : kServer4, &frame[address]);
  const std::size_t l4 = v6 ? 54 : 34;
  if (to_port && frame.size() >= l4 + 4) put16(frame, l4 + 2, 7);
  return frame;
}

TEST(RrCaptures, BrokenPacketsAreRefusedOrAnsweredWithinTheirBounds) {
  auto settings = box_settings();
  settings.connections = 1000;
  RrBox box{settings, 2};
  box.spare = 0;
  int total = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::getenv("MQSTEER_PCAPS"))) {
    if (!entry.is_regular_file()) continue;
    SCOPED_TRACE(entry.path().string());
    total += read_packets(entry.path(), [&box](const Bytes& packet) {
      if (packet.size() > 9000) return;
      box.receive(packet);
      box.receive(readdressed(packet, false), 0);
      box.receive(readdressed(packet, false), 1, kVerified);
      box.receive(readdressed(packet, true), 0, kVerified);
      while (box.frame()) {
      }
    });
    box.pass(100);
  }
  std::printf("%d packets\n", total);
  EXPECT_GT(total, 0);
  EXPECT_GT(box.count(RrCount::kMalformed), 0U);
  EXPECT_GT(box.count(RrCount::kBadChecksum), 0U);
  EXPECT_GT(box.count(RrCount::kNotForUs), 0U);
  EXPECT_GT(box.count(RrCount::kUnwanted), 0U);
}

}  // namespace
}  // namespace mqsteer::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* folder = std::getenv("MQSTEER_PCAPS");
  if (folder == nullptr || !std::filesystem::is_directory(folder)) {
    std::printf("skipped: MQSTEER_PCAPS names no folder of captures (%s)\n",
                folder == nullptr ? "unset" : folder);
    return 77;
  }
  return RUN_ALL_TESTS();
}
