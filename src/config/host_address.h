#pragma once

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mqsteer {

/// Whether a host can have the address on a network: it is no group, not unspecified, no loopback.
///
/// address: in the order of the wire, 4 bytes of IPv4 or 16 of IPv6
/// Source: RFC 1122, section 3.2.1.3; RFC 4291, section 2.4
[[nodiscard]] inline bool is_host_address(std::span<const std::uint8_t> address) noexcept {
  if (address.size() == 4) return address[0] != 0 && address[0] != 127 && address[0] < 224;
  const auto high = address.first(address.size() - 1);
  const bool high_zero = std::ranges::all_of(high, [](std::uint8_t byte) { return byte == 0; });
  return address[0] != 0xff && !(high_zero && address.back() <= 1);
}

/// Reads the address of a host. One for all who take one, so that what is checked is what is used.
///
/// kBytes: 4 of IPv4 or 16 of IPv6. address: written where there is no flaw, in the order of the
/// wire
/// returns: the flaw, to be put behind the text: `is not an IPv4 address`; "": none
template <std::size_t kBytes>
[[nodiscard]] std::string read_host_address(std::string_view text,
                                            std::array<std::uint8_t, kBytes>& address) {
  static_assert(kBytes == 4 || kBytes == 16);
  const std::string whole{text};
  std::array<std::uint8_t, kBytes> read{};
  const int family = kBytes == 4 ? AF_INET : AF_INET6;
  if (whole.find('\0') != std::string::npos ||
      ::inet_pton(family, whole.c_str(), read.data()) != 1) {
    return kBytes == 4 ? "is not an IPv4 address" : "is not an IPv6 address";
  }
  if (!is_host_address(read)) return "cannot be the address of a host";
  address = read;
  return {};
}

}  // namespace mqsteer
