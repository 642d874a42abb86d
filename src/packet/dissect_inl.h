#pragma once

#include "packet/bytes.h"
#include "packet/flow_key.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace mqsteer {

inline constexpr std::uint16_t kEtherIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherIpv6 = 0x86dd;
inline constexpr std::uint16_t kEtherVlan = 0x8100;
inline constexpr std::uint8_t kProtoTcp = 6;
inline constexpr std::uint8_t kProtoUdp = 17;

/// Destination ports that need more than the short cut: tunnels and BFD.
inline constexpr std::uint16_t kPortGtpU = 2152;
inline constexpr std::uint16_t kPortBfd = 3784;
inline constexpr std::uint16_t kPortBfdEcho = 3785;
inline constexpr std::uint16_t kPortBfdMultihop = 4784;
inline constexpr std::uint16_t kPortVxlan = 4789;
inline constexpr std::uint16_t kPortGeneve = 6081;
inline constexpr std::uint16_t kPortBfdLag = 6784;
inline constexpr std::uint16_t kPortVxlanLinux = 8472;
inline constexpr std::uint16_t kPortBgp = 179;

/// A set of destination ports with one load and one comparison: a multiplier without collisions is
/// searched for at compile time. Port 0 may seem to be a member; that costs a longer way, no more.
class PortSet {
 public:
  constexpr explicit PortSet(const std::array<std::uint16_t, 8>& ports) {
    while (!fill(ports)) multiplier_ = (multiplier_ * 1664525U + 1013904223U) | 1U;
  }
  [[nodiscard]] constexpr bool contains(std::uint16_t port) const noexcept {
    return slots_[slot(port)] == port;
  }

 private:
  [[nodiscard]] constexpr std::size_t slot(std::uint16_t port) const noexcept {
    return (port * multiplier_) >> 28U;
  }
  constexpr bool fill(const std::array<std::uint16_t, 8>& ports) {
    slots_ = {};
    for (const auto port : ports) {
      if (slots_[slot(port)] != 0) return false;
      slots_[slot(port)] = port;
    }
    return true;
  }
  std::uint32_t multiplier_ = 0x9e3779b1U;
  std::array<std::uint16_t, 16> slots_{};
};

inline constexpr PortSet kUncommonPorts{{kPortGtpU, kPortBfd, kPortBfdEcho, kPortBfdMultihop,
                                         kPortVxlan, kPortGeneve, kPortBfdLag, kPortVxlanLinux}};

[[nodiscard]] inline bool needs_more_than_ports(std::uint32_t ports) noexcept {
  const auto source = static_cast<std::uint16_t>(ports >> 16U);
  const auto destination = static_cast<std::uint16_t>(ports);
  return kUncommonPorts.contains(destination) || source == kPortBgp || destination == kPortBgp;
}

/// Writes the two ends of an IPv4 key. Without branches: which end is smaller cannot be predicted.
///
/// addresses: source << 32 | destination; ports: source << 16 | destination; both host order
inline void put_ipv4(FlowKey& key, std::uint64_t addresses, std::uint32_t ports,
                     bool symmetric) noexcept {
  const std::uint64_t a = (addresses >> 32U) << 16U | ports >> 16U;
  const std::uint64_t b = (addresses & 0xffffffffU) << 16U | (ports & 0xffffU);
  const std::uint64_t first = symmetric ? std::min(a, b) : a;
  const std::uint64_t second = symmetric ? std::max(a, b) : b;
  key.words[0] = static_cast<std::uint32_t>(first >> 16U);
  key.words[1] = static_cast<std::uint32_t>(second >> 16U);
  key.words[2] = static_cast<std::uint32_t>((first & 0xffffU) << 16U | (second & 0xffffU));
}

