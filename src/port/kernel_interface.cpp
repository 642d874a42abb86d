#include "port/kernel_interface.h"

#include "port/netlink.h"
#include "port/offloads.h"
#include "port/peer.h"
#include "port/undo.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <utility>

namespace mqsteer {
namespace {

/// The name of libxdp's own program for AF_XDP sockets. It passes everything on when no socket is
/// there, and libxdp takes it over when it finds it: it never stands in the way.
constexpr std::string_view kSocketProgram = "xsk_def_prog";

KernelInterfaceState state_of(const LinkInfo& link) {
  KernelInterfaceState state;
  state.name = link.name;
  state.index = link.index;
  state.driver = interface_driver(link.name);
  state.up = (link.flags & IFF_UP) != 0;
  state.carrier = link.carrier;
  state.mtu = link.mtu;
  const InterfaceChannels channels = interface_channels(link.name);
  state.channels = channels.combined;
  state.rx_only_channels = channels.rx_only;
  // A veth says 10 Gbit/s, which nothing keeps to.
  state.link_mbps = link.kind.empty() ? interface_speed_mbps(link.name) : 0;
  int node = -1;
  if (std::ifstream{"/sys/class/net/" + link.name + "/device/numa_node"} >> node) {
    state.numa_node = node;
  }
  state.promiscuity = link.promiscuity;
  return state;
}

bool has_ip_address(const std::string& interface) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return false;
  bool found = false;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    // An IPv6 link-local address comes by itself and routes nothing.
    found |= entry->ifa_addr != nullptr && interface == entry->ifa_name &&
             entry->ifa_addr->sa_family == AF_INET;
  }
  freeifaddrs(list);
  return found;
}

bool kernel_forwards(const std::string& interface) {
  int forwarding = 0;
  std::ifstream{"/proc/sys/net/ipv4/conf/" + interface + "/forwarding"} >> forwarding;
  return forwarding != 0;
}

/// A membership of a socket of ours: the kernel ends it with the socket, so even kill -9 leaves
/// nothing, and `ip link set IF promisc off` does not touch it.
Expected<Descriptor> ask_for_every_frame(const KernelInterfaceState& state) {
  const std::string what = "making " + state.name + " promiscuous";
  Descriptor socket{::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)};
  if (!socket.valid()) return fail(errno, what + " (needs CAP_NET_RAW)");
  for (const int type : {PACKET_MR_PROMISC, PACKET_MR_ALLMULTI}) {
    packet_mreq membership{};
    membership.mr_ifindex = state.index;
    membership.mr_type = static_cast<unsigned short>(type);
    if (setsockopt(socket.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership,
                   sizeof membership) != 0) {
      return fail(errno, what);
    }
  }
  return socket;
}

/// Offloads of one interface that must be off, and how to turn them off.
struct OffloadFault {
  NamespacePlace place;
  std::string interface;
  std::vector<const Offload*> offloads;
  std::vector<std::string> features;

  [[nodiscard]] std::string command() const {
    std::string text = place.command_prefix + "ethtool -K " + interface;
    for (const Offload* offload : offloads) text += " " + std::string{offload->word} + " off";
    return text;
  }
  [[nodiscard]] std::string words() const {
    std::string text;
    for (const Offload* offload : offloads) {
      text += (text.empty() ? "" : ", ") + std::string{offload->word};
    }
    return text;
  }
};

void look_for(OffloadFault& fault, std::span<const Offload> offloads, const Features& features) {
  for (const Offload& offload : offloads) {
    const auto active = active_features(offload, features);
    if (active.empty()) continue;
    fault.offloads.push_back(&offload);
    fault.features.insert(fault.features.end(), active.begin(), active.end());
  }
}

}  // namespace

struct KernelInterface::Impl {
  Impl(const LinkInfo& link, Use u)
      : state{state_of(link)},
        use{std::move(u)},
        undo{link},
        query{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)} {}

  [[nodiscard]] Expected<void> check_kind(const LinkInfo& link) const;
  Expected<void> check_xdp(const LinkInfo& link);
  [[nodiscard]] Expected<void> check_peer_mtu(const LinkInfo& link) const;
  [[nodiscard]] Expected<void> check_channels() const;
  Expected<void> bring_up();
  Expected<void> settle_offloads(const LinkInfo& link);
  void say_what_else_uses_it(const LinkInfo& link);
  void find_own_faults(const LinkInfo& link, std::vector<OffloadFault>& faults) const;
  void find_peer_faults(const LinkInfo& link, std::vector<OffloadFault>& faults);
  Expected<void> turn_off(const OffloadFault& fault);

  void note(const std::string& text) { notes.push_back("port " + use.port + ": " + text); }

  KernelInterfaceState state;
  Use use;
  Undo undo;
  Descriptor query;
  Descriptor membership;
  std::vector<std::string> notes;
};

