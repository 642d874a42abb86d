#pragma once

#include "handlers/rr/carrier.h"
#include "handlers/rr/clock.h"
#include "handlers/rr/connection.h"
#include "handlers/rr/counters.h"
#include "handlers/rr/echo_store.h"
#include "handlers/rr/local_end.h"
#include "handlers/rr/rules.h"
#include "handlers/rr/write.h"

#include <mqsteer/packet_meta.h>

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>

namespace mqsteer::rr {

/// Makes the segments of a worker and gives them to the outbox: in the packet that they answer
/// where it can carry them, else in a fresh mbuf. Changes nothing of a connection but
/// what the client knows of its window.
///
/// Out: Outbox, or what a test puts in its place
template <class Out>
class Sender {
 public:
  Sender(const LocalEnd& local, const EchoStore& echoes, RrCounters& counters) noexcept
      : local_{local}, echoes_{echoes}, counters_{counters} {}

  /// outbox: until the next begin()
  void begin(Out& outbox) noexcept { out_ = &outbox; }
  [[nodiscard]] Out& outbox() noexcept { return *out_; }

  // All: returns false where there was no mbuf.

  [[nodiscard]] bool send_piece(Connection& c, const Piece& piece, Carrier& carrier) noexcept {
    Outgoing out = outgoing(c, piece.text_bytes != 0 ? kAck | kPsh : kAck);
    out.text_bytes = piece.text_bytes;
    if (piece.fin) out.flags |= kFin;
    return send(out, &c, carrier);
  }

  [[nodiscard]] bool send_syn_ack(Connection& c, Carrier& carrier) noexcept {
    Outgoing out = outgoing(c, kSyn | kAck);
    out.sequence = c.unacked;
    out.mss = local_.mss(c.peer.ipv6);
    return send(out, nullptr, carrier);
  }

  void send_ack(Connection& c, Carrier& carrier) noexcept {
    Outgoing out = outgoing(c, kAck);
    out.sequence = c.sent_to;
    if (!send(out, nullptr, carrier)) counters_.add(RrCount::kUnanswered);
  }

  void send_reset(Connection& c) noexcept {
    Outgoing out = outgoing(c, kRst | kAck);
    out.sequence = c.sent_to;
    Carrier none;
    if (send(out, nullptr, none)) counters_.add(RrCount::kResetsSent);
  }

  /// Source: RFC 9293, section 3.5.2
  void reset_in_answer(const Segment& s, Carrier& carrier) noexcept {
    Outgoing out{.peer = s.peer, .mac = s.mac, .flags = kRst, .local_port = s.local_port};
    if (s.has(kAck)) {
      out.sequence = s.ack;
    } else {
      out.flags |= kAck;
      out.ack = s.sequence + s.span();
    }
    const bool sent = send(out, nullptr, carrier);
    counters_.add(sent ? RrCount::kResetsSent : RrCount::kUnanswered);
  }

  /// What is left of the received packet.
  void finish(Carrier& carrier) noexcept {
    if (carrier.is_free()) out_->consume(carrier.packet());
  }

 private:
  [[nodiscard]] Outgoing outgoing(Connection& c, int flags) const noexcept {
    c.offered_to = c.receive_next + echoes_.room(c);
    return {.peer = c.peer,
            .mac = c.mac,
            .flags = static_cast<std::uint8_t>(flags),
            .sequence = c.next,
            .ack = c.receive_next,
            .window = echoes_.room(c),
            .local_port = local_.tcp_port};
  }

  /// Sends a segment in the received packet where it fits, else in a fresh mbuf.
  /// echo: whose text from its `next` on is sent; nullptr: none
  bool send(const Outgoing& out, const Connection* echo, Carrier& carrier) noexcept {
    const bool in_nic = out_->checksums_in_nic(local_.port);
    const bool in_place = carrier.holds(out.bytes());
    rte_mbuf* mbuf = in_place ? carrier.packet().mbuf : allocate(out.bytes());
    if (mbuf == nullptr) return false;
    if (echo != nullptr && out.text_bytes != 0) {
      const std::uint32_t offset = echo->next - echo->unacked;
      const bool stands = in_place && carrier.has_text(out.headers(), out.text_bytes) &&
                          offset + out.text_bytes == echo->buffered;
      auto* to = rte_pktmbuf_mtod_offset(mbuf, std::byte*, out.headers());
      if (!stands) echoes_.copy(*echo, offset, {to, out.text_bytes});
    }
    write_segment(*mbuf, out, local_, in_nic);
    if (in_place) {
      out_->transmit(local_.port, carrier.take());
    } else {
      out_->transmit_made(local_.port, mbuf);
    }
    return true;
  }

  [[nodiscard]] rte_mbuf* allocate(std::size_t bytes) noexcept {
    rte_mbuf* mbuf = out_->allocate();
    if (mbuf == nullptr) return nullptr;
    if (bytes <= rte_pktmbuf_tailroom(mbuf)) return mbuf;
    out_->free_made(mbuf);
    return nullptr;
  }

  const LocalEnd& local_;
  const EchoStore& echoes_;
  RrCounters& counters_;
  Out* out_ = nullptr;
};

}  // namespace mqsteer::rr
