#include "packet/bytes.h"
#include "packet/dissect_inl.h"
#include "packet/flow_key.h"
#include "packet/fragment.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace mqsteer {
namespace {

constexpr std::uint16_t kEtherArp = 0x0806;
constexpr std::uint16_t kEtherBridged = 0x6558;  // transparent Ethernet bridging, in GRE and Geneve
constexpr std::uint16_t kEtherQinq = 0x88a8;
constexpr std::uint16_t kEtherOldQinq = 0x9100;
constexpr std::uint16_t kEtherPause = 0x8808;
constexpr std::uint16_t kEtherSlow = 0x8809;  // LACP and its kin
constexpr std::uint16_t kEtherMpls = 0x8847;
constexpr std::uint16_t kEtherMplsMulticast = 0x8848;
constexpr std::uint16_t kEtherPppoe = 0x8864;
constexpr std::uint16_t kSmallestEtherType = 0x0600;  // below: an IEEE 802.3 length

constexpr std::uint8_t kProtoHopByHop = 0;
constexpr std::uint8_t kProtoIcmp = 1;
constexpr std::uint8_t kProtoIpip = 4;
constexpr std::uint8_t kProtoDccp = 33;
constexpr std::uint8_t kProtoIpv6 = 41;
constexpr std::uint8_t kProtoRouting = 43;
constexpr std::uint8_t kProtoFragment = 44;
constexpr std::uint8_t kProtoGre = 47;
constexpr std::uint8_t kProtoEsp = 50;
constexpr std::uint8_t kProtoAh = 51;
constexpr std::uint8_t kProtoIcmpv6 = 58;
constexpr std::uint8_t kProtoOptions = 60;
constexpr std::uint8_t kProtoOspf = 89;
constexpr std::uint8_t kProtoVrrp = 112;
constexpr std::uint8_t kProtoSctp = 132;
constexpr std::uint8_t kProtoUdpLite = 136;

constexpr unsigned kMaxTags = 8;        // VLAN tags and PPPoE headers before one IP header
constexpr unsigned kMaxLabels = 16;     // of one MPLS stack
constexpr unsigned kMaxExtensions = 8;  // IPv6 extension headers; also GTP-U's
constexpr unsigned kMaxTunnels = 4;     // tunnels in tunnels
constexpr std::size_t kNoMacs = SIZE_MAX;

/// One IP header, and where its payload stands.
struct IpHeader {
  AddressFamily family = AddressFamily::kIpv4;
  std::size_t at = 0;
  std::size_t addresses = 0;  ///< offset of the source; the destination follows
  std::size_t payload = 0;
  std::size_t end = 0;          ///< of what belongs to the packet and can be read
  std::size_t claimed_end = 0;  ///< of the packet by its own length; 0: it does not tell
  std::uint8_t protocol = 0;
  bool fragment = false;
  bool later_fragment = false;  ///< has no transport header
  bool cut = false;             ///< the payload cannot be reached
};

/// The pass over one packet. Each step says whether the key was made by it or by what is inside; a
/// tunnel's own key is made first and replaced where the inside can be read.
class Walk {
 public:
  Walk(const std::byte* data, std::size_t end, const KeyOptions& options)
      : data_{data}, end_{end}, options_{options} {}

  Dissection run() {
    if (!ethernet(0, end_)) runt();
    return result_;
  }

  /// run(), but the first fragment header is noted, and where it is a datagram's first, the walk
  /// goes on as if the datagram were whole.
  std::optional<Fragment> run_fragment() {
    noting_ = true;
    run();
    if (!fragment_) return std::nullopt;
    const bool cut = (result_.flags & kUnreadable) != 0 && result_.key.form == KeyForm::kProtocol;
    fragment_->flow = result_.key;
    fragment_->flow_known = fragment_->offset == 0 && !cut;
    return fragment_;
  }

 private:
  [[nodiscard]] std::uint8_t byte(std::size_t at) const {
    return static_cast<std::uint8_t>(data_[at]);
  }
  [[nodiscard]] std::uint16_t be16(std::size_t at) const { return load_be16(data_ + at); }
  [[nodiscard]] std::uint32_t be32(std::size_t at) const { return load_be32(data_ + at); }
  void flag(std::uint8_t flags) {
    result_.flags = static_cast<std::uint8_t>(result_.flags | flags);
  }
  bool unreadable() {
    flag(kUnreadable);
    return false;
  }

