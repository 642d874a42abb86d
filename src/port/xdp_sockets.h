#pragma once

#include "port/descriptor.h"

#include <cstdint>
#include <vector>

namespace mqsteer {

/// What the kernel counts of the AF_XDP sockets of a port and net_af_xdp does not tell.
struct XdpLosses {
  std::uint64_t rx_ring_full = 0;  ///< frames lost because nobody emptied the RX ring in time
  std::uint64_t tx_invalid = 0;    ///< frames taken for transmission that the kernel then refused
};

/// The AF_XDP sockets that net_af_xdp opened for one port. The driver keeps them to itself; they
/// are found as the process's sockets that were not there before.
class XdpSockets {
 public:
  /// Remembers the AF_XDP sockets this process has now.
  XdpSockets();
  /// Keeps a descriptor of its own of each that has come since. The socket, and with it the
  /// interface's queue, is free again only after release().
  void find_new();
  void release() noexcept { sockets_.clear(); }
  [[nodiscard]] std::size_t size() const noexcept { return sockets_.size(); }
  /// Since the sockets were opened. Source: Linux include/uapi/linux/if_xdp.h, xdp_statistics
  [[nodiscard]] XdpLosses losses() const noexcept;

 private:
  std::vector<int> before_;
  std::vector<Descriptor> sockets_;
};

}  // namespace mqsteer
