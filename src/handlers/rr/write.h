#pragma once

#include "handlers/rr/checksum.h"
#include "handlers/rr/local_end.h"
#include "handlers/rr/tcp.h"

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mqsteer::rr {

/// What a segment of ours says.
struct Outgoing {
  Peer peer;
  MacAddress mac{};
  std::uint8_t flags = 0;
  Sequence sequence = 0;
  Sequence ack = 0;
  std::uint16_t window = 0;
  std::uint16_t mss = 0;  ///< of the option; 0: without it
  std::uint16_t local_port = 0;
  std::uint16_t text_bytes = 0;  ///< they stand behind the headers already

  [[nodiscard]] std::size_t headers() const noexcept {
    return header_bytes(peer.ipv6) + (mss != 0 ? kMssOptionBytes : 0);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return headers() + text_bytes; }
};

/// Writes the IP header without its checksum; the pseudo header is added to `pseudo`.
inline void write_ip(std::byte* ip, const Outgoing& out, const LocalEnd& local,
                     Checksum& pseudo) noexcept {
  const auto size = static_cast<std::uint16_t>(out.bytes() - kEthernetBytes);
  if (out.peer.ipv6) {
    store_be32(ip, 0x60000000U);
    store_be16(ip + 4, static_cast<std::uint16_t>(size - kIpv6Bytes));
    store_be16(ip + 6, 0x0640);  // TCP, 64 hops
    store_raw(ip + 8, local.ipv6);
    store_raw(ip + 24, out.peer.address);
    pseudo.add(ip + 8, 32);
  } else {
    store_be32(ip, 0x45000000U | size);
    store_be32(ip + 4, 0x00004000U);  // id 0 with don't fragment: RFC 6864, section 4.1
    store_be32(ip + 8, 0x40060000U);  // 64 hops, TCP, checksum
    store_raw(ip + 12, local.ipv4);
    std::memcpy(ip + 16, out.peer.address.data(), 4);
    pseudo.add(ip + 12, 8);
  }
  pseudo.add_field(6);
  pseudo.add_field(static_cast<std::uint16_t>(size - ip_bytes(out.peer.ipv6)));
}

/// Writes the TCP header, with 0 for its checksum.
inline void write_tcp(std::byte* tcp, const Outgoing& out) noexcept {
  const unsigned words = out.mss != 0 ? 6 : 5;
  store_be16(tcp, out.local_port);
  store_be16(tcp + 2, out.peer.port);
  store_be32(tcp + 4, out.sequence);
  store_be32(tcp + 8, out.ack);
  store_be32(tcp + 12, words << 28U | std::uint32_t{out.flags} << 16U | out.window);
  store_be32(tcp + 16, 0);
  if (out.mss != 0) store_be32(tcp + 20, 0x02040000U | out.mss);
}

/// The flags that DPDK gives out by name, such as the order check's: they are of the packet, not of
/// its bytes, so an answer keeps them.
inline constexpr std::uint64_t kNamedFlags = (RTE_MBUF_F_LAST_FREE << 1U) - RTE_MBUF_F_FIRST_FREE;

/// The mbuf is a frame of so many bytes now, to be sent as it stands.
inline void reset_for_tx(rte_mbuf& mbuf, std::size_t bytes) noexcept {
  mbuf.data_len = static_cast<std::uint16_t>(bytes);
  mbuf.pkt_len = mbuf.data_len;
  mbuf.packet_type = 0;
  mbuf.ol_flags &= kNamedFlags;
  mbuf.tx_offload = 0;
}

/// Makes the mbuf's frame the segment; its text stands behind where the headers go. Everything of
/// the mbuf's former life that TX would look at is overwritten.
///
/// mbuf: one segment with room for out.bytes() from its data on
/// in_nic: the port computes the checksums of IPv4 and TCP
inline void write_segment(rte_mbuf& mbuf, const Outgoing& out, const LocalEnd& local,
                          bool in_nic) noexcept {
  auto* bytes = rte_pktmbuf_mtod(&mbuf, std::byte*);
  std::byte* ip = bytes + kEthernetBytes;
  std::byte* tcp = ip + ip_bytes(out.peer.ipv6);
  store_raw(bytes, out.mac);
  store_raw(bytes + 6, local.mac);
  store_be16(bytes + 12, out.peer.ipv6 ? 0x86dd : 0x0800);
  Checksum sum;
  write_ip(ip, out, local, sum);
  write_tcp(tcp, out);
  reset_for_tx(mbuf, out.bytes());
  if (in_nic) {
    store_raw(tcp + 16, sum.folded());
    mbuf.ol_flags |=
        RTE_MBUF_F_TX_TCP_CKSUM |
        (out.peer.ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM);
    mbuf.l2_len = kEthernetBytes;
    mbuf.l3_len = ip_bytes(out.peer.ipv6) & 0x1ffU;
    return;
  }
  sum.add(tcp, out.bytes() - kEthernetBytes - ip_bytes(out.peer.ipv6));
  store_raw(tcp + 16, sum.value());
  if (out.peer.ipv6) return;
  Checksum header;
  header.add(ip, kIpv4Bytes);
  store_raw(ip + 10, header.value());
}

}  // namespace mqsteer::rr
