#pragma once

#include <mqsteer/error.h>
#include <mqsteer/id.h>

#include <memory>
#include <string>
#include <string_view>

namespace mqsteer {

class KernelInterface;

/// What the `device` of a port in the configuration is.
enum class PortKind : std::uint8_t { kPci, kKernelInterface, kVdev };

/// By form alone, but that an interface of the machine wins over a vdev of the same name.
[[nodiscard]] Expected<PortKind> port_kind(std::string_view device);

/// "net_pcap0,rx_pcap=a.pcap": the name, and the arguments behind the first comma.
struct VdevText {
  std::string name;
  std::string arguments;
};
[[nodiscard]] VdevText vdev_text(std::string_view device);
/// The value of one argument; empty where it is not there.
[[nodiscard]] std::string vdev_argument(const VdevText& vdev, std::string_view key);

/// A device plugged into DPDK. Closes its port and unplugs it at the end, then undoes what was
/// changed on its kernel interface.
class PortDevice {
 public:
  /// bus: "vdev" or "pci". An ethdev of this name that exists already is taken over.
  static Expected<std::shared_ptr<PortDevice>> plug(std::string bus, std::string name,
                                                    const std::string& arguments);
  PortDevice(std::string bus, std::string name, PortId id);
  PortDevice(const PortDevice&) = delete;
  PortDevice& operator=(const PortDevice&) = delete;
  PortDevice(PortDevice&&) = delete;
  PortDevice& operator=(PortDevice&&) = delete;
  ~PortDevice();

  /// Harmless when called twice.
  void unplug() noexcept;

  [[nodiscard]] PortId id() const noexcept { return id_; }
  void keep(std::unique_ptr<KernelInterface> kernel_interface);
  /// Null where the port stands on none.
  [[nodiscard]] KernelInterface* kernel_interface() const noexcept {
    return kernel_interface_.get();
  }

 private:
  std::string bus_;
  std::string name_;
  PortId id_;
  bool plugged_ = true;
  std::unique_ptr<KernelInterface> kernel_interface_;
};

}  // namespace mqsteer
