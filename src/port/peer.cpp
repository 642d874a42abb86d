#include "port/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>

#include <filesystem>
#include <thread>
#include <vector>

namespace mqsteer {
namespace {

constexpr const char* kNamedNamespaces = "/run/netns";
constexpr const char* kFirstNamespace = "/proc/1/ns/net";

std::vector<NamespacePlace> known_namespaces() {
  std::vector<NamespacePlace> places;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{kNamedNamespaces, ignored}) {
    places.push_back({entry.path(), "ip netns exec " + entry.path().filename().string() + " "});
  }
  places.push_back({kFirstNamespace, "nsenter --net=/proc/1/ns/net "});
  return places;
}

Expected<NamespacePlace> place_of(const LinkInfo& veth) {
  if (!veth.peer_namespace) return NamespacePlace{};
  for (const NamespacePlace& place : known_namespaces()) {
    const Descriptor fd{open(place.path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (fd.valid() && namespace_id(fd.get()) == veth.peer_namespace) return place;
  }
  return fail("the other end of " + veth.name + " is in a network namespace without a name");
}

}  // namespace

Expected<void> in_namespace(const NamespacePlace& place,
                            const std::function<Expected<void>()>& work) {
  if (place.path.empty()) return work();
  const Descriptor fd{open(place.path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd.valid()) return fail(errno, "opening network namespace " + place.path);
  Expected<void> result;
  // A thread's namespace is its own: the caller stays where it is.
  std::thread{[&] {
    result = setns(fd.get(), CLONE_NEWNET) == 0
                 ? work()
                 : fail(errno, "entering network namespace " + place.path);
  }}.join();
  return result;
}

Expected<VethPeer> find_veth_peer(const LinkInfo& veth) {
  const auto place = place_of(veth);
  if (!place) return tl::unexpected(place.error());
  VethPeer peer{*place, {}, 0};
  const auto found = in_namespace(*place, [&]() -> Expected<void> {
    const auto link = read_link(veth.peer_index);
    if (!link) return tl::unexpected(link.error());
    peer.interface = link->name;
    peer.mtu = link->mtu;
    return {};
  });
  if (!found) return tl::unexpected(found.error());
  return peer;
}

}  // namespace mqsteer
