#include "port/device.h"
#include "port/kernel_interface.h"
#include "port/libxdp.h"
#include "port/port.h"

#include <rte_dev.h>

#include <string.h>

#include <algorithm>
#include <fstream>
#include <utility>

namespace mqsteer {
namespace {

constexpr std::uint32_t kHeaderBytes = 14;
constexpr std::uint32_t kTwoTagsBytes = 8;

std::optional<PciId> pci_id_of(const std::string& address) {
  const std::string directory = "/sys/bus/pci/devices/" + address;
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
  if (!(std::ifstream{directory + "/vendor"} >> std::hex >> vendor)) return std::nullopt;
  if (!(std::ifstream{directory + "/device"} >> std::hex >> device)) return std::nullopt;
  return PciId{static_cast<std::uint16_t>(vendor), static_cast<std::uint16_t>(device)};
}

std::string description_of(const PortCapabilities& port) {
  const std::string what = port.device + ": " + port.driver;
  if (port.profile->kernel_interface && !port.kernel_bypass) {
    return what + ", a kernel interface: not kernel bypass";
  }
  if (!port.kernel_bypass) return what + ", frames pass through the kernel: not kernel bypass";
  if (port.profile->is_virtual) return what + ", a virtual device";
  const std::string parts{port.profile->parts};
  return what + ", kernel bypass" + (parts.empty() ? "" : " (" + parts + ")");
}

std::uint32_t link_mbps_of(PortId id) {
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(id.value(), &link) != 0) return 0;
  return link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed;
}

std::uint16_t max_mtu_of(const NicProfile& profile, const rte_eth_dev_info& info) {
  constexpr std::uint32_t kFcsBytes = 4;
  std::uint32_t limit = std::min<std::uint32_t>(profile.max_mtu, info.max_mtu);
  if (info.max_rx_pktlen > kHeaderBytes + kFcsBytes) {
    limit = std::min(limit, info.max_rx_pktlen - kHeaderBytes - kFcsBytes);
  }
  return static_cast<std::uint16_t>(limit);
}

void fill_from_device(PortCapabilities& port, const rte_eth_dev_info& info) {
  const NicProfile& profile = *port.profile;
  port.kernel_bypass = profile.kernel_bypass;
  port.max_rx_queues = std::min(profile.max_rx_queues, info.max_rx_queues);
  port.max_tx_queues = std::min(profile.max_tx_queues, info.max_tx_queues);
  port.paired_queues = profile.paired_queues;
  port.min_rx_descriptors = info.rx_desc_lim.nb_min;
  port.max_rx_descriptors = info.rx_desc_lim.nb_max;
  port.min_tx_descriptors = info.tx_desc_lim.nb_min;
  port.max_tx_descriptors = info.tx_desc_lim.nb_max;
  port.numa_node = rte_eth_dev_socket_id(port.id.value());
  port.link_mbps = profile.is_virtual ? 0 : link_mbps_of(port.id);
  port.max_mtu = max_mtu_of(profile, info);
  port.reta_entries = std::min(profile.reta_entries, info.reta_size);
  port.rss_types = profile.rss_types & info.flow_type_rss_offloads;
  static_cast<void>(rte_eth_dev_get_mtu(port.id.value(), &port.mtu));
  rte_ether_addr mac{};
  if (rte_eth_macaddr_get(port.id.value(), &mac) == 0)
    std::ranges::copy(mac.addr_bytes, port.mac.begin());
}

void fill_from_kernel(PortCapabilities& port, const KernelInterface& kernel) {
  const KernelInterfaceState& state = kernel.state();
  if (port.profile->paired_queues) {  // net_af_xdp
    port.min_rx_queues = std::min(port.max_rx_queues, state.channels);
  }
  port.link_mbps = state.link_mbps;
  port.numa_node = state.numa_node;
  port.mtu = static_cast<std::uint16_t>(std::min<std::uint32_t>(state.mtu, 65535));
  port.notes.insert(port.notes.end(), kernel.notes().begin(), kernel.notes().end());
}

/// What DPDK and the table know of a device that is plugged in.
Expected<PortCapabilities> describe(const PortConfig& config, std::shared_ptr<PortDevice> device,
                                    std::optional<PciId> pci) {
  PortCapabilities port;
  port.id = device->id();
  port.name = config.name;
  port.device = config.device;
  rte_eth_dev_info info{};
  if (const int code = rte_eth_dev_info_get(port.id.value(), &info); code != 0) {
    return fail(-code, "port " + config.name + ": asking " + config.device + " what it can do");
  }
  port.driver = info.driver_name;
  port.profile = &profile_of(port.driver, pci);
  fill_from_device(port, info);
  if (device->kernel_interface() != nullptr) fill_from_kernel(port, *device->kernel_interface());
  if (port.profile->driver.empty()) {
    port.notes.push_back("port " + port.name + ": mqsteer knows nothing of " + port.driver +
                         " and treats it with care: at most " + std::to_string(port.max_rx_queues) +
                         " RX queues, no hash of the NIC, frames in one segment");
  }
  port.description = description_of(port);
  port.handle = std::move(device);
  return port;
}

tl::unexpected<Error> of_port(const PortConfig& config, Error error) {
  error.message = "port " + config.name + ": " + error.message;
  return tl::unexpected(std::move(error));
}

/// The vdev that serves a kernel interface at the MTU it is to have.
VdevText vdev_for(const std::string& interface, std::uint32_t mtu, std::uint16_t channels) {
  if (mtu <= profile_of("net_af_xdp").max_mtu) {
    return {"net_af_xdp_" + interface,
            "iface=" + interface + ",queue_count=" + std::to_string(channels)};
  }
  // Two handles: rx_iface_in takes only what arrives, so that nothing we or the host transmit
  // comes back in, which `iface` cannot do.
  return {"net_pcap_" + interface, "rx_iface_in=" + interface + ",tx_iface=" + interface};
}

/// The kernel interface a vdev string stands on; empty: none.
std::string interface_under(const VdevText& vdev) {
  for (const std::string_view driver : {"net_af_xdp", "net_af_packet", "net_pcap"}) {
    if (!vdev.name.starts_with(driver)) continue;
    for (const std::string_view key : {"iface", "rx_iface_in", "rx_iface"}) {
      if (auto interface = vdev_argument(vdev, key); !interface.empty()) return interface;
    }
  }
  return {};
}

Expected<PortCapabilities> open_vdev(const PortConfig& config, const VdevText& vdev,
                                     std::unique_ptr<KernelInterface> kernel) {
  if (vdev.name.starts_with("net_af_xdp")) settle_libxdp();
  auto device = PortDevice::plug("vdev", vdev.name, vdev.arguments);
  if (!device) return of_port(config, device.error());
  if (kernel != nullptr) (*device)->keep(std::move(kernel));
  return describe(config, std::move(*device), std::nullopt);
}

Expected<PortCapabilities> open_on_interface(const PortConfig& config, const std::string& interface,
                                             std::optional<VdevText> vdev) {
  const auto before = read_kernel_interface(interface);
  if (!before) return of_port(config, before.error());
  if (!vdev) vdev = vdev_for(interface, config.mtu.value_or(before->mtu), before->channels);
  auto kernel = KernelInterface::prepare(
      interface, {config.name, config.offloads, vdev->name.starts_with("net_af_xdp")});
  if (!kernel) return of_port(config, kernel.error());
  return open_vdev(config, *vdev, std::move(*kernel));
}

Expected<PortCapabilities> open_pci(const PortConfig& config) {
  auto device = PortDevice::plug("pci", config.device, "");
  if (!device) return of_port(config, device.error());
  return describe(config, std::move(*device), pci_id_of(config.device));
}

}  // namespace

