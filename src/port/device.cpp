#include "port/device.h"

#include "eal/dpdk_log.h"
#include "port/kernel_interface.h"

#include <rte_dev.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace mqsteer {
namespace {

/// dddd:dd:dd.d in hexadecimal digits.
bool is_pci_address(std::string_view text) {
  constexpr std::string_view kShape = "hhhh:hh:hh.h";
  return text.size() == kShape.size() &&
         std::ranges::equal(text, kShape, [](char letter, char shape) {
           return shape == 'h' ? isxdigit(static_cast<unsigned char>(letter)) != 0
                               : letter == shape;
         });
}

/// The kernel driver that holds a PCI device; empty where none does.
std::string kernel_driver_of(const std::string& address) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/sys/bus/pci/devices/" + address + "/driver", ignored)
      .filename();
}

std::string plug_failure(const std::string& bus, const std::string& name) {
  if (bus != "pci") return name + ": DPDK cannot make this virtual device; see its arguments";
  if (!std::filesystem::exists("/sys/bus/pci/devices/" + name)) {
    return name + ": this machine has no PCI device of that address; lspci -D lists them";
  }
  const std::string driver = kernel_driver_of(name);
  if (driver == "vfio-pci" || driver == "uio_pci_generic" || driver == "igb_uio") {
    return name + ": DPDK cannot use this device, which is bound to " + driver;
  }
  return name + ": " + (driver.empty() ? "no driver" : "the kernel's driver " + driver) +
         " has this device; bind it to vfio-pci first: dpdk-devbind.py -b vfio-pci " + name;
}

}  // namespace

Expected<PortKind> port_kind(std::string_view device) {
  if (is_pci_address(device)) return PortKind::kPci;
  if (kernel_interface_exists(device)) return PortKind::kKernelInterface;
  if (device.starts_with("net_") || device.starts_with("virtio_user")) return PortKind::kVdev;
  return fail(std::string{device} +
              ": no kernel interface of that name here, and neither a PCI address "
              "(0000:00:14.0) nor a DPDK virtual device (net_…)");
}

VdevText vdev_text(std::string_view device) {
  const std::size_t comma = device.find(',');
  if (comma == std::string_view::npos) return {std::string{device}, {}};
  return {std::string{device.substr(0, comma)}, std::string{device.substr(comma + 1)}};
}

std::string vdev_argument(const VdevText& vdev, std::string_view key) {
  std::string_view rest = vdev.arguments;
  while (!rest.empty()) {
    const std::string_view argument = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(argument.size() + 1, rest.size()));
    const std::size_t equals = argument.find('=');
    if (equals != std::string_view::npos && argument.substr(0, equals) == key) {
      return std::string{argument.substr(equals + 1)};
    }
  }
  return {};
}

Expected<std::shared_ptr<PortDevice>> PortDevice::plug(std::string bus, std::string name,
                                                       const std::string& arguments) {
  const DpdkLogCapture capture;
  std::uint16_t id = 0;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &id) != 0) {
    const int code = rte_eal_hotplug_add(bus.c_str(), name.c_str(), arguments.c_str());
    if (code != 0) return fail(with_dpdk_reason(plug_failure(bus, name), capture));
    if (rte_eth_dev_get_port_by_name(name.c_str(), &id) != 0) {
      static_cast<void>(rte_eal_hotplug_remove(bus.c_str(), name.c_str()));
      return fail(with_dpdk_reason(name + ": DPDK made no network port of this device", capture));
    }
  }
  return std::make_shared<PortDevice>(std::move(bus), std::move(name), PortId{id});
}

PortDevice::PortDevice(std::string bus, std::string name, PortId id)
    : bus_{std::move(bus)}, name_{std::move(name)}, id_{id} {}

PortDevice::~PortDevice() {
  unplug();
}

void PortDevice::unplug() noexcept {
  if (!std::exchange(plugged_, false)) return;
  {
    // Some drivers complain of what they did themselves; nobody can act on it.
    const DpdkLogCapture quiet;
    if (rte_eth_dev_is_valid_port(id_.value()) != 0) {
      static_cast<void>(rte_eth_dev_stop(id_.value()));
      static_cast<void>(rte_eth_dev_close(id_.value()));
    }
    static_cast<void>(rte_eal_hotplug_remove(bus_.c_str(), name_.c_str()));
  }
  kernel_interface_.reset();
}

void PortDevice::keep(std::unique_ptr<KernelInterface> kernel_interface) {
  kernel_interface_ = std::move(kernel_interface);
}

}  // namespace mqsteer
