#include "packet/flow_tuple.h"

#include "packet/bytes.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace mqsteer {
namespace {

struct Protocol {
  std::string_view name;
  std::uint8_t number;  // IANA "Protocol Numbers"
};
constexpr std::array kProtocols{Protocol{"tcp", 6}, Protocol{"udp", 17}, Protocol{"udplite", 136},
                                Protocol{"sctp", 132}, Protocol{"dccp", 33}};

Expected<FlowTuple::End> parse_end(std::string_view text, bool& ipv6) {
  constexpr const char* kAllowed = "; allowed: A.B.C.D:PORT or [IPV6]:PORT";
  const std::string quoted = "'" + std::string{text.substr(0, 64)} + "'";
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return fail(quoted + " has no port" + kAllowed);
  FlowTuple::End end;
  const std::string_view digits = text.substr(colon + 1);
  const char* const last = digits.data() + digits.size();
  const auto port = std::from_chars(digits.data(), last, end.port);
  if (digits.empty() || port.ec != std::errc{} || port.ptr != last) {
    return fail(quoted + " has no port of 0..65535" + kAllowed);
  }
  std::string address{text.substr(0, colon)};
  ipv6 = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (ipv6) address = address.substr(1, address.size() - 2);
  if (::inet_pton(ipv6 ? AF_INET6 : AF_INET, address.c_str(), end.address.data()) != 1) {
    return fail(quoted + " has no IPv4 address, and no IPv6 address in brackets" + kAllowed);
  }
  return end;
}

void put16(std::byte* at, std::uint16_t value) {
  at[0] = static_cast<std::byte>(value >> 8U);
  at[1] = static_cast<std::byte>(value & 0xffU);
}

void put(std::byte* at, std::span<const std::uint8_t> bytes) {
  std::ranges::transform(bytes, at, [](std::uint8_t b) { return static_cast<std::byte>(b); });
}

}  // namespace

Expected<FlowTuple> FlowTuple::parse(std::string_view protocol, std::string_view from,
                                     std::string_view to) {
  const auto known = std::ranges::find(kProtocols, protocol, &Protocol::name);
  if (known == kProtocols.end()) {
    return fail("'" + std::string{protocol.substr(0, 64)} +
                "' is not a protocol with ports; allowed: tcp, udp, udplite, sctp, dccp");
  }
  bool from_ipv6 = false;
  bool to_ipv6 = false;
  const auto source = parse_end(from, from_ipv6);
  if (!source) return tl::unexpected(source.error());
  const auto destination = parse_end(to, to_ipv6);
  if (!destination) return tl::unexpected(destination.error());
  if (from_ipv6 != to_ipv6)
    return fail("one end is IPv4 and the other IPv6; allowed: two of a kind");
  return FlowTuple{known->number, from_ipv6, *source, *destination};
}

std::string FlowTuple::text() const {
  const auto* known = std::ranges::find(kProtocols, protocol, &Protocol::number);
  const auto end_text = [this](const End& end) {
    std::array<char, INET6_ADDRSTRLEN> address{};
    ::inet_ntop(ipv6 ? AF_INET6 : AF_INET, end.address.data(), address.data(), address.size());
    const std::string name = ipv6 ? "[" + std::string{address.data()} + "]" : address.data();
    return name + ":" + std::to_string(end.port);
  };
  return std::string{known->name} + " " + end_text(from) + " " + end_text(to);
}

FlowHasher::Explained FlowTuple::explain(const FlowHasher& hasher) const noexcept {
  constexpr std::size_t kEther = 14;
  constexpr std::size_t kIpv4 = 20;
  constexpr std::size_t kIpv6 = 40;
  constexpr std::size_t kTransport = 20;  // enough of a header for any of the protocols
  std::array<std::byte, kEther + kIpv6 + kTransport> frame{};
  std::byte* const ip = frame.data() + kEther;
  put16(frame.data() + 12, ipv6 ? 0x86dd : 0x0800);
  const std::size_t header = ipv6 ? kIpv6 : kIpv4;
  if (ipv6) {
    ip[0] = std::byte{0x60};
    put16(ip + 4, kTransport);
    ip[6] = std::byte{protocol};
    ip[7] = std::byte{64};
    put(ip + 8, from.address);
    put(ip + 24, to.address);
  } else {
    ip[0] = std::byte{0x45};
    put16(ip + 2, kIpv4 + kTransport);
    ip[8] = std::byte{64};
    ip[9] = std::byte{protocol};
    put(ip + 12, std::span{from.address}.first(4));
    put(ip + 16, std::span{to.address}.first(4));
  }
  put16(ip + header, from.port);
  put16(ip + header + 2, to.port);
  ip[header + 12] = std::byte{0x50};  // TCP: a header of 20 bytes
  const std::size_t length = kEther + header + kTransport;
  return hasher.explain(frame.data(), length, length);
}

}  // namespace mqsteer
