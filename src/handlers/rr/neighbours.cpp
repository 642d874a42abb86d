#include "handlers/rr/neighbours.h"

#include "handlers/rr/bytes.h"
#include "handlers/rr/checksum.h"
#include "packet/bytes.h"

#include <array>
#include <cstring>

namespace mqsteer::rr {
namespace {

constexpr std::uint8_t kHops = 64;

/// Back to who sent it, from our own address also where it was sent to a group.
void turn_ethernet(std::byte* bytes, const LocalEnd& local) noexcept {
  std::memcpy(bytes, bytes + 6, local.mac.size());
  std::memcpy(bytes + 6, local.mac.data(), local.mac.size());
}

std::size_t answer_arp(std::byte* bytes, const LocalEnd& local) noexcept {
  turn_ethernet(bytes, local);
  std::byte* arp = bytes + kEthernetBytes;
  store_be16(arp + 6, 2);
  std::memcpy(arp + 18, arp + 8, 10);  // the asker's addresses become the target's
  std::memcpy(arp + 8, local.mac.data(), local.mac.size());
  store_raw(arp + 14, local.ipv4);
  return kEthernetBytes + 28;
}

/// Changes one 16-bit field of what an internet checksum is over. Source: RFC 1624, equation 3
void change_field(std::byte* checksum, std::byte* field, std::uint16_t value) noexcept {
  std::uint32_t sum = static_cast<std::uint16_t>(~load_raw<std::uint16_t>(checksum));
  sum += static_cast<std::uint16_t>(~load_raw<std::uint16_t>(field));
  store_be16(field, value);
  sum += load_raw<std::uint16_t>(field);
  sum = (sum & 0xffffU) + (sum >> 16U);
  sum = (sum & 0xffffU) + (sum >> 16U);
  store_raw(checksum, static_cast<std::uint16_t>(~sum));
}

std::size_t answer_echo4(const Frame& frame, std::byte* bytes, const LocalEnd& local) noexcept {
  turn_ethernet(bytes, local);
  std::byte* ip = bytes + kEthernetBytes;
  store_raw(ip + 16, load_raw<std::uint32_t>(ip + 12));
  store_raw(ip + 12, local.ipv4);
  ip[8] = std::byte{kHops};
  store_raw(ip + 10, std::uint16_t{0});
  Checksum sum;
  sum.add(ip, kIpv4Bytes);
  store_raw(ip + 10, sum.value());
  std::byte* icmp = ip + kIpv4Bytes;
  change_field(icmp + 2, icmp, 0);
  return frame.bytes;
}

std::size_t answer_echo6(const Frame& frame, std::byte* bytes, const LocalEnd& local) noexcept {
  turn_ethernet(bytes, local);
  std::byte* ip = bytes + kEthernetBytes;
  std::memcpy(ip + 24, ip + 8, 16);
  std::memcpy(ip + 8, local.ipv6.data(), 16);
  ip[7] = std::byte{kHops};
  std::byte* icmp = ip + kIpv6Bytes;
  change_field(icmp + 2, icmp, 0x8100);  // the addresses were exchanged: their sum is the same
  return frame.bytes;
}

/// Source: RFC 4861, sections 4.4 and 7.2.4
std::size_t answer_solicitation(std::byte* bytes, const LocalEnd& local) noexcept {
  constexpr std::array<std::uint8_t, 16> kAllNodes{0xff, 2, 0, 0, 0, 0, 0, 0,
                                                   0,    0, 0, 0, 0, 0, 0, 1};
  constexpr std::array<std::uint8_t, 6> kAllNodesMac{0x33, 0x33, 0, 0, 0, 1};
  constexpr std::array<std::uint8_t, 16> kUnspecified{};
  constexpr std::uint16_t kSize = 32;
  std::byte* ip = bytes + kEthernetBytes;
  std::byte* icmp = ip + kIpv6Bytes;
  turn_ethernet(bytes, local);
  const bool asked_by_nobody = std::memcmp(ip + 8, kUnspecified.data(), 16) == 0;
  if (asked_by_nobody) {  // duplicate address detection: all shall hear that it is taken
    std::memcpy(bytes, kAllNodesMac.data(), kAllNodesMac.size());
    std::memcpy(ip + 24, kAllNodes.data(), 16);
  } else {
    std::memcpy(ip + 24, ip + 8, 16);
  }
  std::memcpy(ip + 8, local.ipv6.data(), 16);
  store_be32(ip, 0x60000000U);
  store_be16(ip + 4, kSize);
  ip[7] = std::byte{255};
  store_be32(icmp, 0x88000000U);
  store_be32(icmp + 4, asked_by_nobody ? 0x20000000U : 0x60000000U);  // (solicited,) override
  store_be16(icmp + 24, 0x0201);  // target link-layer address, one unit of 8 bytes
  std::memcpy(icmp + 26, local.mac.data(), local.mac.size());
  Checksum sum;
  sum.add(ip + 8, 32);
  sum.add_field(kSize);
  sum.add_field(58);
  sum.add(icmp, kSize);
  store_raw(icmp + 2, sum.value());
  return kEthernetBytes + kIpv6Bytes + kSize;
}

}  // namespace

std::size_t answer_in_place(const Frame& frame, std::byte* bytes, const LocalEnd& local) noexcept {
  switch (frame.kind) {
    case FrameKind::kArp:
      return answer_arp(bytes, local);
    case FrameKind::kEcho4:
      return answer_echo4(frame, bytes, local);
    case FrameKind::kEcho6:
      return answer_echo6(frame, bytes, local);
    case FrameKind::kNeighbour:
      return answer_solicitation(bytes, local);
    case FrameKind::kRefused:
    case FrameKind::kTcp:
      break;
  }
  return 0;
}

}  // namespace mqsteer::rr
