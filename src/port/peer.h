#pragma once

#include "port/netlink.h"

#include <mqsteer/descriptor.h>
#include <mqsteer/error.h>

#include <functional>
#include <memory>
#include <string>

namespace mqsteer {

/// A network namespace; empty path: the caller's own.
struct NamespacePlace {
  std::string path;            ///< "/run/netns/left"; empty: this one
  std::string command_prefix;  ///< "ip netns exec left "; what makes a command run there
};

/// Runs `work` in a network namespace, on a thread of its own, and waits for it. Needs
/// CAP_SYS_ADMIN for a namespace other than the caller's.
[[nodiscard]] Expected<void> in_namespace(const NamespacePlace& place,
                                          const std::function<Expected<void>()>& work);

/// Where the other end of a veth is, and its name there.
struct VethPeer {
  NamespacePlace place;
  std::string interface;
  std::uint32_t mtu = 0;
};
/// Fails where its namespace has no name under /run/netns and is not that of process 1.
[[nodiscard]] Expected<VethPeer> find_veth_peer(const LinkInfo& veth);

}  // namespace mqsteer