  void runt();
  bool ethernet(std::size_t at, std::size_t end);
  bool ether_type(std::uint16_t type, std::size_t at, std::size_t end, std::size_t macs);
  bool mpls(std::size_t at, std::size_t end);
  bool pppoe(std::size_t at, std::size_t end);
  bool layer2(std::uint16_t type, std::size_t macs);
  void layer2_control(std::uint16_t type, std::size_t macs, bool tagged);

  bool ip(std::size_t at, std::size_t end);
  bool ipv4(std::size_t at, std::size_t end);
  bool ipv6(std::size_t at, std::size_t end);
  void ipv6_extensions(IpHeader& ip);
  void note(IpHeader& ip, std::uint32_t id, unsigned offset, bool more);
  bool keyed(const IpHeader& ip);
  bool transport(const IpHeader& ip, PacketKind kind);
  bool with_word(const IpHeader& ip, PacketKind kind, std::size_t at);
  bool icmp(const IpHeader& ip);
  bool icmp_error(const IpHeader& ip);
  void control(const IpHeader& ip);

  void tunnel(const IpHeader& ip);
  bool gre(const IpHeader& ip);
  bool vxlan(std::size_t at, std::size_t end);
  bool geneve(std::size_t at, std::size_t end);
  bool gtp_u(std::size_t at, std::size_t end);

  void put(const IpHeader& ip, PacketKind kind, KeyForm form, std::uint32_t word);
  bool put_addresses(const IpHeader& ip, PacketKind kind = PacketKind::kIp) {
    put(ip, kind, KeyForm::kProtocol, 0);
    return true;
  }

