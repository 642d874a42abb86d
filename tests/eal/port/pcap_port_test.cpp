#include "environment.h"
#include "port/port.h"

#include <gmock/gmock.h>

#include <array>
#include <numeric>

namespace mqsteer {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

Frame numbered_frame(std::size_t bytes, std::uint8_t first) {
  Frame frame(bytes);
  std::iota(frame.begin(), frame.end(), first);
  return frame;
}

TEST(PcapPort, PassesFramesOfAllLengthsUnchanged) {
  const Directory directory;
  const std::vector<Frame> frames{numbered_frame(14, 1), numbered_frame(60, 2),
                                  numbered_frame(1514, 3), numbered_frame(9014, 4)};
  write_pcap(directory.file("in.pcap"), frames);
  {
    const OpenedPort opened = open("net_pcap_copy,rx_pcap=" + directory.file("in.pcap") +
                                       ",tx_pcap=" + directory.file("out.pcap"),
                                   {.mtu = 9000}, 9152);
    std::array<rte_mbuf*, 8> burst{};
    const std::size_t received = opened.rx().receive(burst);
    ASSERT_EQ(received, frames.size());
    EXPECT_EQ(opened.tx().send({burst.data(), received}), frames.size());
    EXPECT_EQ(opened.port->counters().rx_packets, 4U);
    EXPECT_EQ(opened.port->counters().rx_bytes, 14U + 60 + 1514 + 9014);
    opened.port->stop();
    EXPECT_EQ(opened.pool->available(), opened.pool->capacity());
  }
  EXPECT_THAT(read_pcap(directory.file("out.pcap")), ElementsAreArray(frames));
}

TEST(PcapPort, NamesTheFileThatIsNotThere) {
  EXPECT_EQ(refusal("net_pcap_no,rx_pcap=/nonexistent/in.pcap"),
            "port left: net_pcap_no: DPDK cannot make this virtual device; see its arguments "
            "(open_single_rx_pcap(): Couldn't open /nonexistent/in.pcap: /nonexistent/in.pcap: No "
            "such file or directory)");
}

TEST(PcapPort, IsNeverCalledKernelBypass) {
  start_eal();
  const Directory directory;
  write_pcap(directory.file("in.pcap"), {Frame(60)});
  const auto port =
      open_port({.name = "left", .device = "net_pcap_desc,rx_pcap=" + directory.file("in.pcap")});
  ASSERT_TRUE(port) << port.error().text();
  EXPECT_FALSE(port->kernel_bypass);
  EXPECT_THAT(port->description, HasSubstr("not kernel bypass"));
}

}  // namespace
}  // namespace mqsteer
