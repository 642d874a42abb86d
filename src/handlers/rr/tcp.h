#pragma once

#include "handlers/rr/settings.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace mqsteer::rr {

/// Bits of the TCP flags byte. Source: RFC 9293, section 3.1
enum TcpFlag : std::uint8_t {
  kFin = 0x01,
  kSyn = 0x02,
  kRst = 0x04,
  kPsh = 0x08,
  kAck = 0x10,
};

/// A point of the sequence space, which wraps; points less than 2^31 apart can be compared.
/// Source: RFC 9293, section 3.4
using Sequence = std::uint32_t;
[[nodiscard]] constexpr bool before(Sequence a, Sequence b) noexcept {
  return static_cast<std::int32_t>(a - b) < 0;
}
[[nodiscard]] constexpr bool after(Sequence a, Sequence b) noexcept {
  return before(b, a);
}

/// The client's end of a connection; ours is given by the settings.
struct Peer {
  std::array<std::uint64_t, 2> address{};  ///< as on the wire; IPv4: the first four bytes
  std::uint16_t port = 0;                  ///< host order
  bool ipv6 = false;
  friend bool operator==(const Peer&, const Peer&) = default;
};

inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kIpv4Bytes = 20;
inline constexpr std::size_t kIpv6Bytes = 40;
inline constexpr std::size_t kTcpBytes = 20;
inline constexpr std::size_t kMssOptionBytes = 4;

[[nodiscard]] constexpr std::size_t ip_bytes(bool ipv6) noexcept {
  return ipv6 ? kIpv6Bytes : kIpv4Bytes;
}
/// Bytes before the data of a segment without options.
[[nodiscard]] constexpr std::size_t header_bytes(bool ipv6) noexcept {
  return kEthernetBytes + ip_bytes(ipv6) + kTcpBytes;
}

/// A received TCP segment that was found whole and right.
struct Segment {
  Peer peer;
  MacAddress mac{};        ///< that sent it to us
  std::uint8_t flags = 0;  ///< TcpFlag bits
  Sequence sequence = 0;
  Sequence ack = 0;
  std::uint16_t window = 0;
  std::uint16_t mss = 0;      ///< of the option; 0: none. Read for SYN only
  std::uint16_t text_at = 0;  ///< where the data begins, in bytes of the frame
  std::uint16_t text_bytes = 0;
  std::uint16_t local_port = 0;

  [[nodiscard]] bool has(TcpFlag flag) const noexcept { return (flags & flag) != 0; }
  /// Whether it asks for a new connection.
  [[nodiscard]] bool opens() const noexcept { return has(kSyn) && !has(kAck); }
  /// Sequence numbers that it takes.
  [[nodiscard]] std::uint32_t span() const noexcept {
    return std::uint32_t{text_bytes} + (has(kSyn) ? 1U : 0U) + (has(kFin) ? 1U : 0U);
  }
};

}  // namespace mqsteer::rr
