#include "drivers/nic_table.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <array>

namespace mqsteer {
namespace {

constexpr std::uint16_t kIntel = 0x8086;

// Device ids: DPDK 22.11 drivers/net/ixgbe/base/ixgbe_type.h and drivers/net/e1000/base/e1000_hw.h.
constexpr std::array kIds82598{
    PciId{kIntel, 0x10B6}, PciId{kIntel, 0x1508}, PciId{kIntel, 0x10C6}, PciId{kIntel, 0x10C7},
    PciId{kIntel, 0x10C8}, PciId{kIntel, 0x150B}, PciId{kIntel, 0x10DB}, PciId{kIntel, 0x10DD},
    PciId{kIntel, 0x10EC}, PciId{kIntel, 0x10F1}, PciId{kIntel, 0x10E1}, PciId{kIntel, 0x10F4},
};
constexpr std::array kIds82599X540{
    PciId{kIntel, 0x10F7}, PciId{kIntel, 0x1514}, PciId{kIntel, 0x1517}, PciId{kIntel, 0x10F8},
    PciId{kIntel, 0x10F9}, PciId{kIntel, 0x10FB}, PciId{kIntel, 0x152A}, PciId{kIntel, 0x1529},
    PciId{kIntel, 0x1507}, PciId{kIntel, 0x154D}, PciId{kIntel, 0x154A}, PciId{kIntel, 0x1558},
    PciId{kIntel, 0x1557}, PciId{kIntel, 0x10FC}, PciId{kIntel, 0x151C}, PciId{kIntel, 0x1528},
    PciId{kIntel, 0x1560},
};
constexpr std::array kIdsX550{
    PciId{kIntel, 0x1563}, PciId{kIntel, 0x15D1}, PciId{kIntel, 0x15C2}, PciId{kIntel, 0x15C3},
    PciId{kIntel, 0x15C4}, PciId{kIntel, 0x15C6}, PciId{kIntel, 0x15C7}, PciId{kIntel, 0x15C8},
    PciId{kIntel, 0x15CA}, PciId{kIntel, 0x15CC}, PciId{kIntel, 0x15CE}, PciId{kIntel, 0x15E4},
    PciId{kIntel, 0x15E5}, PciId{kIntel, 0x15AB}, PciId{kIntel, 0x15AC}, PciId{kIntel, 0x15AD},
    PciId{kIntel, 0x15AE}, PciId{kIntel, 0x15AA}, PciId{kIntel, 0x15B0},
};
constexpr std::array kIds82576{
    PciId{kIntel, 0x10C9}, PciId{kIntel, 0x10E6}, PciId{kIntel, 0x10E7}, PciId{kIntel, 0x10E8},
    PciId{kIntel, 0x1526}, PciId{kIntel, 0x150A}, PciId{kIntel, 0x1518}, PciId{kIntel, 0x150D},
};
constexpr std::array kIds82575{
    PciId{kIntel, 0x10A7},
    PciId{kIntel, 0x10A9},
    PciId{kIntel, 0x10D6},
};
constexpr std::array kIds82580I350{
    PciId{kIntel, 0x150E}, PciId{kIntel, 0x150F}, PciId{kIntel, 0x1510}, PciId{kIntel, 0x1511},
    PciId{kIntel, 0x1516}, PciId{kIntel, 0x1527}, PciId{kIntel, 0x0438}, PciId{kIntel, 0x043A},
    PciId{kIntel, 0x043C}, PciId{kIntel, 0x0440}, PciId{kIntel, 0x1521}, PciId{kIntel, 0x1522},
    PciId{kIntel, 0x1523}, PciId{kIntel, 0x1524}, PciId{kIntel, 0x1546},
};
constexpr std::array kIdsI354{
    PciId{kIntel, 0x1F40},
    PciId{kIntel, 0x1F41},
    PciId{kIntel, 0x1F45},
};
constexpr std::array kIdsI210{
    PciId{kIntel, 0x1533}, PciId{kIntel, 0x1534}, PciId{kIntel, 0x1535},
    PciId{kIntel, 0x1536}, PciId{kIntel, 0x1537}, PciId{kIntel, 0x1538},
    PciId{kIntel, 0x157B}, PciId{kIntel, 0x157C}, PciId{kIntel, 0x15F6},
};
constexpr std::array kIdsI211{PciId{kIntel, 0x1539}};

// DPDK 22.11: IXGBE_RSS_OFFLOAD_ALL and IGB_RSS_OFFLOAD_ALL are the same set.
constexpr std::uint64_t kIntelRssTypes =
    RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |
    RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP |
    RTE_ETH_RSS_IPV6_EX | RTE_ETH_RSS_IPV6_TCP_EX | RTE_ETH_RSS_IPV6_UDP_EX;

constexpr NicProfile ixgbe_row(std::string_view parts, std::span<const PciId> ids,
                               std::uint16_t reach) {
  NicProfile row;
  row.driver = "net_ixgbe";
  row.parts = parts;
  row.pci_ids = ids;
  // The driver offers 128 queues. RSS never names those above its reach: they would stay empty.
  row.max_rx_queues = reach;
  row.max_tx_queues = 64;
  row.rss_reach = reach;
  row.reta_entries = 128;
  row.reta_entry_bits = 4;
  row.rss_types = kIntelRssTypes;
  row.sets_rss_hash = true;
  row.rss_types_without_hash = RTE_ETH_RSS_IPV6_EX | RTE_ETH_RSS_IPV6_TCP_EX;
  row.reta_only_after_start = true;
  row.min_rx_burst = 32;  // the vector receive
  row.max_mtu = 9702;     // MAXFRS 9,728 with FCS, header and two tags
  row.source =
      "DPDK 22.11 drivers/net/ixgbe: ixgbe_dev_stats_get sets oerrors to 0; "
      "ixgbe_reta_size_get; ixgbe_rxtx_vec_*.c; facts on quirks; "
      "ixgbe_dev_tx_descriptor_status rounds up to the RS threshold, so time tells departure";
  return row;
}

constexpr NicProfile x550_row() {
  NicProfile row = ixgbe_row("X550, X553", kIdsX550, 63);
  row.reta_entries = 512;
  row.reta_entry_bits = 6;
  row.source =
      "DPDK 22.11 drivers/net/ixgbe; Linux drivers/net/ethernet/intel/ixgbe/ixgbe.h: "
      "IXGBE_MAX_RSS_INDICES_X550 63";
  return row;
}

constexpr NicProfile igb_row(std::string_view parts, std::span<const PciId> ids,
                             std::uint16_t queues) {
  NicProfile row;
  row.driver = "net_e1000_igb";
  row.parts = parts;
  row.pci_ids = ids;
  row.max_rx_queues = queues;
  row.max_tx_queues = queues;
  row.rss_reach = queues;
  row.reta_entries = 128;
  row.rss_types = kIntelRssTypes;
  row.sets_rss_hash = true;
  row.tx_errors = TxErrors::kTakenLost;  // excessive and late collisions
  row.tx_departure = TxDeparture::kStatus;
  row.max_mtu = 9702;
  row.source =
      "DPDK 22.11 drivers/net/e1000/igb_ethdev.c: eth_igb_infos_get (queues), "
      "eth_igb_stats_get (oerrors = ecol + latecol); igb_rxtx.c: eth_igb_xmit_pkts asks for the "
      "status of every frame, eth_igb_tx_descriptor_status reads it";
  return row;
}

constexpr NicProfile virtual_row(std::string_view driver, std::string_view parts,
                                 std::uint16_t queues) {
  NicProfile row;
  row.driver = driver;
  row.parts = parts;
  row.max_rx_queues = queues;
  row.max_tx_queues = queues;
  row.is_virtual = true;
  row.tx_departure = TxDeparture::kAtOnce;
  row.rings_hold_mbufs = false;
  row.counts_rx_missed = false;
  return row;
}

constexpr NicProfile null_row() {
  NicProfile row = virtual_row("net_null", "makes frames, swallows frames", 1024);
  row.copies = false;
  row.max_mtu = 16106;
  row.source =
      "DPDK 22.11 drivers/net/null/rte_eth_null.c: takes all; no oerrors; offers RSS and "
      "does none; counters of the first 16 queues only";
  return row;
}

constexpr NicProfile ring_row() {
  NicProfile row = virtual_row("net_ring", "rings of mbufs", 16);
  row.max_mtu = 16106;
  row.source =
      "DPDK 22.11 drivers/net/ring/rte_eth_ring.c: tx refuses when the ring is full, "
      "no oerrors; RTE_PMD_RING_MAX_RX_RINGS 16";
  return row;
}

constexpr NicProfile pcap_row() {
  NicProfile row = virtual_row("net_pcap", "capture files or, by libpcap, a kernel interface", 16);
  row.kernel_bypass = false;
  row.kernel_interface = true;
  row.copies = true;
  row.takes_a_copy = true;
  row.counts_rx_missed = true;
  // Only frames of several segments above the snap length are taken and lost; pcap_sendpacket's
  // own failures end the burst and stay with the caller, uncounted.
  row.tx_errors = TxErrors::kTakenLost;
  row.max_mtu = 16106;  // its snap length 16,128 less header and two tags: longer ones are cut
  row.source = "DPDK 22.11 drivers/net/pcap/pcap_ethdev.c: eth_pcap_tx, RTE_ETH_PCAP_SNAPLEN";
  return row;
}

constexpr NicProfile af_packet_row() {
  NicProfile row = virtual_row("net_af_packet", "a kernel interface, by packet sockets", 16);
  row.kernel_bypass = false;
  row.kernel_interface = true;
  row.copies = true;
  row.takes_a_copy = true;
  row.merges_fragments = true;
  row.tx_errors = TxErrors::kTakenLost;  // frames too long for its ring; a failed sendto
  row.unchecked_tx_length = false;
  row.max_mtu = 1500;
  row.source =
      "DPDK 22.11 drivers/net/af_packet/rte_eth_af_packet.c: eth_af_packet_tx; "
      "PACKET_FANOUT_FLAG_DEFRAG";
  return row;
}

constexpr NicProfile af_xdp_row() {
  NicProfile row = virtual_row("net_af_xdp", "a kernel interface, by AF_XDP sockets", 64);
  row.kernel_bypass = false;
  row.kernel_interface = true;
  row.copies = true;  // but for zero-copy drivers
  row.counts_rx_missed = true;
  row.tx_errors = TxErrors::kRefused;
  row.single_segment_tx = true;
  row.unchecked_tx_length = true;
  row.keeps_mbufs_at_close = true;
  row.paired_queues = true;
  row.power_of_two_rings = true;
  // The fill queue is given 2,048 mbufs at start and as many again for each burst received.
  row.mbufs_held_per_rx_queue = 2048;
  row.rings_hold_mbufs = true;
  // A pool's object is one chunk of the umem and at most a page: 64 (mempool header) + 128
  // (rte_mbuf) + the data room. 63 cache lines, since DPDK pads 64 to 65 (it wants an odd number).
  row.max_data_room_bytes = 63 * 64 - 64 - 128;
  row.rx_headroom_bytes = 256;
  // The kernel puts a frame behind XDP_PACKET_HEADROOM (256) and the umem's headroom (64 + 128 +
  // 128): 4,032 - 576 = 3,456 bytes, less header and two tags.
  row.max_mtu = 63 * 64 - 576 - 22;
  row.source =
      "DPDK 22.11 drivers/net/af_xdp/rte_eth_af_xdp.c: af_xdp_tx_zc (tx_dropped counts what "
      "is not taken; a copy of pkt_len bytes from the first segment, unchecked), "
      "xsk_configure, eth_dev_close; Linux net/xdp/xdp_umem.c";
  return row;
}

constexpr NicProfile tap_row() {
  NicProfile row = virtual_row("net_tap", "a kernel interface of its own, by tun", 16);
  row.kernel_bypass = false;
  row.copies = true;
  row.rings_hold_mbufs = true;
  row.tx_errors = TxErrors::kRefused;
  row.max_mtu = 1500;
  row.source = "DPDK 22.11 drivers/net/tap/rte_eth_tap.c: pmd_tx_burst, RTE_PMD_TAP_MAX_QUEUES";
  return row;
}

constexpr NicProfile memif_row() {
  NicProfile row = virtual_row("net_memif", "shared memory with another process", 255);
  row.endpoint = true;
  row.copies = true;
  row.max_mtu = 1500;
  row.source = "DPDK 22.11 drivers/net/memif/rte_eth_memif.c: memif_stats_get has no errors";
  return row;
}

constexpr NicProfile vhost_row() {
  NicProfile row = virtual_row("net_vhost", "a guest or a process, by vhost-user", 128);
  row.endpoint = true;
  row.copies = true;
  // Frames are lost after being taken only when a VLAN tag cannot be inserted, which is not asked.
  row.source = "DPDK 22.11 drivers/net/vhost/rte_eth_vhost.c: eth_vhost_tx, missed_pkts";
  return row;
}

constexpr NicProfile virtio_user_row() {
  NicProfile row = virtual_row("net_virtio_user", "a vhost backend or the kernel's vhost-net", 8);
  row.copies = true;
  row.rings_hold_mbufs = true;
  row.tx_departure = TxDeparture::kTime;  // the backend reads each ring when it likes
  row.source = "DPDK 22.11 drivers/net/virtio/virtio_ethdev.c: virtio_update_stats has no oerrors";
  return row;
}

constexpr NicProfile conservative_row() {
  NicProfile row;
  row.parts = "a device mqsteer does not know";
  row.max_rx_queues = 16;
  row.max_tx_queues = 128;
  row.rss_reach = 16;
  row.reta_entries = 65535;
  row.rss_types = ~std::uint64_t{0};
  row.rx_counters_exact = false;
  row.counts_rx_missed = false;
  row.single_segment_tx = true;
  row.unchecked_tx_length = true;
  row.reta_only_after_start = true;
  row.min_rx_burst = 32;
  row.power_of_two_rings = true;
  row.source = "nothing is known: the most careful value of each field";
  return row;
}

// More than one row of a driver: the first is the one for ids that none of them names.
constexpr std::array kTable{
    ixgbe_row("82599, X540", kIds82599X540, 16),
    x550_row(),
    ixgbe_row("82598", kIds82598, 16),
    igb_row("I210", kIdsI210, 4),
    igb_row("82576", kIds82576, 16),
    igb_row("82580, I350, DH89xxCC", kIds82580I350, 8),
    igb_row("I354 (Atom C2000)", kIdsI354, 8),
    igb_row("82575", kIds82575, 4),
    igb_row("I211", kIdsI211, 2),
    null_row(),
    ring_row(),
    pcap_row(),
    af_packet_row(),
    af_xdp_row(),
    tap_row(),
    memif_row(),
    vhost_row(),
    virtio_user_row(),
};

constexpr NicProfile kConservative = conservative_row();

}  // namespace

const NicProfile& profile_of(std::string_view driver, std::optional<PciId> pci) noexcept {
  const NicProfile* first = nullptr;
  for (const NicProfile& row : kTable) {
    if (row.driver != driver) continue;
    if (row.pci_ids.empty()) return row;
    if (pci && std::ranges::find(row.pci_ids, *pci) != row.pci_ids.end()) return row;
    if (first == nullptr) first = &row;
  }
  return first != nullptr ? *first : kConservative;
}

const NicProfile& conservative_profile() noexcept {
  return kConservative;
}

std::span<const NicProfile> nic_table() noexcept {
  return kTable;
}

}  // namespace mqsteer
