#include "handlers/rr/frame.h"

#include "handlers/rr/checksum.h"
#include "packet/bytes.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace mqsteer::rr {
namespace {

constexpr std::uint16_t kTypeIpv4 = 0x0800;
constexpr std::uint16_t kTypeArp = 0x0806;
constexpr std::uint16_t kTypeIpv6 = 0x86dd;
constexpr std::uint8_t kIcmp = 1;
constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kIcmpv6 = 58;
constexpr std::size_t kArpBytes = 28;
constexpr std::size_t kIcmpBytes = 8;
constexpr std::size_t kSolicitationBytes = 24;

enum class Nic : std::uint8_t { kSilent, kGood, kBad };

/// NONE: the field in the packet is not the checksum, but the data is known to be right.
Nic nic_says(std::uint64_t flags, std::uint64_t good, std::uint64_t bad) noexcept {
  const std::uint64_t said = flags & (good | bad);
  if (said == 0) return Nic::kSilent;
  return said == bad ? Nic::kBad : Nic::kGood;
}
Nic nic_says_ip(std::uint64_t flags) noexcept {
  return nic_says(flags, RTE_MBUF_F_RX_IP_CKSUM_GOOD, RTE_MBUF_F_RX_IP_CKSUM_BAD);
}
Nic nic_says_l4(std::uint64_t flags) noexcept {
  return nic_says(flags, RTE_MBUF_F_RX_L4_CKSUM_GOOD, RTE_MBUF_F_RX_L4_CKSUM_BAD);
}

bool is_group(const std::byte* mac) noexcept {
  return (load_u8(mac) & 1U) != 0;
}

Frame refused(RrCount reason) noexcept {
  return {.kind = FrameKind::kRefused, .reason = reason};
}

/// What lies behind the IP header, and who sent it.
struct Datagram {
  std::span<const std::byte> payload;
  const std::byte* addresses = nullptr;  ///< source, then destination
  std::uint8_t protocol = 0;
  bool ipv6 = false;
  bool to_us = false;  ///< to our own address; else to a group that we are in
  std::uint8_t hops = 0;
};

/// Whether an address can be answered: not ours, no group, not unspecified, no broadcast.
bool may_send(const std::byte* source, bool ipv6, const LocalEnd& local) noexcept {
  if (ipv6) {
    constexpr std::array<std::byte, 16> kUnspecified{};
    return load_u8(source) != 0xff && !local.is_ipv6(source) &&
           std::memcmp(source, kUnspecified.data(), kUnspecified.size()) != 0;
  }
  const std::uint8_t first = load_u8(source);
  return first != 0 && first != 127 && first < 224 && !local.is_ipv4(source);
}

/// The options of a SYN: the MSS, 0 where there is none. Bytes that make no sense end the list.
/// Source: RFC 9293, section 3.2
std::uint16_t read_mss(std::span<const std::byte> options) noexcept {
  while (!options.empty()) {
    const std::uint8_t kind = load_u8(options.data());
    if (kind == 0) break;
    if (kind == 1) {
      options = options.subspan(1);
      continue;
    }
    if (options.size() < 2) break;
    const std::size_t size = load_u8(&options[1]);
    if (size < 2 || size > options.size()) break;
    if (kind == 2 && size == kMssOptionBytes) return load_be16(&options[2]);
    options = options.subspan(size);
  }
  return 0;
}

/// Flags that no TCP sends: SYN or RST with what contradicts them, or nothing at all.
bool make_sense(std::uint8_t flags) noexcept {
  const bool syn = (flags & kSyn) != 0;
  const bool fin = (flags & kFin) != 0;
  const bool rst = (flags & kRst) != 0;
  if (syn && (fin || rst)) return false;
  if (fin && rst) return false;
  return syn || rst || (flags & kAck) != 0;
}

bool l4_checksum_holds(const Datagram& from) noexcept {
  Checksum sum;
  sum.add(from.addresses, from.ipv6 ? 32 : 8);
  sum.add_field(from.protocol);
  sum.add_field(static_cast<std::uint16_t>(from.payload.size()));
  sum.add(from.payload.data(), from.payload.size());
  return sum.holds();
}

bool l4_is_right(const Datagram& from, std::uint64_t rx_flags) noexcept {
  const Nic said = nic_says_l4(rx_flags);
  return said == Nic::kGood || (said == Nic::kSilent && l4_checksum_holds(from));
}

Frame read_tcp(const Datagram& from, std::span<const std::byte> frame,
               std::uint64_t rx_flags) noexcept {
  const auto bytes = from.payload;
  if (bytes.size() < kTcpBytes) return refused(RrCount::kMalformed);
  const std::byte* at = bytes.data();
  const std::size_t header = std::size_t{load_u8(at + 12)} / 16 * 4;
  if (header < kTcpBytes || header > bytes.size()) return refused(RrCount::kMalformed);
  if (!l4_is_right(from, rx_flags)) return refused(RrCount::kBadChecksum);
  Frame read{.kind = FrameKind::kTcp};
  Segment& segment = read.segment;
  segment.flags = load_u8(at + 13);
  segment.peer.port = load_be16(at);
  if (!make_sense(segment.flags) || segment.peer.port == 0) return refused(RrCount::kMalformed);
  std::memcpy(segment.peer.address.data(), from.addresses, from.ipv6 ? 16 : 4);
  segment.peer.ipv6 = from.ipv6;
  std::memcpy(segment.mac.data(), frame.data() + 6, sizeof segment.mac);
  segment.local_port = load_be16(at + 2);
  segment.sequence = load_be32(at + 4);
  segment.ack = load_be32(at + 8);
  segment.window = load_be16(at + 14);
  if (segment.has(kSyn)) segment.mss = read_mss(bytes.subspan(kTcpBytes, header - kTcpBytes));
  segment.text_at = static_cast<std::uint16_t>(at - frame.data() + static_cast<long>(header));
  segment.text_bytes = static_cast<std::uint16_t>(bytes.size() - header);
  return read;
}

Frame read_icmp(const Datagram& from, std::uint64_t /*rx_flags*/) noexcept {
  if (from.payload.size() < kIcmpBytes) return refused(RrCount::kMalformed);
  Checksum sum;
  sum.add(from.payload.data(), from.payload.size());
  if (!sum.holds()) return refused(RrCount::kBadChecksum);
  const bool echo = load_be16(from.payload.data()) == 0x0800;
  return echo ? Frame{.kind = FrameKind::kEcho4} : refused(RrCount::kUnwanted);
}

/// Source: RFC 4861, section 7.1.1: what a solicitation must be to be answered
Frame read_solicitation(const Datagram& from, const LocalEnd& local) noexcept {
  const auto bytes = from.payload;
  if (from.hops != 255 || bytes.size() < kSolicitationBytes) return refused(RrCount::kMalformed);
  for (auto options = bytes.subspan(kSolicitationBytes); !options.empty();) {
    if (options.size() < 2) return refused(RrCount::kMalformed);
    const std::size_t size = std::size_t{load_u8(&options[1])} * 8;
    if (size == 0 || size > options.size()) return refused(RrCount::kMalformed);
    options = options.subspan(size);
  }
  if (!local.is_ipv6(&bytes[8])) return refused(RrCount::kNotForUs);
  const auto source = load_u8(from.addresses);
  if (source == 0xff || local.is_ipv6(from.addresses)) return refused(RrCount::kBadSource);
  return {.kind = FrameKind::kNeighbour};
}

Frame read_icmpv6(const Datagram& from, const LocalEnd& local) noexcept {
  if (from.payload.size() < kIcmpBytes) return refused(RrCount::kMalformed);
  if (!l4_checksum_holds(from)) return refused(RrCount::kBadChecksum);
  const std::uint16_t type_code = load_be16(from.payload.data());
  if (type_code == 0x8700) return read_solicitation(from, local);
  if (!from.to_us) return refused(RrCount::kNotForUs);
  if (type_code != 0x8000) return refused(RrCount::kUnwanted);
  if (!may_send(from.addresses, true, local)) return refused(RrCount::kBadSource);
  return {.kind = FrameKind::kEcho6};
}

Frame read_ipv4(std::span<const std::byte> frame, std::uint64_t rx_flags,
                const LocalEnd& local) noexcept {
  const auto bytes = frame.subspan(kEthernetBytes);
  if (bytes.size() < kIpv4Bytes) return refused(RrCount::kMalformed);
  const std::byte* at = bytes.data();
  const std::uint8_t version_length = load_u8(at);
  const std::size_t total = load_be16(at + 2);
  if (version_length / 16 != 4 || version_length % 16 < 5) return refused(RrCount::kMalformed);
  if (!local.is_ipv4(at + 16)) return refused(RrCount::kNotForUs);
  if (version_length != 0x45) return refused(RrCount::kIpOptions);
  if (total < kIpv4Bytes || total > bytes.size()) return refused(RrCount::kMalformed);
  const Nic said = nic_says_ip(rx_flags);
  Checksum sum;
  sum.add(at, kIpv4Bytes);
  if (said == Nic::kBad || (said == Nic::kSilent && !sum.holds())) {
    return refused(RrCount::kBadChecksum);
  }
  if ((load_be16(at + 6) & 0x3fffU) != 0) return refused(RrCount::kFragments);
  if (!may_send(at + 12, false, local)) return refused(RrCount::kBadSource);
  const Datagram datagram{.payload = bytes.subspan(kIpv4Bytes, total - kIpv4Bytes),
                          .addresses = at + 12,
                          .protocol = load_u8(at + 9),
                          .to_us = true};
  Frame read = refused(RrCount::kUnwanted);
  if (datagram.protocol == kTcp) read = read_tcp(datagram, frame, rx_flags);
  if (datagram.protocol == kIcmp) read = read_icmp(datagram, rx_flags);
  read.bytes = static_cast<std::uint16_t>(kEthernetBytes + total);
  return read;
}

/// The groups of a host that only answers solicitations: its solicited-node group.
/// Source: RFC 4291, section 2.7.1
bool is_our_group(const std::byte* destination, const LocalEnd& local) noexcept {
  constexpr std::array<std::uint8_t, 13> kPrefix{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff};
  const auto* ours = reinterpret_cast<const std::byte*>(local.ipv6.data());
  return local.has_ipv6 && std::memcmp(destination, kPrefix.data(), kPrefix.size()) == 0 &&
         std::memcmp(destination + 13, ours + 13, 3) == 0;
}

bool is_extension(std::uint8_t next) noexcept {
  constexpr std::array<std::uint8_t, 7> kExtensions{0, 43, 51, 60, 135, 139, 140};
  return std::find(kExtensions.begin(), kExtensions.end(), next) != kExtensions.end();
}

Frame read_ipv6(std::span<const std::byte> frame, std::uint64_t rx_flags,
                const LocalEnd& local) noexcept {
  const auto bytes = frame.subspan(kEthernetBytes);
  if (bytes.size() < kIpv6Bytes) return refused(RrCount::kMalformed);
  const std::byte* at = bytes.data();
  const std::size_t size = load_be16(at + 4);
  if (load_u8(at) / 16 != 6) return refused(RrCount::kMalformed);
  const bool to_us = local.is_ipv6(at + 24);
  if (!to_us && !is_our_group(at + 24, local)) return refused(RrCount::kNotForUs);
  if (to_us && is_group(frame.data())) return refused(RrCount::kNotForUs);
  if (size > bytes.size() - kIpv6Bytes) return refused(RrCount::kMalformed);
  const Datagram datagram{.payload = bytes.subspan(kIpv6Bytes, size),
                          .addresses = at + 8,
                          .protocol = load_u8(at + 6),
                          .ipv6 = true,
                          .to_us = to_us,
                          .hops = load_u8(at + 7)};
  Frame read = refused(RrCount::kUnwanted);
  if (datagram.protocol == 44) read = refused(RrCount::kFragments);
  if (is_extension(datagram.protocol)) read = refused(RrCount::kIpOptions);
  if (datagram.protocol == kIcmpv6) read = read_icmpv6(datagram, local);
  if (datagram.protocol == kTcp) {
    read = !to_us                           ? refused(RrCount::kNotForUs)
           : !may_send(at + 8, true, local) ? refused(RrCount::kBadSource)
                                            : read_tcp(datagram, frame, rx_flags);
  }
  read.bytes = static_cast<std::uint16_t>(kEthernetBytes + kIpv6Bytes + size);
  return read;
}

/// Source: RFC 826
Frame read_arp(std::span<const std::byte> frame, const LocalEnd& local) noexcept {
  const auto bytes = frame.subspan(kEthernetBytes);
  if (bytes.size() < kArpBytes) return refused(RrCount::kMalformed);
  const bool ethernet_ipv4 =
      load_be32(bytes.data()) == 0x00010800U && load_be16(&bytes[4]) == 0x0604;
  if (!ethernet_ipv4) return refused(RrCount::kMalformed);
  if (!local.is_ipv4(&bytes[24])) return refused(RrCount::kNotForUs);
  if (load_be16(&bytes[6]) != 1) return refused(RrCount::kUnwanted);
  if (local.is_ipv4(&bytes[14]) || is_group(&bytes[8])) return refused(RrCount::kBadSource);
  return {.kind = FrameKind::kArp, .bytes = kEthernetBytes + kArpBytes};
}

/// Whether the frame came to our port's address, or to a group in which only neighbour discovery
/// and ARP are answered.
bool is_for_us(const std::byte* destination, std::uint16_t type, const LocalEnd& local) noexcept {
  if (std::memcmp(destination, local.mac.data(), local.mac.size()) == 0) return true;
  if (type == kTypeArp)
    return load_be16(destination) == 0xffffU && load_be32(destination + 2) == 0xffffffffU;
  return type == kTypeIpv6 && load_be16(destination) == 0x3333U;
}

bool is_wrapped(std::uint16_t type) noexcept {
  constexpr std::array<std::uint16_t, 6> kTags{0x8100, 0x88a8, 0x9100, 0x8847, 0x8848, 0x8864};
  return std::find(kTags.begin(), kTags.end(), type) != kTags.end();
}

}  // namespace

Frame read_frame(std::span<const std::byte> frame, std::uint64_t rx_flags,
                 const LocalEnd& local) noexcept {
  if (frame.size() < kEthernetBytes) return refused(RrCount::kMalformed);
  const std::uint16_t type = load_be16(&frame[12]);
  const bool stripped = (rx_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
  if (!is_for_us(frame.data(), type, local)) return refused(RrCount::kNotForUs);
  if (stripped || is_wrapped(type)) return refused(RrCount::kTagged);
  if (is_group(&frame[6])) return refused(RrCount::kBadSource);
  if (type == kTypeIpv4) return read_ipv4(frame, rx_flags, local);
  if (type == kTypeIpv6) return read_ipv6(frame, rx_flags, local);
  if (type == kTypeArp) return read_arp(frame, local);
  return refused(RrCount::kUnwanted);
}

}  // namespace mqsteer::rr
