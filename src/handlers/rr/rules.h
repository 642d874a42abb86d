#pragma once

#include "handlers/rr/connection.h"
#include "handlers/rr/siphash.h"
#include "handlers/rr/tcp.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace mqsteer::rr {

// What TCP says of one connection and one segment, as functions of nothing else.

/// The secret part of an initial sequence number; the clock's is to be added.
/// Source: RFC 6528, section 3
[[nodiscard]] inline Sequence first_sequence(const SipKey& key, const Peer& peer,
                                             std::uint16_t local_port) noexcept {
  const std::uint64_t ends =
      std::uint64_t{peer.port} << 17U | (peer.ipv6 ? 0x10000U : 0U) | std::uint64_t{local_port};
  const std::array<std::uint64_t, 3> words{peer.address[0], peer.address[1], ends};
  return static_cast<Sequence>(siphash(key, words));
}

/// The largest segment that a client takes; without the option, what every host takes. An absurdly
/// small one would make many packets of one: not below 64.
/// Source: RFC 9293, section 3.7.1
[[nodiscard]] inline std::uint16_t mss_of(const Segment& syn, std::uint16_t ours) noexcept {
  constexpr std::uint16_t kLeast = 64;
  const std::uint16_t fallback = syn.peer.ipv6 ? 1220 : 536;
  return std::clamp(syn.mss != 0 ? syn.mss : fallback, kLeast, ours);
}

/// Whether a segment touches the window of `room` bytes. What begins at the left edge is looked at
/// also when the window is closed: it may acknowledge. So may what takes nothing and begins at the
/// right edge: a client that has filled the window has nowhere else to send its ACKs from.
/// Source: RFC 9293, section 3.10.7.4; the right edge as Linux has it, RST apart (RFC 5961)
[[nodiscard]] inline bool is_acceptable(const Connection& c, const Segment& s,
                                        std::uint32_t room) noexcept {
  if (s.sequence == c.receive_next) return true;
  const auto inside = [&](Sequence at) { return at - c.receive_next < room; };
  if (inside(s.sequence)) return true;
  if (s.span() > 0) return inside(s.sequence + s.span() - 1);
  return s.sequence == c.receive_next + room && !s.has(kRst);
}

/// Whether a client that is where we think may say so: it acknowledges nothing that was never sent,
/// and nothing that is older than a window.
/// Source: RFC 5961, section 5.2
[[nodiscard]] inline bool has_plausible_ack(const Connection& c, const Segment& s) noexcept {
  constexpr std::uint32_t kMostWindow = 0xffff;  // that a client can have, unscaled
  const Sequence most = c.sent_to + (c.probed ? 1U : 0U);
  return !after(s.ack, most) && !before(s.ack, c.unacked - kMostWindow);
}

/// Whether a segment is meant to find out whether we are still there: of the byte before the next.
/// Source: RFC 9293, section 3.8.4
[[nodiscard]] inline bool keeps_alive(const Connection& c, const Segment& s) noexcept {
  return c.state != State::kSynReceived && s.has(kAck) && s.sequence + 1 == c.receive_next &&
         has_plausible_ack(c, s);
}

/// Whether a segment's window is the client's latest word, by its place in the client's own stream;
/// one that acknowledges something new is later than all before it, too.
/// Source: RFC 9293, section 3.10.7.4
[[nodiscard]] inline bool window_is_newer(const Connection& c, const Segment& s) noexcept {
  return before(c.window_sequence, s.sequence) ||
         (c.window_sequence == s.sequence && !after(c.window_ack, s.ack));
}

/// The next segment of a connection, from its `next` on.
struct Piece {
  std::uint16_t text_bytes = 0;
  bool fin = false;
  [[nodiscard]] std::uint32_t span() const noexcept { return text_bytes + (fin ? 1U : 0U); }
};

/// What may follow, where the client has a window of `window` bytes.
[[nodiscard]] inline Piece next_piece(const Connection& c, std::uint32_t window) noexcept {
  const std::uint32_t sent = c.next - c.unacked;
  if (sent > c.buffered) return {};  // FIN and all
  const std::uint32_t usable = window > sent ? window - sent : 0;
  const std::uint32_t bytes = std::min({c.buffered - sent, usable, std::uint32_t{c.peer_mss}});
  return {.text_bytes = static_cast<std::uint16_t>(bytes),
          .fin = c.client_is_done() && sent + bytes == c.buffered};
}

}  // namespace mqsteer::rr
