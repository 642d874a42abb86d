#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace mqsteer {

/// What a driver's `oerrors` counts. The accounting identity needs to know: a frame that tx_burst
/// refused is dropped by us (tx_ring_full) and must not be counted again.
enum class TxErrors : std::uint8_t {
  kNothing,    ///< never counts: what tx_burst took cannot be known to be lost
  kRefused,    ///< frames that tx_burst did not take
  kTakenLost,  ///< frames that tx_burst took and that were then lost
};

/// What shows that a frame given to tx_burst has left its TX queue (design: "TX guard").
enum class TxDeparture : std::uint8_t {
  kTime,    ///< only time: as long as a full ring takes at the link's rate
  kStatus,  ///< the descriptor's status, exact for each frame
  kAtOnce,  ///< tx_burst itself copies it out or hands it over, in order
};

struct PciId {
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  friend constexpr bool operator==(const PciId&, const PciId&) = default;
};

/// What we know of one kind of NIC, or of one of DPDK's virtual devices, that the device itself
/// does not tell. Limits that it does tell (rte_eth_dev_info) hold beside these; the lower wins.
struct NicProfile {
  std::string_view driver;         ///< DPDK's driver name; empty: the conservative row
  std::string_view parts;          ///< for people: which NICs the row is about
  std::span<const PciId> pci_ids;  ///< empty: every device of the driver

  std::uint16_t max_rx_queues = 1;  ///< queues that can be opened and that traffic can reach
  std::uint16_t max_tx_queues = 1;
  std::uint16_t rss_reach = 1;               ///< RX queues that RSS can name; 1: no RSS
  std::uint16_t reta_entries = 0;            ///< 0: no indirection table
  std::uint8_t reta_entry_bits = 0;          ///< width of one entry; 0: not known
  std::uint64_t rss_types = 0;               ///< RTE_ETH_RSS_* bits that the hardware hashes
  bool sets_rss_hash = false;                ///< RTE_MBUF_F_RX_RSS_HASH is ever set
  std::uint64_t rss_types_without_hash = 0;  ///< of these types the mbuf gets no hash
  bool reta_only_after_start = false;        ///< an RETA update before start is lost or refused

  TxErrors tx_errors = TxErrors::kNothing;
  TxDeparture tx_departure = TxDeparture::kTime;
  bool rx_counters_exact = true;      ///< ipackets counts what rx_burst gave us, to the packet
  bool counts_rx_missed = true;       ///< losses before rx_burst show in imissed
  bool single_segment_tx = false;     ///< a frame of several mbufs would go out broken
  bool unchecked_tx_length = false;   ///< an over-long frame corrupts memory or is cut: check first
  bool keeps_mbufs_at_close = false;  ///< mbufs of its rings do not come back to the pool
  bool paired_queues = false;         ///< as many TX queues as RX queues, no fewer, no more
  bool power_of_two_rings = false;
  std::uint16_t min_rx_burst = 1;  ///< a receive that asks for fewer may return none

  bool rings_hold_mbufs = true;               ///< each descriptor, RX and TX, may have an mbuf
  std::uint32_t mbufs_held_per_rx_queue = 0;  ///< beside what the descriptors hold
  std::uint16_t max_data_room_bytes = 65535;  ///< of an RX pool, headroom included
  std::uint16_t rx_headroom_bytes = 0;        ///< left empty before a frame, beside DPDK's 128
  std::uint16_t max_mtu = 9702;               ///< bytes of L3, two VLAN tags beside it

  bool is_virtual = false;        ///< a vdev
  bool kernel_bypass = true;      ///< false: frames pass through the kernel's network stack
  bool kernel_interface = false;  ///< stands on a kernel interface given by `iface` or the like
  bool copies = false;            ///< each frame is copied between kernel and mbuf
  bool takes_a_copy = false;      ///< the kernel goes on handling the frames that we receive
  bool merges_fragments = false;  ///< IPv4 fragments arrive reassembled: not for a bridge
  bool endpoint = false;          ///< the peer is a guest or a process (vhost, memif)

  std::string_view source;  ///< where all this was read or measured
};

/// The row of a device: by driver name and, where the driver has several rows, by PCI id.
/// Never fails: an unknown device gets conservative_profile().
[[nodiscard]] const NicProfile& profile_of(std::string_view driver,
                                           std::optional<PciId> pci = std::nullopt) noexcept;

/// For a device we know nothing of: up to 16 queues where the device itself offers RSS, its hash is
/// never used, its error counters are never subtracted, and frames go out in one segment.
[[nodiscard]] const NicProfile& conservative_profile() noexcept;

[[nodiscard]] std::span<const NicProfile> nic_table() noexcept;

}  // namespace mqsteer
