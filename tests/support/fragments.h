#pragma once

#include "support/packet_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mqsteer::test {

/// A datagram to be cut into fragments.
struct Cut {
  std::string source = "10.0.0.1";
  std::string destination = "10.0.0.2";
  unsigned source_port = 4000;
  unsigned destination_port = 53;
  std::uint16_t id = 7;
  std::size_t bytes = 400;  ///< UDP header and payload
  std::size_t each = 104;   ///< of a fragment, a multiple of 8
  int vlan = -1;            ///< tag of the fragments
};

inline bool is_v6(const Cut& cut) {
  return cut.source.find(':') != std::string::npos;
}

inline Packet below_ip(const Cut& cut) {
  Packet packet;
  packet.ethernet();
  if (cut.vlan >= 0) packet.vlan(static_cast<unsigned>(cut.vlan));
  return packet;
}

/// The UDP datagram in one packet.
inline Bytes whole(const Cut& cut) {
  Packet packet = below_ip(cut);
  if (is_v6(cut)) {
    packet.ipv6(cut.source, cut.destination);
  } else {
    packet.ipv4(cut.source, cut.destination);
  }
  return packet.udp(cut.source_port, cut.destination_port).payload(cut.bytes - 8, 0x5a).bytes();
}

/// The part [from, from + size) of what IP carries, as a fragment.
inline Bytes fragment(const Cut& cut, const Bytes& carried, std::size_t from, std::size_t size) {
  const std::size_t end = std::min(from + size, carried.size());
  const bool more = end < carried.size();
  const Bytes part{carried.begin() + static_cast<std::ptrdiff_t>(from),
                   carried.begin() + static_cast<std::ptrdiff_t>(end)};
  Packet packet = below_ip(cut);
  if (is_v6(cut)) {
    packet.ipv6(cut.source, cut.destination)
        .fragment6(static_cast<unsigned>(from), more, cut.id, 17);
  } else {
    packet.ipv4(cut.source, cut.destination,
                {.more_fragments = more,
                 .fragment_offset = static_cast<std::uint16_t>(from),
                 .id = cut.id,
                 .protocol = 17});
  }
  return packet.raw(part).bytes();
}

/// All fragments of the datagram, in order.
inline std::vector<Bytes> fragments(const Cut& cut) {
  const Bytes packet = whole(cut);
  const Bytes carried{packet.end() - static_cast<std::ptrdiff_t>(cut.bytes), packet.end()};
  std::vector<Bytes> all;
  for (std::size_t from = 0; from < carried.size(); from += cut.each) {
    all.push_back(fragment(cut, carried, from, cut.each));
  }
  return all;
}

/// The answer's direction.
inline Cut reversed(Cut cut) {
  std::swap(cut.source, cut.destination);
  std::swap(cut.source_port, cut.destination_port);
  return cut;
}

}  // namespace mqsteer::test
