#pragma once

#include <mqsteer/error.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mqsteer {

/// A group of an interface's features that `ethtool -K` turns on and off by one word.
struct Offload {
  std::string_view word;                       ///< "gro"
  std::string_view effect;                     ///< what it does to a bridge, for messages
  std::span<const std::string_view> features;  ///< the kernel's names
};

/// What merges frames before we get them: gro, lro, rx-gro-hw.
[[nodiscard]] std::span<const Offload> merging_offloads() noexcept;
/// What takes VLAN tags out of frames: rxvlan.
[[nodiscard]] std::span<const Offload> tag_stripping_offloads() noexcept;
/// What lets the kernel at the other end of a veth leave work to a NIC that is not there: tx.
[[nodiscard]] std::span<const Offload> peer_offloads() noexcept;

/// Features of an interface in the calling thread's network namespace: name -> active. Those that
/// cannot be changed ("fixed") are left out.
using Features = std::map<std::string, bool, std::less<>>;
[[nodiscard]] Expected<Features> read_features(const std::string& interface);
/// Sets the named features only.
[[nodiscard]] Expected<void> write_features(const std::string& interface, const Features& wanted);

/// Those features of an offload that are on.
[[nodiscard]] std::vector<std::string> active_features(const Offload& offload,
                                                       const Features& features);

/// Driver name by ethtool; empty where it does not say.
[[nodiscard]] std::string interface_driver(const std::string& interface);
/// Channels in use. Where the driver has none combined, as a veth, AF_XDP can be opened on one.
struct InterfaceChannels {
  std::uint16_t combined = 1;
  std::uint16_t rx_only = 0;
};
[[nodiscard]] InterfaceChannels interface_channels(const std::string& interface);
/// 0 where unknown.
[[nodiscard]] std::uint32_t interface_speed_mbps(const std::string& interface);

}  // namespace mqsteer
