#include "port/device.h"

#include "environment.h"
#include "port/port.h"

#include <gmock/gmock.h>

namespace mqsteer {
namespace {

TEST(PortKind, IsToldByTheFormOfTheName) {
  EXPECT_EQ(port_kind("0000:00:14.0"), PortKind::kPci);
  EXPECT_EQ(port_kind("0000:af:00.1"), PortKind::kPci);
  EXPECT_EQ(port_kind("lo"), PortKind::kKernelInterface);
  EXPECT_EQ(port_kind("net_ring0"), PortKind::kVdev);
  EXPECT_EQ(port_kind("net_pcap0,rx_pcap=a.pcap"), PortKind::kVdev);
  EXPECT_EQ(port_kind("virtio_user0,path=/dev/vhost-net"), PortKind::kVdev);
}

TEST(PortKind, OfAnUnknownNameIsRefusedWithWhatWasExpected) {
  for (const std::string name : {"eth77", "", "0000:00:14", "0000:00:14.g", "an interface name"}) {
    const auto kind = port_kind(name);
    ASSERT_FALSE(kind) << name;
    EXPECT_EQ(kind.error().text(),
              name +
                  ": no kernel interface of that name here, and neither a PCI address "
                  "(0000:00:14.0) nor a DPDK virtual device (net_…)");
  }
}

TEST(VdevText, IsCutAtItsFirstComma) {
  const VdevText vdev = vdev_text("net_pcap0,rx_iface_in=eth0,tx_iface=eth1");
  EXPECT_EQ(vdev.name, "net_pcap0");
  EXPECT_EQ(vdev.arguments, "rx_iface_in=eth0,tx_iface=eth1");
  EXPECT_EQ(vdev_argument(vdev, "rx_iface_in"), "eth0");
  EXPECT_EQ(vdev_argument(vdev, "tx_iface"), "eth1");
  EXPECT_EQ(vdev_argument(vdev, "iface"), "");
  EXPECT_EQ(vdev_argument(vdev_text("net_ring0"), "iface"), "");
  EXPECT_EQ(vdev_argument(vdev_text("net_x,iface"), "iface"), "");
  EXPECT_EQ(vdev_argument(vdev_text("net_x,,iface=a,"), "iface"), "a");
}

TEST(OpenPort, RefusesAPciAddressWithoutADevice) {
  EXPECT_EQ(refusal("ffff:ff:1f.7"),
            "port left: ffff:ff:1f.7: this machine has no PCI device of that address; lspci -D "
            "lists them (EAL: Cannot find device (ffff:ff:1f.7))");
}

TEST(OpenPort, RefusesAVdevOfNoDriver) {
  EXPECT_EQ(refusal("net_frobnic0"),
            "port left: net_frobnic0: DPDK cannot make this virtual device; see its arguments "
            "(EAL: failed to parse device \"vdev:net_frobnic0\")");
}

TEST(OpenPort, RefusesAnInterfaceUnderAVdevThatIsNotThere) {
  EXPECT_EQ(refusal("net_af_xdp0,iface=eth77"), "port left: no kernel interface eth77 here");
  EXPECT_EQ(refusal("net_pcap0,iface=eth77"), "port left: no kernel interface eth77 here");
}

TEST(OpenPort, UnplugsTheDeviceWithTheLastCopy) {
  start_eal();
  {
    const auto first = open_port({.name = "left", .device = "net_null_copy"});
    ASSERT_TRUE(first);
    const PortCapabilities second = *first;
    EXPECT_EQ(rte_eth_dev_count_avail(), 1);
  }
  EXPECT_EQ(rte_eth_dev_count_avail(), 0);
}

TEST(PortCapabilities, GiveRoomForAFrameAndTwoTags) {
  PortCapabilities nic;
  nic.profile = &profile_of("net_ixgbe");
  EXPECT_EQ(nic.data_room_bytes(1500), 2176);
  EXPECT_EQ(nic.data_room_bytes(9000), 9152);
  PortCapabilities xdp;
  xdp.profile = &profile_of("net_af_xdp");
  EXPECT_EQ(xdp.data_room_bytes(3434), 3840);
  EXPECT_GE(xdp.frame_bytes_in(xdp.data_room_bytes(3434)), 3456U);
}

TEST(PortCapabilities, CountTheMbufsThatRingsHold) {
  PortCapabilities port;
  port.profile = &profile_of("net_ixgbe");
  EXPECT_EQ(port.mbufs_held(1024, 512), 1536U);
  port.profile = &profile_of("net_af_xdp");
  EXPECT_EQ(port.mbufs_held(1024, 1024), 2048U + 2048U);
  port.profile = &profile_of("net_pcap");
  EXPECT_EQ(port.mbufs_held(1024, 1024), 0U);
}

}  // namespace
}  // namespace mqsteer
