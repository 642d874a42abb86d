#pragma once

#include "handlers/rr/bytes.h"
#include "handlers/rr/settings.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace mqsteer::rr {

/// Our own addresses, in the shape in which packets are compared with them. Address words are raw.
struct LocalEnd {
  explicit LocalEnd(const RrSettings& settings) noexcept
      : port{settings.port},
        mac{settings.mac},
        has_ipv4{settings.ipv4.has_value()},
        has_ipv6{settings.ipv6.has_value()},
        tcp_port{settings.tcp_port},
        mtu{settings.mtu} {
    if (has_ipv4) std::memcpy(&ipv4, settings.ipv4->data(), sizeof ipv4);
    if (has_ipv6) std::memcpy(ipv6.data(), settings.ipv6->data(), sizeof ipv6);
  }

  [[nodiscard]] bool is_ipv4(const std::byte* address) const noexcept {
    return has_ipv4 && load_raw<std::uint32_t>(address) == ipv4;
  }
  [[nodiscard]] bool is_ipv6(const std::byte* address) const noexcept {
    return has_ipv6 && std::memcmp(address, ipv6.data(), sizeof ipv6) == 0;
  }
  /// The largest segment that we take, and announce.
  [[nodiscard]] std::uint16_t mss(bool v6) const noexcept {
    return static_cast<std::uint16_t>(mtu - (v6 ? 60 : 40));
  }

  PortId port;
  MacAddress mac;
  bool has_ipv4;
  bool has_ipv6;
  std::uint16_t tcp_port;  ///< host order
  std::uint16_t mtu;
  std::uint32_t ipv4 = 0;
  std::array<std::uint64_t, 2> ipv6{};
};

}  // namespace mqsteer::rr
