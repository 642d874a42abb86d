#include "network.h"
#include "support/deadline.h"

#include <gmock/gmock.h>
#include <linux/if.h>

namespace mqsteer {
namespace {

using test::eventually;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

class Interface : public Veth {};

TEST_F(Interface, IsServedByAfXdpAndSaidNotToBeKernelBypass) {
  const auto port = open_port(config());
  ASSERT_TRUE(port) << port.error().text();
  EXPECT_EQ(port->description, "near0: net_af_xdp, a kernel interface: not kernel bypass");
  EXPECT_FALSE(port->kernel_bypass);
  EXPECT_EQ(port->max_rx_queues, 1);
  EXPECT_EQ(port->mtu, 1500);
  EXPECT_EQ(port->max_mtu, 3434);
}

TEST_F(Interface, IsServedByPcapAboveTheMtuOfAfXdp) {
  set_mtus(9000, 9000);
  const auto port = open_port(config());
  ASSERT_TRUE(port) << port.error().text();
  EXPECT_EQ(port->description, "near0: net_pcap, a kernel interface: not kernel bypass");
  EXPECT_EQ(port->mtu, 9000);
}

TEST_F(Interface, ChangesDriverWithTheConfiguredMtu) {
  PortConfig wanted = config();
  wanted.mtu = 3435;
  EXPECT_EQ(open_port(wanted)->driver, "net_pcap");
  wanted.mtu = 3434;
  EXPECT_EQ(open_port(wanted)->driver, "net_af_xdp");
}

TEST_F(Interface, IsPromiscuousWhileThePortIsOpenWhateverOthersSay) {
  {
    const OpenedPort opened = open(config());
    EXPECT_GE(near().promiscuity, 1U);
    run("ip link set near0 promisc on && ip link set near0 promisc off");
    EXPECT_GE(near().promiscuity, 1U);
  }
  EXPECT_EQ(near().promiscuity, 0U);
}

TEST_F(Interface, IsNotPromiscuousAnyMoreAfterKill) {
  HoldingProcess other{"near0"};
  EXPECT_GE(near().promiscuity, 1U);
  other.kill();
  EXPECT_EQ(near().promiscuity, 0U);
}

TEST_F(Interface, GetsTheConfiguredMtuAndItsOwnBackAtStop) {
  PortConfig wanted = config();
  wanted.mtu = 2000;
  const OpenedPort opened = open(wanted);
  EXPECT_EQ(opened.port->mtu(), 2000);
  EXPECT_EQ(near().mtu, 2000U);
  opened.port->stop();
  EXPECT_EQ(near().mtu, 1500U);
}

TEST_F(Interface, IsBroughtUpAndTakenDownAgain) {
  run("ip link set near0 down");
  const OpenedPort opened = open(config());
  EXPECT_NE(near().flags & IFF_UP, 0U);
  EXPECT_THAT(opened.port->notes(),
              Contains("port left: near0 was down and is brought up; down again at stop"));
  opened.port->stop();
  EXPECT_EQ(near().flags & IFF_UP, 0U);
}

TEST_F(Interface, FollowsTheLinkDownAndUp) {
  const OpenedPort opened = open(config());
  EXPECT_TRUE(eventually(5s, [&] { return opened.port->link_up(); }));
  run("ip -n " + namespace_ + " link set far0 down");
  EXPECT_TRUE(eventually(5s, [&] { return !opened.port->link_up(); }));
  run("ip -n " + namespace_ + " link set far0 up");
  EXPECT_TRUE(eventually(5s, [&] { return opened.port->link_up(); }));

  Host host{place_, "far0"};
  host.send(test_frame(60, 7));
  EXPECT_EQ(opened.receive(), test_frame(60, 7));
  opened.send(test_frame(80, 8));
  EXPECT_EQ(host.receive(), test_frame(80, 8));
}

TEST_F(Interface, CanBeOpenedAgainByTheSameProcess) {
  const Host host{place_, "far0"};
  for (std::uint8_t round = 0; round < 5; ++round) {
    const OpenedPort opened = open(config());
    host.send(test_frame(60, round));
    EXPECT_EQ(opened.receive(), test_frame(60, round)) << "round " << int{round};
  }
}

TEST_F(Interface, IsReportedWhenTheKernelUsesItToo) {
  run("ip addr add 192.0.2.1/24 dev near0");
  const OpenedPort opened = open(config());
  EXPECT_THAT(opened.port->notes(),
              Contains(HasSubstr("near0 has an IP address: the kernel may answer or forward the "
                                 "same frames; remove it: ip addr flush dev near0")));
}

TEST_F(Interface, IsReportedWhenItIsPartOfABridge) {
  run("ip link add br7 type bridge && ip link set near0 master br7");
  {
    const OpenedPort opened = open(config());
    EXPECT_THAT(opened.port->notes(), Contains(HasSubstr("near0 is part of br7 as well")));
  }
  run("ip link del br7");
}

TEST_F(Interface, OfAVethWithALongMtuAtTheOtherEndIsRefused) {
  set_mtus(1500, 9000);
  EXPECT_EQ(refusal(config()),
            "port left: far0, the other end of near0, has an MTU of 9000, and XDP allows 3506; "
            "give both ends the same: " +
                place_.command_prefix + "ip link set far0 mtu 1500");
  set_mtus(1500, 3506);
  EXPECT_EQ(refusal(config()), "");
}

TEST_F(Interface, WithRxChannelsThatAfXdpCannotOpenIsRefused) {
  run("ethtool -L near0 rx 2");
  EXPECT_EQ(refusal(config()),
            "port left: near0 has 2 RX channels, and AF_XDP can be opened on one of them; run: "
            "ethtool -L near0 rx 1");
  run("ethtool -L near0 rx 1");
  EXPECT_EQ(refusal(config()), "");
}

TEST_F(Interface, WithMoreChannelsThanRxQueuesIsRefused) {
  auto port = open_port(config());
  ASSERT_TRUE(port) << port.error().text();
  port->min_rx_queues = 4;  // as a NIC with four channels; a veth cannot have them
  EXPECT_EQ(Port::start(*port, {}).error().text(),
            "port left (near0): has 4 channels and gets 1 RX queues: frames of the others would "
            "stay with the kernel; run: ethtool -L near0 combined 1");
}

TEST_F(Interface, WithoutEthernetHeadersIsRefused) {
  run("ip tuntap add dev tun7 mode tun");
  EXPECT_EQ(refusal({.name = "left", .device = "tun7"}),
            "port left: tun7 is no Ethernet interface (its frames have no Ethernet header)");
  run("ip link del tun7");
}

}  // namespace
}  // namespace mqsteer
