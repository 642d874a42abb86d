#pragma once

#include "handlers/rr/clock.h"
#include "handlers/rr/tcp.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace mqsteer::rr {

/// Of RFC 9293's states those that a server can be in that never closes first.
enum class State : std::uint8_t {
  kFree,
  kSynReceived,
  kEstablished,
  kCloseWait,  ///< the client has sent its FIN, and there is echo that it must get first
  kLastAck,    ///< our FIN is out
};

/// What the deadline of a connection is for.
enum class Timer : std::uint8_t {
  kNone,
  kSynAck,
  kRetransmit,
  kPersist,  ///< the client's window is closed, and there is echo or our FIN for it
};

/// One connection, in two cache lines.
///
///   unacked <= next <= sent_to          send sequence: RFC 9293's SND.UNA, SND.NXT, and the
///   furthest
///                                       that was ever sent; next goes back for a retransmission
///   [unacked, unacked + buffered)       the echo that is kept, sent or not
///   [receive_next, receive_next + room) what the client may send
struct alignas(64) Connection {
  static constexpr std::uint32_t kNoBuffer = 0xffffffff;
  static constexpr std::uint16_t kInlineBytes = 32;

  Peer peer;
  std::uint32_t chain = 0;  ///< the next one of its bucket, or of the free ones; 0: none, else + 1
  Sequence receive_next = 0;
  Sequence unacked = 0;
  Sequence next = 0;
  Sequence sent_to = 0;
  std::uint16_t buffered = 0;
  std::uint16_t peer_window = 0;  ///< from unacked on
  std::uint16_t peer_mss = 0;
  State state = State::kFree;
  Timer timer = Timer::kNone;
  // --- mostly in the second line -----------------------------------------------------------------
  Tick deadline = 0;                 ///< of the timer
  Tick last_heard = 0;               ///< of a segment inside the window, or one that keeps alive
  Tick challenged = 0;               ///< when the last challenge ACK was sent
  Sequence offered_to = 0;           ///< the right edge of the window as the client knows it
  Sequence window_sequence = 0;      ///< SND.WL1
  Sequence window_ack = 0;           ///< SND.WL2
  std::uint32_t hash = 0;            ///< flow hash at the SYN: its entry in the owner table
  std::uint32_t buffer = kNoBuffer;  ///< where the echo is; kNoBuffer: in inline_bytes
  std::uint16_t buffer_at = 0;       ///< where in the buffer the echo begins; it wraps there
  std::uint8_t retries = 0;          ///< of this kind of timer, since the client last acknowledged
  bool timed : 1 = false;            ///< has an entry in the timer queue, which outlives it
  bool probed : 1 = false;           ///< one byte behind sent_to was sent as a window probe
  bool was_challenged : 1 = false;
  MacAddress mac{};  ///< of the client, or of the router before it
  std::array<std::byte, kInlineBytes> inline_bytes{};

  [[nodiscard]] Sequence end() const noexcept { return unacked + buffered; }
  [[nodiscard]] bool client_is_done() const noexcept {
    return state == State::kCloseWait || state == State::kLastAck;
  }
};
static_assert(sizeof(Connection) == 128, "two cache lines");

}  // namespace mqsteer::rr
