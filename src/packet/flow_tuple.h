#pragma once

#include "packet/flow_hasher.h"

#include <mqsteer/error.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mqsteer {

/// A flow as people name it: `tcp 10.0.0.1:1234 10.0.0.2:80`, `udp [fd00::1]:53 [fd00::2]:5353`.
///
/// It becomes a key as any packet does: by way of the frame of its first packet and the dissector,
/// so what is said of a flow is what the data path does with it.
struct FlowTuple {
  std::uint8_t protocol = 6;  ///< IPv4 protocol, IPv6 next header
  bool ipv6 = false;
  struct End {
    std::array<std::uint8_t, 16> address{};  ///< network order; IPv4 in the first four
    std::uint16_t port = 0;                  ///< host order
    friend bool operator==(const End&, const End&) = default;
  };
  End from;
  End to;

  /// protocol: tcp, udp, udplite, sctp or dccp; ends: `A.B.C.D:PORT` or `[ADDRESS]:PORT`
  /// errors: one line with the part that is wrong and what is allowed
  static Expected<FlowTuple> parse(std::string_view protocol, std::string_view from,
                                   std::string_view to);

  /// As parse() reads it.
  [[nodiscard]] std::string text() const;
  /// What a hasher makes of the flow's packets from `from` to `to`.
  [[nodiscard]] FlowHasher::Explained explain(const FlowHasher& hasher) const noexcept;

  friend bool operator==(const FlowTuple&, const FlowTuple&) = default;
};

}  // namespace mqsteer