Expected<void> KernelInterface::Impl::check_kind(const LinkInfo& link) const {
  if (link.type == ARPHRD_ETHER || link.type == ARPHRD_LOOPBACK) return {};
  return fail(state.name + " is no Ethernet interface (its frames have no Ethernet header)");
}

Expected<void> KernelInterface::Impl::check_xdp(const LinkInfo& link) {
  if (link.xdp_program == 0) return {};
  const std::string name = bpf_program_name(link.xdp_program);
  if (const std::string user = bpf_program_user(link.xdp_program);
      name == kSocketProgram && use.xdp && !user.empty()) {
    return fail(state.name + " is in use by " + user +
                ", whose AF_XDP program is on it; stop it "
                "first");
  }
  if (name == kSocketProgram) {
    note("the AF_XDP program of an earlier run was still on " + state.name + " and is taken over");
    return {};
  }
  const std::string program = "XDP program " + (name.empty() ? "?" : name) + " (id " +
                              std::to_string(link.xdp_program) + ")";
  if (!use.xdp) {
    note(program + " on " + state.name + " sees every frame before mqsteer");
    return {};
  }
  return fail(program + " of somebody else is on " + state.name +
              "; if it is not needed, remove it: ip link set dev " + state.name +
              (link.xdp_generic ? " xdpgeneric off" : " xdp off"));
}

/// AF_XDP is opened on one queue where channels are not combined; the kernel would keep what comes
/// in on the others.
Expected<void> KernelInterface::Impl::check_channels() const {
  if (!use.xdp || state.rx_only_channels <= 1) return {};
  return fail(state.name + " has " + std::to_string(state.rx_only_channels) +
              " RX channels, and AF_XDP can be opened on one of them; run: ethtool -L " +
              state.name + " rx 1");
}

/// A veth has no memory for an XDP program that sees longer frames than a page holds beside 256
/// bytes of headroom and the kernel's own 320 behind; its other end decides how long they are.
/// Source: Linux drivers/net/veth.c, veth_xdp_set; measured: 3,506 works, 3,507 does not.
Expected<void> KernelInterface::Impl::check_peer_mtu(const LinkInfo& link) const {
  constexpr std::uint32_t kMost = 4096 - 256 - 320 - 14;
  if (link.kind != "veth" || !use.xdp) return {};
  const auto peer = find_veth_peer(link);
  if (!peer || peer->mtu <= kMost) return {};
  return fail(peer->interface + ", the other end of " + state.name + ", has an MTU of " +
              std::to_string(peer->mtu) + ", and XDP allows " + std::to_string(kMost) +
              "; give both ends the same: " + peer->place.command_prefix + "ip link set " +
              peer->interface + " mtu " + std::to_string(state.mtu));
}

Expected<void> KernelInterface::Impl::bring_up() {
  if (state.up) return {};
  undo.remember({Undo::Step::Kind::kDown, {}, state.name, {}});
  if (auto done = set_interface_up(state.name, true); !done) return done;
  state.up = true;
  note(state.name + " was down and is brought up; down again at stop");
  return {};
}

void KernelInterface::Impl::say_what_else_uses_it(const LinkInfo& link) {
  if (link.master_index != 0) {
    const auto master = read_link(link.master_index);
    note(state.name + " is part of " + (master ? master->name : "a bridge or bond") +
         " as well, which may forward the same frames; take it out: ip link set " + state.name +
         " nomaster");
  }
  if (!has_ip_address(state.name)) return;
  note(state.name + " has an IP address" +
       (kernel_forwards(state.name) ? " and the kernel forwards from it" : "") +
       ": the kernel may answer or forward the same frames; remove it: ip addr flush dev " +
       state.name);
}

void KernelInterface::Impl::find_own_faults(const LinkInfo& link,
                                            std::vector<OffloadFault>& faults) const {
  const auto features = read_features(state.name);
  if (!features) return;  // a driver without features merges nothing
  OffloadFault fault{{}, state.name, {}, {}};
  const bool veth = link.kind == "veth";
  // A veth merges behind its XDP hook and strips no tags: measured, see tests/net/port_bridge.
  if (!(veth && use.xdp)) look_for(fault, merging_offloads(), *features);
  if (!veth && use.xdp) look_for(fault, tag_stripping_offloads(), *features);
  if (!fault.offloads.empty()) faults.push_back(std::move(fault));
}

void KernelInterface::Impl::find_peer_faults(const LinkInfo& link,
                                             std::vector<OffloadFault>& faults) {
  if (link.kind != "veth") return;
  const auto peer = find_veth_peer(link);
  if (!peer) {
    note(peer.error().text() + "; turn off tx there (ethtool -K IF tx off), or TCP and UDP from " +
         "it will have broken checksums");
    return;
  }
  OffloadFault fault{peer->place, peer->interface, {}, {}};
  const auto looked = in_namespace(peer->place, [&]() -> Expected<void> {
    const auto features = read_features(peer->interface);
    if (!features) return tl::unexpected(features.error());
    look_for(fault, peer_offloads(), *features);
    return {};
  });
  if (!looked) note(looked.error().text());
  if (!fault.offloads.empty()) faults.push_back(std::move(fault));
}

