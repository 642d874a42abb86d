#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

struct rte_mbuf;

namespace mqsteer {

/// What a packet's flow key was made of (design: "The flow key").
enum class PacketKind : std::uint8_t {
  kTcp,
  kUdp,
  kUdpLite,
  kSctp,
  kDccp,
  kFragment,   ///< addresses and protocol
  kIcmpError,  ///< the flow that the error quotes
  kIcmpEcho,   ///< addresses and id
  kEsp,        ///< addresses and SPI
  kAh,         ///< addresses and SPI
  kIp,         ///< any other IP: addresses and protocol
  kL2,         ///< not IP: MAC addresses and EtherType
};

/// Bits of PacketMeta::flags.
enum PacketFlag : std::uint8_t {
  /// The mbuf is direct, single-segment, refcount 1 and of its RX lcore's own pool, so that a
  /// worker can send it back over the return ring without looking at it.
  kRecyclable = 1U << 0U,
  /// BFD, OSPF, BGP, LACP, STP, ARP, ND, VRRP: may use the last sixteenth of a backlog.
  kControlTraffic = 1U << 1U,
  /// An IEEE 802.3x pause or priority flow control frame (EtherType 0x8808): never bridged.
  kPauseFrame = 1U << 2U,
  /// Cut short or malformed: the key is made of what could be read.
  kUnreadable = 1U << 3U,
  /// The mbuf has more than one segment.
  kSegmented = 1U << 4U,
  /// rfs: this worker is where the flow was consumed last, as the RX lcore saw it. It saves the
  /// worker two look-ups: who owns the flow, and whether that is known.
  kAtConsumer = 1U << 5U,
};

/// What the RX lcore knows of a packet; travels beside it so that a worker need not touch the mbuf
/// before it must (facts: hot path).
struct PacketMeta {
  rte_mbuf* mbuf = nullptr;
  std::uint32_t hash = 0;    ///< flow hash, host order; 0 is a hash like any other
  std::uint16_t length = 0;  ///< bytes in the frame, all segments, without FCS; saturates at 65535
  std::uint16_t queue = 0;   ///< RX queue
  std::uint16_t port = 0;    ///< RX port
  PacketKind kind = PacketKind::kL2;
  std::uint8_t flags = 0;  ///< PacketFlag bits
  std::uint8_t l3 = 0;     ///< offset of the keyed IP header in bytes; 0: none, or beyond 255
  std::uint8_t l4 = 0;     ///< offset of the keyed L4 header in bytes; 0: none, or beyond 255
  std::uint8_t header_bytes = 0;  ///< valid bytes in the packet's HeaderLine, at most 64
  std::uint8_t source = 0;  ///< whose pool the mbuf is of: the number of its RX lcore among the RX
                            ///< lcores, which is the outbox's source at every worker
};
static_assert(sizeof(PacketMeta) == 24, "eight slots are three cache lines");

/// The first bytes of a packet, copied by the RX lcore for handlers that read only headers.
struct alignas(64) HeaderLine {
  std::array<std::byte, 64> bytes;
};
static_assert(sizeof(HeaderLine) == 64);

/// Some packets of one backlog, in order. headers: as many lines as packets, or nullptr where the
/// handler does not ask for them (Handler::kReadsHeaders).
struct PacketBurst {
  std::span<const PacketMeta> packets;
  const HeaderLine* headers = nullptr;
};

/// The most packets a receive or a handler call deals with at once.
inline constexpr std::size_t kMaxBurst = 64;

}  // namespace mqsteer
