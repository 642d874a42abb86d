#pragma once

#include "drivers/nic_table.h"
#include "eal/mempool.h"

#include <mqsteer/config.h>
#include <mqsteer/error.h>
#include <mqsteer/id.h>

#include <rte_ethdev.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mqsteer {

class PortDevice;
class XdpSockets;

/// What an opened device can do: the device's own word, cut by what the NIC table knows.
struct PortCapabilities {
  PortId id;
  std::string name;    ///< the configuration's
  std::string device;  ///< the configuration's: PCI address, interface or vdev string
  std::string driver;  ///< DPDK's name
  bool kernel_bypass = true;
  std::string description;  ///< "eth1: net_af_xdp, a kernel interface: not kernel bypass"
  /// Frames go to all of these, so as many must be polled: the channels of a kernel interface.
  std::uint16_t min_rx_queues = 1;
  std::uint16_t max_rx_queues = 1;
  std::uint16_t max_tx_queues = 1;
  bool paired_queues = false;  ///< needs as many TX queues as RX queues
  std::uint16_t min_rx_descriptors = 0;
  std::uint16_t max_rx_descriptors = 0;
  std::uint16_t min_tx_descriptors = 0;
  std::uint16_t max_tx_descriptors = 0;
  std::array<std::uint8_t, 6> mac{};  ///< the device's own; zeros where it has none
  int numa_node = -1;                 ///< -1: none or unknown
  std::uint32_t link_mbps = 0;        ///< 0: unknown
  std::uint16_t max_mtu = 1500;       ///< bytes of L3
  std::uint16_t mtu = 1500;           ///< as the device has it now
  std::uint16_t reta_entries = 0;     ///< 0: no indirection table
  std::uint64_t rss_types = 0;        ///< RTE_ETH_RSS_*; 0: no RSS
  const NicProfile* profile = &conservative_profile();
  std::vector<std::string> notes;  ///< what the operator should know; one line each

  /// Keeps the device plugged in. Empty in plans and tests that have no device.
  std::shared_ptr<PortDevice> handle;

  /// The data room of an RX pool whose mbufs take a frame of this MTU (with two VLAN tags) whole.
  [[nodiscard]] std::uint16_t data_room_bytes(std::uint16_t for_mtu) const noexcept;
  /// The longest frame that an mbuf of this data room takes whole when this port receives it.
  [[nodiscard]] std::uint32_t frame_bytes_in(std::uint16_t data_room) const noexcept;
  /// mbufs that one RX queue and one TX queue may hold, so that a pool has them beside the rest.
  [[nodiscard]] std::uint32_t mbufs_held(std::uint16_t rx_descriptors,
                                         std::uint16_t tx_descriptors) const noexcept;
};

/// Opens the device of a configured port; EAL must be up. What it is is told by its form:
/// - the name of a kernel interface: net_af_xdp on all its channels; net_pcap where its MTU is
///   above what AF_XDP takes. It is brought up if it is down. Checked first, see
///   kernel_interface.h;
/// - a PCI address (0000:00:14.0): probed already by EalConfig::pci_devices, or plugged in now;
/// - a vdev string (net_ring0, net_pcap0,rx_pcap=a.pcap,…): plugged in.
/// The device is unplugged, and what was changed on a kernel interface is undone, when the Port is
/// stopped or, where none was started, when the last copy of the result is gone.
/// thread: the control thread
[[nodiscard]] Expected<PortCapabilities> open_port(const PortConfig& config);

/// How a port is to be run.
struct PortSetup {
  std::uint16_t rx_queues = 1;
  std::uint16_t tx_queues = 1;
  std::uint16_t rx_descriptors = 1024;
  std::uint16_t tx_descriptors = 1024;
  std::vector<Mempool*> rx_pools;    ///< one an RX queue; they outlive the Port
  std::optional<std::uint16_t> mtu;  ///< bytes of L3; none: as it is
  bool checksums = false;            ///< let the NIC check and compute them, as far as it can
};

/// Since the start of the port. Never decreasing.
struct PortCounters {
  std::uint64_t rx_packets = 0;  ///< received by the port, to be taken by RxQueue::receive
  std::uint64_t rx_bytes = 0;
  std::uint64_t rx_missed = 0;  ///< lost by the device or the kernel before us, as far as it counts
  std::uint64_t rx_nombuf = 0;  ///< no mbuf was free
  std::uint64_t rx_errors = 0;
  std::uint64_t tx_packets = 0;
  std::uint64_t tx_bytes = 0;
  std::uint64_t tx_errors = 0;  ///< as the driver counts; see NicProfile::tx_errors
  /// Frames that TxQueue::send took and that the driver then lost: the `tx_error` of the accounts.
  std::uint64_t tx_taken_lost = 0;
};

/// A queue of a started port to receive from. A value: copy it. One thread at a time uses a queue.
class RxQueue {
 public:
  RxQueue() = default;
  RxQueue(PortId port, QueueId queue) noexcept : port_{port}, queue_{queue} {}

