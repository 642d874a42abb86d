#include "config/device_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mqsteer {
namespace {

using testing::ElementsAre;

TEST(DeviceName, KindFollowsFromTheForm) {
  for (const char* pci : {"0000:00:14.0", "00:14.0", "10000:E1:1f.7", "0000:ff:00.0"}) {
    ASSERT_TRUE(parse_device(pci)) << pci;
    EXPECT_EQ(*parse_device(pci), DeviceKind::kPci) << pci;
  }
  for (const char* interface : {"eth1", "enp0s20f0", "a", "eth0.100", "fifteen-letters"}) {
    ASSERT_TRUE(parse_device(interface)) << interface;
    EXPECT_EQ(*parse_device(interface), DeviceKind::kInterface) << interface;
  }
  for (const char* vdev : {"net_null0", "net_pcap0,rx_pcap=/tmp/a b.pcap,tx_pcap=/tmp/c"}) {
    ASSERT_TRUE(parse_device(vdev)) << vdev;
    EXPECT_EQ(*parse_device(vdev), DeviceKind::kVdev) << vdev;
  }
}

TEST(DeviceName, OtherFormsAreRefused) {
  const std::string long_vdev = "net_" + std::string(60, 'x');
  for (const std::string& wrong :
       {std::string{}, std::string{"sixteen--letters"}, std::string{"a b"}, std::string{"/dev/x"},
        std::string{"."}, std::string{".."}, std::string{"00:14"}, std::string{"0000:00:14.8"},
        std::string{"0000:00:20.0"}, std::string{"00:14.0,x=1"}, std::string{"net_"},
        std::string{"net_a b"}, std::string{"net_a,x=\n"}, std::string{"eth0:1"},
        std::string{"e\x01"}, long_vdev, std::string(5000, 'x')}) {
    EXPECT_FALSE(parse_device(wrong)) << wrong;
  }
}

TEST(DeviceName, OnePciDeviceHasOneSpelling) {
  EXPECT_EQ(canonical_device("00:14.0"), "0000:00:14.0");
  EXPECT_EQ(canonical_device("0:00:14.0"), "0000:00:14.0");
  EXPECT_EQ(canonical_device("00000000:0A:1F.7"), "0000:0a:1f.7");
  EXPECT_EQ(canonical_device("10000:e1:00.0"), "10000:e1:00.0");
  EXPECT_EQ(canonical_device("ETH1"), "ETH1");
}

TEST(DeviceName, AVdevClaimsItsNameAndItsInterface) {
  EXPECT_THAT(claims_of("net_af_packet0,iface=eth1,qpairs=2"),
              ElementsAre("net_af_packet0", "eth1"));
  EXPECT_THAT(claims_of("net_null0"), ElementsAre("net_null0"));
  EXPECT_THAT(claims_of("eth1"), ElementsAre("eth1"));
}

TEST(Claims, AVdevClaimsTheInterfaceThatItStandsOnOnce) {
  EXPECT_EQ(claims_of("net_pcap0,rx_iface_in=eth1,tx_iface=eth1"),
            (std::vector<std::string>{"net_pcap0", "eth1"}));
}

}  // namespace
}  // namespace mqsteer
