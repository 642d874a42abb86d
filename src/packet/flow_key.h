#pragma once

#include <mqsteer/config.h>
#include <mqsteer/packet_meta.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace mqsteer {

/// The most bytes of a packet that the dissector looks at. A bound of its own, so that a packet in
/// one segment and the same packet in many get the same key.
inline constexpr std::size_t kMaxDissectBytes = 512;

enum class AddressFamily : std::uint8_t { kMac, kIpv4, kIpv6 };

/// What a key has beside its two addresses.
enum class KeyForm : std::uint8_t { kEtherType, kPorts, kProtocol, kEchoId, kSpi };

/// How keys are made; the same for all packets of a steering table.
struct KeyOptions {
  bool symmetric = true;  ///< order the endpoints, so that both directions have one key
  TunnelKey tunnels = TunnelKey::kInner;
};

/// The identity of a flow (design: "The flow key"), in the shape in which it is hashed.
///
/// words: the Toeplitz input, each word the next four bytes of it in host order, zero behind its
///   end (zeros add nothing to a Toeplitz hash):
///     kIpv4  source, destination, then one word: (source port << 16 | destination port), id or SPI
///     kIpv6  four words each address, then that word
///     kMac   the twelve bytes of both addresses, then the EtherType (0: IEEE 802.3 length)
///   "Source" means the packet's, or the smaller endpoint, compared as (address, port), where the
///   key is symmetric. The key of an ICMP error is that of the flow it quotes.
/// protocol: IPv4 protocol or IPv6 next header; 0 for kMac
/// kind: of the packet, not part of the identity: an ICMP error is of the flow that it quotes
struct FlowKey {
  static constexpr std::size_t kWords = 9;
  std::array<std::uint32_t, kWords> words{};
  std::uint8_t protocol = 0;
  AddressFamily family = AddressFamily::kMac;
  KeyForm form = KeyForm::kEtherType;
  PacketKind kind = PacketKind::kL2;

  /// The words that this family uses; those behind them may be anything.
  [[nodiscard]] std::size_t word_count() const noexcept {
    if (family == AddressFamily::kIpv4) return 3;
    return family == AddressFamily::kIpv6 ? 9 : 4;
  }
  friend bool operator==(const FlowKey& a, const FlowKey& b) noexcept;
};

/// What is known of a packet after its headers were read once.
///
/// flags: kControlTraffic, kPauseFrame, kUnreadable
/// l3, l4: offsets in bytes of the headers that the key is made of; 0: there is none, it is a later
///   fragment's (l4), or it lies beyond 255
struct Dissection {
  FlowKey key;
  std::uint8_t flags = 0;
  std::uint8_t l3 = 0;
  std::uint8_t l4 = 0;
};

/// Reads a frame's headers, in one bounded pass over hostile bytes.
///
/// data: an Ethernet frame; only [data, data + min(readable, frame_length, kMaxDissectBytes)) is
/// read readable: contiguous bytes at data; less than frame_length where a capture cut the packet
/// frame_length: bytes of the frame on the wire, without FCS
/// An IPv6 fragment header with offset 0 and no more fragments (an "atomic" fragment, RFC 6946)
/// does not make a fragment: the packet is whole, and has its flow's key. thread: any
[[nodiscard]] Dissection dissect(const std::byte* data, std::size_t readable,
                                 std::size_t frame_length, const KeyOptions& options) noexcept;

/// dissect() without the short cut for common packets; the tests hold both against each other.
[[nodiscard]] Dissection dissect_any(const std::byte* data, std::size_t readable,
                                     const KeyOptions& options) noexcept;

/// The key as mqsim prints it: `A:p B:p`, `[A]:p [B]:p`, `A B protocol`, `A B id=N`, `A B spi=0xN`,
/// `MAC MAC type=0xN`.
[[nodiscard]] std::string to_text(const FlowKey& key);

/// `tcp`, `icmp-error`, ...: the names of mqsim and of all statistics.
[[nodiscard]] const char* name_of(PacketKind kind) noexcept;

inline constexpr std::size_t kPacketKinds = static_cast<std::size_t>(PacketKind::kL2) + 1;

}  // namespace mqsteer
