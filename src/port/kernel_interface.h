#pragma once

#include <mqsteer/config.h>
#include <mqsteer/error.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mqsteer {

/// What the kernel says of one of its interfaces.
struct KernelInterfaceState {
  std::string name;
  int index = 0;
  std::string driver;  ///< "veth", "ixgbe", …; empty: the driver does not say
  bool up = false;
  bool carrier = false;
  std::uint32_t mtu = 0;               ///< bytes of L3
  std::uint16_t channels = 1;          ///< combined channels, what AF_XDP can be opened on
  std::uint16_t rx_only_channels = 0;  ///< RX channels that are not combined ones
  std::uint32_t link_mbps = 0;         ///< 0: unknown
  int numa_node = -1;
  std::uint32_t promiscuity = 0;  ///< how many ask for promiscuous mode
};

/// Whether the machine (this network namespace) has an interface of this name.
[[nodiscard]] bool kernel_interface_exists(std::string_view name);

[[nodiscard]] Expected<KernelInterfaceState> read_kernel_interface(const std::string& name);

/// A kernel interface made ready for a port, for as long as this lives.
///
/// Its link is brought up and it is made promiscuous (both said in notes()); the kernel takes the
/// latter back by itself even after kill -9. Offloads that would break forwarding are refused,
/// turned off, or ignored; see offload_faults.h. What `fix` changed is written to /run/mqsteer
/// first, so that the end of a later run undoes it where this one was killed.
/// thread: the control thread; link_up() any
class KernelInterface {
 public:
  /// What the port will do with the interface.
  struct Use {
    std::string port;  ///< name of the port, for messages
    OffloadPolicy offloads = OffloadPolicy::kCheck;
    bool xdp = true;  ///< an XDP program will be attached: none may be there
  };
  static Expected<std::unique_ptr<KernelInterface>> prepare(const std::string& name,
                                                            const Use& use);
  KernelInterface(const KernelInterface&) = delete;
  KernelInterface& operator=(const KernelInterface&) = delete;
  KernelInterface(KernelInterface&&) = delete;
  KernelInterface& operator=(KernelInterface&&) = delete;
  ~KernelInterface();  ///< undoes what was changed

  [[nodiscard]] const KernelInterfaceState& state() const noexcept;
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept;
  /// Undone at the end.
  [[nodiscard]] Expected<void> set_mtu(std::uint16_t bytes);
  /// The kernel's own view, now.
  [[nodiscard]] bool link_up() const noexcept;
  /// Promiscuous as the kernel has it, read back.
  [[nodiscard]] bool promiscuous() const noexcept;

 private:
  struct Impl;
  explicit KernelInterface(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mqsteer