std::uint16_t PortCapabilities::data_room_bytes(std::uint16_t for_mtu) const noexcept {
  const std::uint32_t bytes =
      kHeaderBytes + kTwoTagsBytes + for_mtu + RTE_PKTMBUF_HEADROOM + profile->rx_headroom_bytes;
  const std::uint32_t lines = (bytes + RTE_CACHE_LINE_SIZE - 1) & ~(RTE_CACHE_LINE_SIZE - 1U);
  const std::uint32_t wanted = std::max<std::uint32_t>(lines, RTE_MBUF_DEFAULT_BUF_SIZE);
  return static_cast<std::uint16_t>(std::min<std::uint32_t>(wanted, profile->max_data_room_bytes));
}

std::uint32_t PortCapabilities::frame_bytes_in(std::uint16_t data_room) const noexcept {
  const std::uint32_t taken = RTE_PKTMBUF_HEADROOM + std::uint32_t{profile->rx_headroom_bytes};
  return data_room > taken ? data_room - taken : 0;
}

std::uint32_t PortCapabilities::mbufs_held(std::uint16_t rx_descriptors,
                                           std::uint16_t tx_descriptors) const noexcept {
  const std::uint32_t rings =
      profile->rings_hold_mbufs ? std::uint32_t{rx_descriptors} + tx_descriptors : 0;
  return rings + profile->mbufs_held_per_rx_queue;
}

Expected<PortCapabilities> open_port(const PortConfig& config) {
  const auto kind = port_kind(config.device);
  if (!kind) return of_port(config, kind.error());
  if (*kind == PortKind::kPci) return open_pci(config);
  if (*kind == PortKind::kKernelInterface) {
    return open_on_interface(config, config.device, std::nullopt);
  }
  VdevText vdev = vdev_text(config.device);
  const std::string interface = interface_under(vdev);
  if (!interface.empty()) return open_on_interface(config, interface, std::move(vdev));
  return open_vdev(config, vdev, nullptr);
}

}  // namespace mqsteer