  const std::byte* data_;
  std::size_t end_;
  KeyOptions options_;
  Dissection result_;
  unsigned tunnels_ = 0;
  bool quoted_ = false;
  bool noting_ = false;
  std::optional<Fragment> fragment_;
};

std::uint8_t short_offset(std::size_t at) {
  return at <= 0xff ? static_cast<std::uint8_t>(at) : std::uint8_t{0};
}

// ---- Layer 2

/// Too short for an Ethernet header: its addresses as far as they go.
void Walk::runt() {
  std::array<std::byte, 16> bytes{};
  std::copy_n(data_, std::min<std::size_t>(end_, 12), bytes.begin());
  Walk padded{bytes.data(), bytes.size(), options_};
  padded.layer2(0, 0);
  result_ = padded.result_;
  flag(kUnreadable);
}

bool Walk::ethernet(std::size_t at, std::size_t end) {
  if (at + 14 > end) return unreadable();
  return ether_type(be16(at + 12), at + 14, end, at);
}

/// macs: offset of the Ethernet header above, or kNoMacs where a tunnel carries no Ethernet.
bool Walk::ether_type(std::uint16_t type, std::size_t at, std::size_t end, std::size_t macs) {
  for (unsigned tags = 0;; ++tags) {
    const bool tag = type == kEtherVlan || type == kEtherQinq || type == kEtherOldQinq;
    if (!tag) {
      if (macs != kNoMacs) layer2_control(type, macs, tags > 0);
      break;
    }
    if (tags == kMaxTags || at + 4 > end) {
      return unreadable() || (tunnels_ == 0 && layer2(type, macs));
    }
    type = be16(at + 2);
    at += 4;
  }
  if (type == kEtherIpv4 && ipv4(at, end)) return true;
  if (type == kEtherIpv6 && ipv6(at, end)) return true;
  if ((type == kEtherMpls || type == kEtherMplsMulticast) && mpls(at, end)) return true;
  if (type == kEtherPppoe && pppoe(at, end)) return true;
  // An inner packet that cannot be read leaves the key to the tunnel.
  if (tunnels_ > 0 && (result_.flags & kUnreadable) != 0) return false;
  return layer2(type, macs);
}

void Walk::layer2_control(std::uint16_t type, std::size_t macs, bool tagged) {
  constexpr std::uint64_t kBridgeGroup = 0x0180c2000000U;
  const std::uint64_t destination = load_be64(data_ + macs) >> 16U;
  const bool bridge = type < kSmallestEtherType && destination == kBridgeGroup;
  if (type == kEtherArp || type == kEtherSlow || bridge) flag(kControlTraffic);
  // MAC control frames are never tagged; one that is, is a stranger's and does not pause this link.
  if (type == kEtherPause && !tagged && tunnels_ == 0) flag(kPauseFrame);
}

bool Walk::mpls(std::size_t at, std::size_t end) {
  for (unsigned labels = 0; labels < kMaxLabels && at + 4 <= end; ++labels, at += 4) {
    constexpr std::uint8_t kBottom = 1;
    if ((byte(at + 2) & kBottom) != 0) return at + 4 < end ? ip(at + 4, end) : unreadable();
  }
  return unreadable();
}

bool Walk::pppoe(std::size_t at, std::size_t end) {
  constexpr std::uint16_t kPppIpv4 = 0x0021;
  constexpr std::uint16_t kPppIpv6 = 0x0057;
  if (at + 8 > end) return unreadable();
  if (be16(at) != 0x1100) return false;  // version 1, type 1, code 0: session data
  // An odd first byte is the whole protocol: senders may compress the field (RFC 1661, 6.5).
  const bool one_byte = (byte(at + 6) & 1U) != 0;
  const std::uint16_t protocol = one_byte ? byte(at + 6) : be16(at + 6);
  at += one_byte ? 7 : 8;
  if (protocol == kPppIpv4) return ipv4(at, end);
  return protocol == kPppIpv6 && ipv6(at, end);
}

/// Addresses and EtherType. Frames with a length instead of a type are one flow whatever their
/// length is.
bool Walk::layer2(std::uint16_t type, std::size_t macs) {
  if (macs == kNoMacs) return false;
  std::uint64_t destination = load_be64(data_ + macs) >> 16U;
  std::uint64_t source = static_cast<std::uint64_t>(be32(macs + 6)) << 16U | be16(macs + 10);
  if (options_.symmetric ? destination < source : quoted_) std::swap(source, destination);
  FlowKey key;
  key.words[0] = static_cast<std::uint32_t>(source >> 16U);
  key.words[1] = static_cast<std::uint32_t>(source << 16U | destination >> 32U);
  key.words[2] = static_cast<std::uint32_t>(destination);
  key.words[3] = type < kSmallestEtherType ? 0U : type;
  result_.key = key;
  result_.l3 = 0;
  result_.l4 = 0;
  return true;
}

// ---- IP

/// By the version in the first byte, for carriers that do not say it.
bool Walk::ip(std::size_t at, std::size_t end) {
  if (at >= end) return unreadable();
  const unsigned version = byte(at) >> 4U;
  if (version == 4) return ipv4(at, end);
  return version == 6 && ipv6(at, end);
}

bool Walk::ipv4(std::size_t at, std::size_t end) {
  if (at + 20 > end || byte(at) >> 4U != 4) return unreadable();
  const std::size_t header = (byte(at) & 0xfU) * std::size_t{4};
  const std::size_t total = be16(at + 2);
  const std::uint16_t fragment = be16(at + 6);
  IpHeader ip{.family = AddressFamily::kIpv4, .at = at, .addresses = at + 12};
  ip.payload = at + header;
  // Total length 0: the sender's stack left it to segmentation offload.
  ip.end = total == 0 ? end : std::min(end, at + total);
  ip.claimed_end = total == 0 ? 0 : at + total;
  ip.protocol = byte(at + 9);
  ip.fragment = (fragment & 0x3fffU) != 0;
  ip.later_fragment = (fragment & 0x1fffU) != 0;
  ip.cut = header < 20 || ip.payload > ip.end;
  if (ip.fragment) {
    note(ip, be16(at + 4), (fragment & 0x1fffU) * 8U, (fragment & 0x2000U) != 0);
  }
  return keyed(ip);
}

bool Walk::ipv6(std::size_t at, std::size_t end) {
  if (at + 40 > end || byte(at) >> 4U != 6) return unreadable();
  const std::size_t length = be16(at + 4);
  IpHeader ip{.family = AddressFamily::kIpv6, .at = at, .addresses = at + 8};
  ip.payload = at + 40;
  // Payload length 0: a jumbogram.
  ip.end = length == 0 ? end : std::min(end, at + 40 + length);
  ip.claimed_end = length == 0 ? 0 : at + 40 + length;
  ip.protocol = byte(at + 6);
  ipv6_extensions(ip);
  return keyed(ip);
}

void Walk::ipv6_extensions(IpHeader& ip) {
  for (unsigned n = 0; n <= kMaxExtensions; ++n) {
    const bool fragment = ip.protocol == kProtoFragment;
    if (!fragment && ip.protocol != kProtoHopByHop && ip.protocol != kProtoRouting &&
        ip.protocol != kProtoOptions) {
      return;
    }
    if (n == kMaxExtensions || ip.payload + 8 > ip.end) break;
    ip.protocol = byte(ip.payload);
    const std::size_t size = fragment ? 8 : byte(ip.payload + 1) * std::size_t{8} + 8;
    const std::uint16_t offset = fragment ? be16(ip.payload + 2) : std::uint16_t{0};
    const std::uint32_t id = be32(ip.payload + 4);
    ip.payload += size;
    if ((offset & 0xfff9U) != 0) {  // an offset, or more to come: no atomic fragment
      ip.fragment = true;
      ip.later_fragment = (offset & 0xfff8U) != 0;
      note(ip, id, offset & 0xfff8U, (offset & 1U) != 0);
      if (ip.fragment) return;
    }
    if (ip.payload > ip.end) break;
  }
  ip.cut = true;
}

/// Keeps what a fragment header says, where that is asked for. A first fragment is taken for whole
/// from here on. offset: bytes
void Walk::note(IpHeader& ip, std::uint32_t id, unsigned offset, bool more) {
  if (!noting_ || quoted_ || fragment_) return;
  const bool v6 = ip.family == AddressFamily::kIpv6;
  fragment_.emplace(Fragment{
      .datagram = {.id = id, .protocol = v6 ? std::uint8_t{0} : ip.protocol, .family = ip.family},
      .offset = static_cast<std::uint16_t>(offset),
      .more = more});
  std::memcpy(fragment_->datagram.addresses.data(), data_ + ip.addresses, v6 ? 32 : 8);
  if (ip.claimed_end > ip.payload) {
    fragment_->bytes = static_cast<std::uint16_t>(ip.claimed_end - ip.payload);
  }
  if (offset == 0) ip.fragment = false;
}

/// The key of what this header carries, or of the header itself.
bool Walk::keyed(const IpHeader& ip) {
  if (!quoted_) control(ip);
  if (quoted_ ? ip.later_fragment : ip.fragment) return put_addresses(ip, PacketKind::kFragment);
  if (ip.cut) {
    flag(kUnreadable);
    return put_addresses(ip);
  }
  switch (ip.protocol) {
    case kProtoTcp:
      return transport(ip, PacketKind::kTcp);
    case kProtoUdp:
      return transport(ip, PacketKind::kUdp);
    case kProtoUdpLite:
      return transport(ip, PacketKind::kUdpLite);
    case kProtoSctp:
      return transport(ip, PacketKind::kSctp);
    case kProtoDccp:
      return transport(ip, PacketKind::kDccp);
    case kProtoEsp:
      return with_word(ip, PacketKind::kEsp, ip.payload);
    case kProtoAh:
      return with_word(ip, PacketKind::kAh, ip.payload + 4);
    case kProtoIcmp:
      return ip.family == AddressFamily::kIpv4 ? icmp(ip) : put_addresses(ip);
    case kProtoIcmpv6:
      return ip.family == AddressFamily::kIpv6 ? icmp(ip) : put_addresses(ip);
    case kProtoIpip:
    case kProtoIpv6:
    case kProtoGre:
      put_addresses(ip);
      tunnel(ip);
      return true;
    default:
      return put_addresses(ip);
  }
}

bool Walk::transport(const IpHeader& ip, PacketKind kind) {
  if (ip.payload + 4 > ip.end) {
    flag(kUnreadable);
    return put_addresses(ip);
  }
  put(ip, kind, KeyForm::kPorts, be32(ip.payload));
  if (kind == PacketKind::kUdp) tunnel(ip);
  return true;
}

/// ESP and AH: the SPI; none of it readable: addresses.
bool Walk::with_word(const IpHeader& ip, PacketKind kind, std::size_t at) {
  if (at + 4 > ip.end) {
    flag(kUnreadable);
    return put_addresses(ip);
  }
  put(ip, kind, KeyForm::kSpi, be32(at));
  return true;
}

/// Routing and neighbour protocols that must get through when a backlog is full.
void Walk::control(const IpHeader& ip) {
  bool found = ip.protocol == kProtoOspf || ip.protocol == kProtoVrrp;
  const bool reaches = !ip.later_fragment && !ip.cut;
  if (reaches && ip.protocol == kProtoIcmpv6 && ip.payload < ip.end) {
    found = byte(ip.payload) >= 133 && byte(ip.payload) <= 137;  // neighbour discovery
  } else if (reaches && ip.payload + 4 <= ip.end) {
    const std::uint16_t source = be16(ip.payload);
    const std::uint16_t port = be16(ip.payload + 2);
    if (ip.protocol == kProtoTcp) found = source == kPortBgp || port == kPortBgp;
    if (ip.protocol == kProtoUdp) {
      found = port == kPortBfd || port == kPortBfdEcho || port == kPortBfdMultihop ||
              port == kPortBfdLag;
    }
  }
  if (found) flag(kControlTraffic);
}

// ---- ICMP

bool Walk::icmp(const IpHeader& ip) {
  constexpr std::uint32_t kErrors4 = 1U << 3U | 1U << 4U | 1U << 5U | 1U << 11U | 1U << 12U;
  constexpr std::uint32_t kErrors6 = 1U << 1U | 1U << 2U | 1U << 3U | 1U << 4U;
  const bool v6 = ip.family == AddressFamily::kIpv6;
  if (ip.payload >= ip.end) {
    flag(kUnreadable);
    return put_addresses(ip);
  }
  const std::uint8_t type = byte(ip.payload);
  if (v6 ? type == 128 || type == 129 : type == 0 || type == 8) {
    if (ip.payload + 6 > ip.end) {
      flag(kUnreadable);
      return put_addresses(ip);
    }
    put(ip, PacketKind::kIcmpEcho, KeyForm::kEchoId, be16(ip.payload + 4));
    return true;
  }
  const bool error = type < 32 && ((v6 ? kErrors6 : kErrors4) >> type & 1U) != 0;
  if (error && !quoted_) return icmp_error(ip);
  return put_addresses(ip);
}

/// The key of the quoted flow, as of its packets in the error's own direction; where nothing of the
/// quote can be read, the error is any IP packet.
bool Walk::icmp_error(const IpHeader& ip) {
  put_addresses(ip);
  const std::size_t quote = ip.payload + 8;
  quoted_ = true;
  tunnels_ = kMaxTunnels - 1;  // one level of tunnel inside a quote
  const bool read = ip.family == AddressFamily::kIpv6 ? ipv6(quote, ip.end) : ipv4(quote, ip.end);
  if (read) result_.key.kind = PacketKind::kIcmpError;
  return true;
}

// ---- Tunnels

/// Replaces the tunnel's key by that of what it carries, where that can be read.
void Walk::tunnel(const IpHeader& ip) {
  if (options_.tunnels != TunnelKey::kInner || tunnels_ == kMaxTunnels) return;
  ++tunnels_;
  if (ip.protocol == kProtoIpip) {
    ipv4(ip.payload, ip.end);
  } else if (ip.protocol == kProtoIpv6) {
    ipv6(ip.payload, ip.end);
  } else if (ip.protocol == kProtoGre) {
    gre(ip);
  } else if (ip.payload + 8 <= ip.end) {
    const std::uint16_t port = be16(ip.payload + 2);
    const std::size_t inside = ip.payload + 8;
    if (port == kPortVxlan || port == kPortVxlanLinux) vxlan(inside, ip.end);
    if (port == kPortGeneve) geneve(inside, ip.end);
    if (port == kPortGtpU) gtp_u(inside, ip.end);
  }
}

/// Source: RFC 2784, 2890 (key, sequence number), 7637 (NVGRE)
bool Walk::gre(const IpHeader& ip) {
  constexpr std::uint16_t kChecksum = 0x8000;
  constexpr std::uint16_t kKey = 0x2000;
  constexpr std::uint16_t kSequence = 0x1000;
  constexpr std::uint16_t kRoutingOrVersion = 0x4007;
  if (ip.payload + 4 > ip.end) return unreadable();
  const std::uint16_t flags = be16(ip.payload);
  if ((flags & kRoutingOrVersion) != 0) return false;
  std::size_t at = ip.payload + 4;
  for (const std::uint16_t field : {kChecksum, kKey, kSequence}) {
    if ((flags & field) != 0) at += 4;
  }
  const std::uint16_t type = be16(ip.payload + 2);
  if (type == kEtherBridged) return ethernet(at, ip.end);
  return ether_type(type, at, ip.end, kNoMacs);
}

/// Source: RFC 7348
bool Walk::vxlan(std::size_t at, std::size_t end) {
  constexpr std::uint8_t kHasVni = 0x08;
  if (at + 8 > end) return unreadable();
  return (byte(at) & kHasVni) != 0 && ethernet(at + 8, end);
}

/// Source: RFC 8926
bool Walk::geneve(std::size_t at, std::size_t end) {
  if (at + 8 > end) return unreadable();
  const std::uint8_t start = byte(at);
  if (start >> 6U != 0) return false;  // a version we do not know
  const std::size_t inside = at + 8 + (start & 0x3fU) * std::size_t{4};
  const std::uint16_t type = be16(at + 2);
  if (type == kEtherBridged) return ethernet(inside, end);
  return ether_type(type, inside, end, kNoMacs);
}

/// Source: 3GPP TS 29.281, 5.1 and 5.2
bool Walk::gtp_u(std::size_t at, std::size_t end) {
  constexpr std::uint8_t kUserData = 0xff;
  constexpr std::uint8_t kAnyOption = 0x07;
  constexpr std::uint8_t kExtension = 0x04;
  if (at + 8 > end) return unreadable();
  const std::uint8_t flags = byte(at);
  if (flags >> 4U != 3 || byte(at + 1) != kUserData) return false;  // version 1, GTP, a T-PDU
  at += 8;
  if ((flags & kAnyOption) != 0) {
    if (at + 4 > end) return unreadable();
    std::uint8_t next = (flags & kExtension) != 0 ? byte(at + 3) : std::uint8_t{0};
    at += 4;
    for (unsigned n = 0; next != 0; ++n) {
      if (n == kMaxExtensions || at >= end || byte(at) == 0) return unreadable();
      const std::size_t size = byte(at) * std::size_t{4};
      if (at + size > end) return unreadable();
      next = byte(at + size - 1);
      at += size;
    }
  }
  return ip(at, end);
}

// ---- The key

void Walk::put(const IpHeader& ip, PacketKind kind, KeyForm form, std::uint32_t word) {
  FlowKey& key = result_.key;
  key = FlowKey{.protocol = ip.protocol, .family = ip.family, .form = form, .kind = kind};
  const bool ports = form == KeyForm::kPorts;
  const std::byte* at = data_ + ip.addresses;
  // The other direction's key where it is quoted: symmetric keys are the same either way.
  const bool reversed = quoted_ && !options_.symmetric;
  const std::uint32_t ends = !ports ? 0U : reversed ? (word << 16U | word >> 16U) : word;
  if (ip.family == AddressFamily::kIpv4) {
    const std::uint64_t addresses = load_be64(at);
    put_ipv4(key, reversed ? (addresses << 32U | addresses >> 32U) : addresses, ends,
             options_.symmetric);
    if (!ports) key.words[2] = word;
  } else {
    std::array<std::byte, 32> both{};
    std::copy_n(at, 16, both.begin() + (reversed ? 16 : 0));
    std::copy_n(at + 16, 16, both.begin() + (reversed ? 0 : 16));
    put_ipv6(key, both.data(), ends, options_.symmetric);
    if (!ports) key.words[8] = word;
  }
  result_.l3 = short_offset(ip.at);
  result_.l4 = ip.later_fragment || ip.cut || ip.payload >= ip.end ? std::uint8_t{0}
                                                                   : short_offset(ip.payload);
}

}  // namespace

Dissection dissect_any(const std::byte* data, std::size_t readable,
                       const KeyOptions& options) noexcept {
  return Walk{data, std::min(readable, kMaxDissectBytes), options}.run();
}

std::optional<Fragment> dissect_fragment(const std::byte* data, std::size_t readable,
                                         const KeyOptions& options) noexcept {
  return Walk{data, std::min(readable, kMaxDissectBytes), options}.run_fragment();
}

Dissection dissect(const std::byte* data, std::size_t readable, std::size_t frame_length,
                   const KeyOptions& options) noexcept {
  Dissection common;
  const std::size_t size = std::min(readable, frame_length);
  if (dissect_common(data, size, options.symmetric, common)) return common;
  return dissect_any(data, size, options);
}

}  // namespace mqsteer
