#pragma once

#include <mqsteer/error.h>

#include <cstdint>
#include <optional>
#include <string>

namespace mqsteer {

/// One interface as RTM_GETLINK tells it, in the network namespace of the calling thread.
struct LinkInfo {
  std::string name;
  int index = 0;
  std::string address;      ///< MAC, in hexadecimal digits
  std::string kind;         ///< "veth", "tun", …; empty for hardware
  std::uint32_t flags = 0;  ///< IFF_*
  std::uint32_t mtu = 0;
  std::uint32_t promiscuity = 0;
  std::uint32_t rx_queues = 1;
  bool carrier = false;
  int peer_index = 0;                 ///< IFLA_LINK: the other end of a veth; 0: none
  std::optional<int> peer_namespace;  ///< IFLA_LINK_NETNSID; none: this namespace
  int master_index = 0;               ///< the bridge or bond it is part of; 0: none
  std::uint16_t type = 0;             ///< ARPHRD_*
  std::uint32_t xdp_program = 0;      ///< id of the XDP program; 0: none
  bool xdp_generic = false;           ///< attached in generic mode
};

[[nodiscard]] Expected<LinkInfo> read_link(const std::string& name);
[[nodiscard]] Expected<LinkInfo> read_link(int index);

/// The id that this namespace knows the namespace of an open descriptor by; none: it knows none.
[[nodiscard]] std::optional<int> namespace_id(int namespace_fd);

/// The name of a BPF program; empty where it cannot be told (CAP_SYS_ADMIN or CAP_BPF is needed).
[[nodiscard]] std::string bpf_program_name(std::uint32_t id);

/// "dpdk-testpmd (process 12)": a process that has the program open, as far as /proc tells; empty:
/// none, so it was left behind.
[[nodiscard]] std::string bpf_program_user(std::uint32_t id);

}  // namespace mqsteer
