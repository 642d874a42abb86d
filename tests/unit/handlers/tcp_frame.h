#pragma once

#include "support/packet_builder.h"

#include <arpa/inet.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mqsteer::test {

inline constexpr const char* kServer4 = "10.0.0.1";
inline constexpr const char* kServer6 = "2001:db8::1";
inline constexpr const char* kServerMac = "02:00:00:00:00:02";
inline constexpr const char* kClientMac = "02:00:00:00:00:01";

enum Flag : std::uint8_t { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };

/// A TCP segment as the tests write and read it; made and taken apart by code of their own.
struct Tcp {
  bool v6 = false;
  std::string client = "10.0.0.2";
  std::uint16_t client_port = 40000;
  std::uint16_t server_port = 7;
  unsigned flags = ACK;
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;
  std::uint16_t window = 0xffff;
  Bytes options = {};
  Bytes text = {};

  /// Sequence numbers that it takes.
  [[nodiscard]] std::uint32_t span() const {
    return static_cast<std::uint32_t>(text.size()) + ((flags & SYN) != 0 ? 1U : 0U) +
           ((flags & FIN) != 0 ? 1U : 0U);
  }
};

/// The header with options and the text, checksum 0.
inline Bytes tcp_bytes(const Tcp& tcp) {
  Bytes bytes;
  append16(bytes, tcp.client_port);
  append16(bytes, tcp.server_port);
  append32(bytes, tcp.seq);
  append32(bytes, tcp.ack);
  append16(bytes, static_cast<unsigned>((5 + tcp.options.size() / 4) << 12U | tcp.flags));
  append16(bytes, tcp.window);
  append32(bytes, 0);
  bytes.insert(bytes.end(), tcp.options.begin(), tcp.options.end());
  bytes.insert(bytes.end(), tcp.text.begin(), tcp.text.end());
  return bytes;
}

/// From the client to the server, by the packet builder, which computes the checksums bytewise.
inline Bytes frame_of(const Tcp& tcp) {
  Packet packet;
  packet.ethernet(kClientMac, kServerMac);
  // A layer of its own that is TCP for IP: the builder's tcp() with our bytes in place of its own.
  if (tcp.v6) {
    packet.ipv6(tcp.client, kServer6);
  } else {
    packet.ipv4(tcp.client, kServer4);
  }
  const Bytes bytes = tcp_bytes(tcp);
  packet.tcp(tcp.client_port, tcp.server_port).raw(Bytes(bytes.begin() + 20, bytes.end()));
  Bytes frame = packet.bytes();
  const std::size_t ip = tcp.v6 ? 40 : 20;
  const std::size_t at = 14 + ip;
  std::copy(bytes.begin(), bytes.begin() + 20, frame.begin() + static_cast<std::ptrdiff_t>(at));
  const auto addresses = std::span{frame}.subspan(tcp.v6 ? 22 : 26, tcp.v6 ? 32 : 8);
  std::uint32_t sum = checksum_add(6 + static_cast<std::uint32_t>(bytes.size()), addresses);
  put16(frame, at + 16, checksum_end(checksum_add(sum, bytes)));
  return frame;
}

inline std::uint16_t be16(std::span<const std::uint8_t> bytes, std::size_t at) {
  return static_cast<std::uint16_t>(bytes[at] << 8U | bytes[at + 1]);
}
inline std::uint32_t be32(std::span<const std::uint8_t> bytes, std::size_t at) {
  return std::uint32_t{be16(bytes, at)} << 16U | be16(bytes, at + 2);
}

/// An address in text. size: 4 or 16
inline std::string address_text(std::span<const std::uint8_t> bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text, sizeof text);
  return text;
}

/// A frame from the server. returns: nothing where it is no TCP, or any length, address, hop count
/// or checksum in it is wrong
inline std::optional<Tcp> read_tcp(std::span<const std::uint8_t> frame) {
  const Bytes macs = Packet{}.ethernet(kServerMac, kClientMac).bytes();
  if (frame.size() < 54 || !std::equal(macs.begin(), macs.begin() + 12, frame.begin())) return {};
  Tcp tcp;
  tcp.v6 = be16(frame, 12) == 0x86dd;
  const std::size_t ip_bytes = tcp.v6 ? 40 : 20;
  const auto ip = frame.subspan(14, ip_bytes);
  const auto bytes = frame.subspan(14 + ip_bytes);
  if (tcp.v6) {
    if (be32(ip, 0) != 0x60000000U || be16(ip, 4) != bytes.size() || ip[6] != 6 || ip[7] != 64)
      return {};
    if (address_text(ip.subspan(8, 16)) != kServer6) return {};
    tcp.client = address_text(ip.subspan(24, 16));
  } else {
    if (ip[0] != 0x45 || be16(ip, 2) != 20 + bytes.size() || ip[8] != 64 || ip[9] != 6) return {};
    if (checksum_end(checksum_add(0, ip)) != 0) return {};
    if (address_text(ip.subspan(12, 4)) != kServer4) return {};
    tcp.client = address_text(ip.subspan(16, 4));
  }
  const auto addresses = tcp.v6 ? ip.subspan(8, 32) : ip.subspan(12, 8);
  const auto sum = checksum_add(6 + static_cast<std::uint32_t>(bytes.size()), addresses);
  if (checksum_end(checksum_add(sum, bytes)) != 0) return {};
  tcp.server_port = be16(bytes, 0);
  tcp.client_port = be16(bytes, 2);
  tcp.seq = be32(bytes, 4);
  tcp.ack = be32(bytes, 8);
  tcp.flags = bytes[13];
  tcp.window = be16(bytes, 14);
  const std::size_t header = std::size_t{bytes[12]} / 16 * 4;
  if (header < 20 || header > bytes.size()) return {};
  tcp.options.assign(bytes.begin() + 20, bytes.begin() + static_cast<std::ptrdiff_t>(header));
  tcp.text.assign(bytes.begin() + static_cast<std::ptrdiff_t>(header), bytes.end());
  return tcp;
}

inline Bytes text_of(const std::string& text) {
  return {text.begin(), text.end()};
}

}  // namespace mqsteer::test