/// The same for IPv6: addresses points to 32 bytes, source and destination.
inline void put_ipv6(FlowKey& key, const std::byte* addresses, std::uint32_t ports,
                     bool symmetric) noexcept {
  std::uint64_t a_high = load_be64(addresses);
  std::uint64_t a_low = load_be64(addresses + 8);
  std::uint64_t b_high = load_be64(addresses + 16);
  std::uint64_t b_low = load_be64(addresses + 24);
  using Wide = unsigned __int128;
  const Wide a = static_cast<Wide>(a_high) << 64U | a_low;
  const Wide b = static_cast<Wide>(b_high) << 64U | b_low;
  const bool ports_down = (ports >> 16U) > (ports & 0xffffU);
  const bool swap = symmetric & ((b < a) | ((a == b) & ports_down));
  const std::uint64_t mask = std::uint64_t{0} - static_cast<std::uint64_t>(swap);
  const std::uint64_t high = (a_high ^ b_high) & mask;
  const std::uint64_t low = (a_low ^ b_low) & mask;
  a_high ^= high;
  b_high ^= high;
  a_low ^= low;
  b_low ^= low;
  const auto put = [&key](std::size_t at, std::uint64_t value) {
    key.words[at] = static_cast<std::uint32_t>(value >> 32U);
    key.words[at + 1] = static_cast<std::uint32_t>(value);
  };
  put(0, a_high);
  put(2, a_low);
  put(4, b_high);
  put(6, b_low);
  key.words[8] = swap ? (ports << 16U | ports >> 16U) : ports;
}

/// The short cut: Ethernet with at most one VLAN tag, IPv4 without options or IPv6 without
/// extension headers, whole, TCP or UDP on ports that mean nothing to us.
///
/// returns: false where the packet is anything else: dissect_any() must look; out is then
/// undefined.
///   Where true, out is what dissect_any() would have said, but for words that the family lacks.
[[nodiscard]] inline bool dissect_common(const std::byte* data, std::size_t readable,
                                         bool symmetric, Dissection& out) noexcept {
  constexpr std::size_t kPortBytes = 4;
  std::size_t l3 = 14;
  if (readable < l3 + 20 + kPortBytes) return false;
  std::uint16_t type = load_be16(data + 12);
  if (type == kEtherVlan) {
    type = load_be16(data + 16);
    l3 = 18;
    if (readable < l3 + 20 + kPortBytes) return false;
  }
  const std::byte* ip = data + l3;
  std::uint8_t protocol = 0;
  std::uint32_t ports = 0;
  FlowKey& key = out.key;
  if (type == kEtherIpv4) {
    const std::uint64_t start = load_be64(ip);
    // Version 4 and five words; neither "more fragments" nor an offset.
    if ((start & 0xff00000000003fffU) != 0x4500000000000000U) return false;
    // The ports belong to the packet, not to the padding behind it.
    if (((start >> 32U) & 0xffffU) < 20 + kPortBytes) return false;
    protocol = static_cast<std::uint8_t>(ip[9]);
    ports = load_be32(ip + 20);
    if ((protocol != kProtoTcp && protocol != kProtoUdp) || needs_more_than_ports(ports)) {
      return false;
    }
    key.family = AddressFamily::kIpv4;
    put_ipv4(key, load_be64(ip + 12), ports, symmetric);
    out.l4 = static_cast<std::uint8_t>(l3 + 20);
  } else if (type == kEtherIpv6) {
    if (readable < l3 + 40 + kPortBytes) return false;
    const std::uint64_t start = load_be64(ip);
    if (start >> 60U != 6 || ((start >> 16U) & 0xffffU) < kPortBytes) return false;
    protocol = static_cast<std::uint8_t>(ip[6]);
    ports = load_be32(ip + 40);
    if ((protocol != kProtoTcp && protocol != kProtoUdp) || needs_more_than_ports(ports)) {
      return false;
    }
    key.family = AddressFamily::kIpv6;
    put_ipv6(key, ip + 8, ports, symmetric);
    out.l4 = static_cast<std::uint8_t>(l3 + 40);
  } else {
    return false;
  }
  key.protocol = protocol;
  key.form = KeyForm::kPorts;
  key.kind = protocol == kProtoTcp ? PacketKind::kTcp : PacketKind::kUdp;
  out.flags = 0;
  out.l3 = static_cast<std::uint8_t>(l3);
  return true;
}

}  // namespace mqsteer
