#include "drivers/nic_table.h"

#include <rte_ethdev.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <set>
#include <string>
#include <utility>

namespace mqsteer {
namespace {

using testing::Contains;
using testing::Each;
using testing::Ge;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const NicProfile& intel(std::string_view driver, std::uint16_t device) {
  return profile_of(driver, PciId{0x8086, device});
}

TEST(NicTable, TellsTheIgbPartsApartByPciId) {
  EXPECT_EQ(intel("net_e1000_igb", 0x10c9).max_rx_queues, 16);  // 82576
  EXPECT_EQ(intel("net_e1000_igb", 0x1521).max_rx_queues, 8);   // I350
  EXPECT_EQ(intel("net_e1000_igb", 0x1f41).max_rx_queues, 8);   // I354
  EXPECT_EQ(intel("net_e1000_igb", 0x1533).max_rx_queues, 4);   // I210
  EXPECT_EQ(intel("net_e1000_igb", 0x1539).max_rx_queues, 2);   // I211
}

TEST(NicTable, GivesIxgbeNoMoreQueuesThanItsRssReaches) {
  EXPECT_EQ(intel("net_ixgbe", 0x10fb).max_rx_queues, 16);  // 82599; the driver offers 128
  EXPECT_EQ(intel("net_ixgbe", 0x1563).max_rx_queues, 63);  // X550
  EXPECT_EQ(intel("net_ixgbe", 0x10fb).reta_entries, 128);
  EXPECT_EQ(intel("net_ixgbe", 0x1563).reta_entries, 512);
}

TEST(NicTable, KnowsThatIxgbeGivesNoHashForExtendedIpv6) {
  const NicProfile& nic = intel("net_ixgbe", 0x10fb);
  EXPECT_TRUE(nic.sets_rss_hash);
  EXPECT_EQ(nic.rss_types_without_hash & nic.rss_types, nic.rss_types_without_hash);
  EXPECT_NE(nic.rss_types_without_hash & RTE_ETH_RSS_IPV6_EX, 0U);
}

TEST(NicTable, UsesTheLeastRowOfADriverForAnIdItDoesNotKnow) {
  EXPECT_EQ(intel("net_e1000_igb", 0xffff).max_rx_queues, 4);
  EXPECT_EQ(profile_of("net_ixgbe").max_rx_queues, 16);
}

TEST(NicTable, TreatsAnUnknownDriverWithCare) {
  const NicProfile& nic = profile_of("net_frobnic");
  EXPECT_EQ(&nic, &conservative_profile());
  EXPECT_TRUE(nic.driver.empty());
  EXPECT_FALSE(nic.sets_rss_hash);
  EXPECT_TRUE(nic.single_segment_tx);
  EXPECT_EQ(nic.tx_errors, TxErrors::kNothing);
}

TEST(NicTable, SubtractsOnlyErrorsOfFramesThatWereTaken) {
  EXPECT_EQ(profile_of("net_af_xdp").tx_errors, TxErrors::kRefused);
  EXPECT_EQ(profile_of("net_tap").tx_errors, TxErrors::kRefused);
  EXPECT_EQ(profile_of("net_af_packet").tx_errors, TxErrors::kTakenLost);
  EXPECT_EQ(profile_of("net_pcap").tx_errors, TxErrors::kTakenLost);
  EXPECT_EQ(profile_of("net_ring").tx_errors, TxErrors::kNothing);
}

TEST(NicTable, NeverCallsAKernelInterfaceKernelBypass) {
  for (const NicProfile& row : nic_table()) {
    EXPECT_FALSE(row.kernel_interface && row.kernel_bypass) << row.driver;
  }
  EXPECT_TRUE(profile_of("net_af_packet").merges_fragments);
  EXPECT_FALSE(profile_of("net_af_xdp").merges_fragments);
}

TEST(NicTable, KeepsAnAfXdpFrameAndItsHeadersWithinAPage) {
  const NicProfile& row = profile_of("net_af_xdp");
  const unsigned object = 64 + 128 + row.max_data_room_bytes;  // mempool header, rte_mbuf
  EXPECT_LE(object, 4096U);
  EXPECT_EQ(object / 64 % 2, 1U) << "DPDK pads an even number of cache lines by one more";
  EXPECT_LE(row.max_mtu + 22U + RTE_PKTMBUF_HEADROOM + row.rx_headroom_bytes,
            row.max_data_room_bytes);
}

TEST(NicTable, CitesASourceForEachRowAndNamesEachPartOnce) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  std::set<std::pair<unsigned, unsigned>> ids;
  for (const NicProfile& row : nic_table()) {
    EXPECT_FALSE(row.source.empty()) << row.driver;
    EXPECT_TRUE(seen.insert({row.driver, row.parts}).second) << row.driver << row.parts;
    for (const PciId& id : row.pci_ids) {
      EXPECT_TRUE(ids.insert({id.vendor, id.device}).second) << std::hex << id.device;
    }
  }
}

TEST(NicTable, HasAnIndirectionEntryForEachQueueThatRssReaches) {
  for (const NicProfile& row : nic_table()) {
    if (row.reta_entries == 0) continue;
    EXPECT_TRUE(std::has_single_bit(row.reta_entries)) << row.driver;
    EXPECT_LE(row.max_rx_queues, row.rss_reach) << row.driver;
    EXPECT_LE(row.rss_reach, row.reta_entries) << row.driver;
  }
}

}  // namespace
}  // namespace mqsteer
