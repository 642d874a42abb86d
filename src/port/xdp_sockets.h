#pragma once

#include <mqsteer/descriptor.h>

#include <sys/types.h>

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
  /// Remembers the AF_XDP sockets this process has now. Waits, for up to 200 ms, where some of ours
  /// were closed just before: the kernel frees their queues later (measured: 26 to 32 ms).
  XdpSockets();
  /// Keeps a descriptor of its own of each that has come since. The socket, and with it the
  /// interface's queue, is free again only after release().
  void find_new();
  void release() noexcept { sockets_.clear(); }
  /// Closes those that the driver left open when it closed the port, to be called after that: it
  /// never destroys a umem (a slip in its reference count, DPDK 22.11), and with it never closes
  /// the socket, which would hold the interface's queue until the process ends.
  void close_forgotten() noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return sockets_.size(); }
  /// Whether the driver sends from the umem itself. Source: Linux if_xdp.h, XDP_OPTIONS_ZEROCOPY
  [[nodiscard]] bool zero_copy() const noexcept;
  /// Since the sockets were opened. Source: Linux include/uapi/linux/if_xdp.h, xdp_statistics
  [[nodiscard]] XdpLosses losses() const noexcept;

 private:
  /// A descriptor of the driver's. The inode tells whether it is still the same socket.
  struct Theirs {
    int fd;
    ino_t inode;
  };

  std::vector<int> before_;
  std::vector<Theirs> theirs_;
  std::vector<Descriptor> sockets_;
};

}  // namespace mqsteer
