#pragma once

#include "packet/flow_key.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace mqsteer {

/// Which datagram a fragment is a part of: what a receiver puts together by. Tags and tunnels are
/// not part of it, as they are not part of a flow key.
///
/// addresses: source and destination in wire order; IPv4 uses the first word only
/// protocol: IPv4's; 0 for IPv6, whose fragments may each name another next header
/// Source: RFC 791, 3.2; RFC 8200, 4.5
struct Datagram {
  std::array<std::uint64_t, 4> addresses{};
  std::uint32_t id = 0;  ///< IPv4: 16 bits
  std::uint8_t protocol = 0;
  AddressFamily family = AddressFamily::kIpv4;

  friend bool operator==(const Datagram& a, const Datagram& b) noexcept = default;
};

/// One fragment, by what its header claims; nothing of it is checked against other fragments.
struct Fragment {
  Datagram datagram;
  std::uint16_t offset = 0;  ///< bytes
  std::uint16_t bytes = 0;   ///< of the datagram; 0 where the header does not tell
  bool more = false;         ///< not the last one
  /// The key that the datagram would have if it had come whole; where offset is 0 and known.
  FlowKey flow;
  /// Whether `flow` could be read: a first fragment that is cut within the headers hides it.
  bool flow_known = false;
};

/// Reads the fragment that a packet's key is made of: the outermost that dissect() gave the kind
/// kFragment for. Tunnels are looked through as there; a fragment within a fragment is not looked
/// for.
///
/// Parameters as for dissect(), and within the same bounds. thread: any
/// returns: nothing where dissect() finds another kind of packet
[[nodiscard]] std::optional<Fragment> dissect_fragment(const std::byte* data, std::size_t readable,
                                                       const KeyOptions& options) noexcept;

}  // namespace mqsteer