  /// Fills a prefix of `mbufs` and returns its length; the caller owns these mbufs.
  [[nodiscard]] std::size_t receive(std::span<rte_mbuf*> mbufs) const noexcept {
    return rte_eth_rx_burst(port_.value(), queue_.value(), mbufs.data(),
                            static_cast<std::uint16_t>(mbufs.size()));
  }
  [[nodiscard]] PortId port() const noexcept { return port_; }
  [[nodiscard]] QueueId queue() const noexcept { return queue_; }

 private:
  PortId port_;
  QueueId queue_;
};

/// A queue of a started port to transmit on. A value: copy it. One thread at a time uses a queue.
class TxQueue {
 public:
  TxQueue() = default;
  TxQueue(PortId port, QueueId queue) noexcept : port_{port}, queue_{queue} {}

  /// Takes a prefix of `mbufs` and returns its length; the rest stays the caller's. Taken is not
  /// yet sent: see PortCounters::tx_taken_lost. Every frame must be within Port::max_frame_bytes()
  /// and, where Port::single_segment_tx(), of one segment: some drivers do not look.
  [[nodiscard]] std::size_t send(std::span<rte_mbuf*> mbufs) const noexcept {
    return rte_eth_tx_burst(port_.value(), queue_.value(), mbufs.data(),
                            static_cast<std::uint16_t>(mbufs.size()));
  }
  [[nodiscard]] PortId port() const noexcept { return port_; }
  [[nodiscard]] QueueId queue() const noexcept { return queue_; }

 private:
  PortId port_;
  QueueId queue_;
};

/// A started port.
///
/// It receives every frame (promiscuous, all multicast), strips and filters no VLAN tags, spreads
/// flows by RSS where it has several RX queues, and drops in a queue that nobody drains rather
/// than stop the others. The link may go down and up at any time.
/// thread: the control thread, but for the queues
class Port {
 public:
  /// What the device cannot do is cut down, and said once in notes().
  static Expected<Port> start(PortCapabilities capabilities, const PortSetup& setup);

  Port(Port&& other) noexcept;
  Port& operator=(Port&& other) noexcept;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ~Port();  ///< stop()

  /// Stops and closes the port, unplugs the device and undoes what was changed on a kernel
  /// interface. No queue of it may be in use. Harmless when called twice.
  void stop() noexcept;

  [[nodiscard]] PortId id() const noexcept { return capabilities_.id; }
  [[nodiscard]] const PortCapabilities& capabilities() const noexcept { return capabilities_; }
  [[nodiscard]] std::uint16_t rx_queues() const noexcept { return rx_queues_; }
  [[nodiscard]] std::uint16_t tx_queues() const noexcept { return tx_queues_; }
  [[nodiscard]] RxQueue rx_queue(QueueId queue) const noexcept { return {id(), queue}; }
  [[nodiscard]] TxQueue tx_queue(QueueId queue) const noexcept { return {id(), queue}; }

  /// The link as the device or, for a kernel interface, the kernel has it.
  [[nodiscard]] bool link_up() const noexcept;
  /// As of now; 0: unknown.
  [[nodiscard]] std::uint32_t link_mbps() const noexcept;
  /// What shows that a frame has left. An AF_XDP socket that copies is done with it at once, one
  /// that does not has the NIC's ring behind it.
  [[nodiscard]] TxDeparture tx_departure() const noexcept;
  /// The figures of the end stay readable after stop().
  [[nodiscard]] PortCounters counters() noexcept;
  [[nodiscard]] std::uint16_t mtu() const noexcept { return mtu_; }
  /// The longest frame that goes out whole: header, two VLAN tags and MTU, without FCS.
  [[nodiscard]] std::uint32_t max_frame_bytes() const noexcept;
  /// Whether a frame of several mbufs must not be sent.
  [[nodiscard]] bool single_segment_tx() const noexcept;
  /// Whether IPv4, TCP and UDP checksums are computed on request (PortSetup::checksums).
  [[nodiscard]] bool checksums_in_nic() const noexcept { return checksums_; }
  /// What was cut down or found, one line each.
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

 private:
  explicit Port(PortCapabilities capabilities) noexcept;
  [[nodiscard]] PortCounters device_counters() const noexcept;
  Expected<void> configure(const PortSetup& setup);

  PortCapabilities capabilities_;
  std::vector<std::string> notes_;
  std::uint16_t rx_queues_ = 0;
  std::uint16_t tx_queues_ = 0;
  std::uint16_t mtu_ = 0;
  bool checksums_ = false;
  bool live_ = false;                        ///< the device is ours to close
  bool started_ = false;                     ///< its counters mean something
  std::unique_ptr<XdpSockets> xdp_sockets_;  ///< of net_af_xdp only
  PortCounters base_;                        ///< the device's counters at start
  PortCounters last_;
};

}  // namespace mqsteer
