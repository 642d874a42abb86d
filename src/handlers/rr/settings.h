#pragma once

#include <mqsteer/config.h>
#include <mqsteer/error.h>
#include <mqsteer/id.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace mqsteer {

/// In the order of the wire.
using MacAddress = std::array<std::uint8_t, 6>;
using Ipv4Address = std::array<std::uint8_t, 4>;
using Ipv6Address = std::array<std::uint8_t, 16>;

/// What the rr handler answers for, and how much it can hold.
struct RrSettings {
  PortId port;          ///< packets of other ports are counted and used up
  MacAddress mac = {};  ///< the port's own
  std::optional<Ipv4Address> ipv4 = {};
  std::optional<Ipv6Address> ipv6 = {};
  std::uint16_t tcp_port = 7;
  std::uint16_t mtu = 1500;              ///< of the port, in bytes without the Ethernet header
  std::uint32_t connections = 65536;     ///< that one worker can own, half-open ones included
  std::uint32_t work_ns = 0;             ///< extra work for every request; 0: none
  std::uint32_t first_timeout_ms = 200;  ///< until an echo is sent again; doubles each time
  std::uint32_t idle_timeout_s = 600;    ///< a connection this long without a segment is reset

  /// Bytes of echo that may wait for a connection, and so the window it offers, a power of two: a
  /// full segment whose echo is not acknowledged yet, and the next one, which brings that ACK.
  [[nodiscard]] std::uint32_t buffer_bytes() const noexcept {
    return std::bit_ceil(2U * (mtu < kLeastMtu ? kLeastMtu : std::uint32_t{mtu}));
  }
  /// Buffers of a worker, for echoes that do not fit into the connection itself. An eighth of the
  /// connections can wait with more than a few bytes at the same time; all of them when few.
  [[nodiscard]] std::uint32_t buffers() const noexcept {
    const std::uint32_t eighth = connections / 8;
    const std::uint32_t least = connections < kLeastBuffers ? connections : kLeastBuffers;
    return eighth < least ? least : eighth;
  }

  static constexpr std::uint32_t kLeastMtu = 1500;
  static constexpr std::uint32_t kLeastBuffers = 1024;
  static constexpr std::uint32_t kMaxConnections = 1U << 24U;
  static constexpr std::uint16_t kMinMtu = 1280;  ///< RFC 8200, section 5
  static constexpr std::uint16_t kMaxMtu = 16384;
  static constexpr std::uint32_t kMaxWorkNs = 1'000'000;
};

/// The settings of a configuration. Connections are per worker in both.
///
/// errors: an address that is none or that no host may have, no address, a figure out of range;
///         one line that names the key
[[nodiscard]] Expected<RrSettings> rr_settings(const RrConfig& config, PortId port,
                                               const MacAddress& mac, std::uint16_t mtu);

/// Bytes that the handler's tables and buffers take, all workers together.
[[nodiscard]] std::size_t rr_memory_bytes(const RrSettings& settings,
                                          std::uint16_t workers) noexcept;

}  // namespace mqsteer