Expected<void> KernelInterface::Impl::turn_off(const OffloadFault& fault) {
  Features off;
  for (const std::string& feature : fault.features) {
    undo.remember({Undo::Step::Kind::kFeatureOn, fault.place, fault.interface, feature});
    off[feature] = false;
  }
  if (auto done = in_namespace(fault.place, [&] { return write_features(fault.interface, off); });
      !done) {
    return done;
  }
  note(fault.place.command_prefix.empty()
           ? fault.words() + " of " + fault.interface + " is turned off until stop"
           : fault.words() + " of " + fault.interface + " (" + fault.place.path +
                 ") is turned off until stop");
  return {};
}

Expected<void> KernelInterface::Impl::settle_offloads(const LinkInfo& link) {
  std::vector<OffloadFault> faults;
  find_own_faults(link, faults);
  find_peer_faults(link, faults);
  if (use.offloads == OffloadPolicy::kIgnore) {
    for (const OffloadFault& fault : faults) {
      note(fault.words() + " of " + fault.interface + " " +
           std::string{fault.offloads.front()->effect} +
           "; ignored as told; mended by: " + fault.command());
    }
    return {};
  }
  if (faults.empty()) return {};
  if (use.offloads == OffloadPolicy::kFix) {
    for (const OffloadFault& fault : faults) {
      if (auto done = turn_off(fault); !done) return done;
    }
    return {};
  }
  std::string effects;
  std::string commands;
  for (const OffloadFault& fault : faults) {
    effects += (effects.empty() ? "" : ", and ") + std::string{"by "} + fault.words() + " of " +
               fault.interface + " " + std::string{fault.offloads.front()->effect};
    commands += (commands.empty() ? "" : " && ") + fault.command();
  }
  return fail(effects + ", which a bridge would pass on broken; run: " + commands +
              " (or say offloads: fix, or --offloads fix)");
}

bool kernel_interface_exists(std::string_view name) {
  if (name.empty() || name.size() >= IFNAMSIZ) return false;
  return read_link(std::string{name}).has_value();
}

Expected<KernelInterfaceState> read_kernel_interface(const std::string& name) {
  const auto link = read_link(name);
  if (!link) {
    return link.error().code == ENODEV ? fail("no kernel interface " + name + " here")
                                       : tl::unexpected(link.error());
  }
  return state_of(*link);
}

KernelInterface::KernelInterface(std::unique_ptr<Impl> impl) noexcept : impl_{std::move(impl)} {}

KernelInterface::~KernelInterface() = default;

Expected<std::unique_ptr<KernelInterface>> KernelInterface::prepare(const std::string& name,
                                                                    const Use& use) {
  const auto link = read_link(name);
  if (!link) return tl::unexpected(link.error());
  std::unique_ptr<KernelInterface> made{new KernelInterface{std::make_unique<Impl>(*link, use)}};
  Impl& impl = *made->impl_;
  if (auto done = impl.check_kind(*link); !done) return tl::unexpected(done.error());
  if (auto done = impl.check_xdp(*link); !done) return tl::unexpected(done.error());
  if (auto done = impl.check_channels(); !done) return tl::unexpected(done.error());
  if (auto done = impl.check_peer_mtu(*link); !done) return tl::unexpected(done.error());
  if (auto done = impl.settle_offloads(*link); !done) return tl::unexpected(done.error());
  if (auto done = impl.bring_up(); !done) return tl::unexpected(done.error());
  auto membership = ask_for_every_frame(impl.state);
  if (!membership) return tl::unexpected(membership.error());
  impl.membership = std::move(*membership);
  impl.say_what_else_uses_it(*link);
  return made;
}

const KernelInterfaceState& KernelInterface::state() const noexcept {
  return impl_->state;
}

const std::vector<std::string>& KernelInterface::notes() const noexcept {
  return impl_->notes;
}

Expected<void> KernelInterface::set_mtu(std::uint16_t bytes) {
  if (impl_->state.mtu == bytes) return {};
  impl_->undo.remember(
      {Undo::Step::Kind::kMtu, {}, impl_->state.name, std::to_string(impl_->state.mtu)});
  auto done = set_interface_mtu(impl_->state.name, bytes);
  if (done) impl_->state.mtu = bytes;
  return done;
}

bool KernelInterface::link_up() const noexcept {
  ifreq request{};
  memcpy(request.ifr_name, impl_->state.name.c_str(),
         std::min(impl_->state.name.size(), sizeof request.ifr_name - 1));
  if (ioctl(impl_->query.get(), SIOCGIFFLAGS, &request) != 0) return false;
  constexpr int kUp = IFF_UP | IFF_RUNNING;
  return (request.ifr_flags & kUp) == kUp;
}

bool KernelInterface::promiscuous() const noexcept {
  const auto link = read_link(impl_->state.index);
  return link && link->promiscuity > 0;
}

}  // namespace mqsteer
