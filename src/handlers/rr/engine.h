#pragma once

#include "handlers/rr/carrier.h"
#include "handlers/rr/connection_table.h"
#include "handlers/rr/echo_store.h"
#include "handlers/rr/extra_work.h"
#include "handlers/rr/half_open.h"
#include "handlers/rr/rules.h"
#include "handlers/rr/sender.h"
#include "handlers/rr/shared.h"
#include "handlers/rr/timer_queue.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

namespace mqsteer::rr {

/// The TCP of one worker: a server that only listens and echoes.
///
/// RFC 9293 without what such an endpoint does not need: no active open, no close of its own, no
/// urgent data, no reassembly (a segment ahead of its turn is sent again by the client), no
/// congestion control (at most one window of a few KiB is ever under way), no option but MSS.
///
/// Every packet that is given to it has left by the outbox when a call returns: as the answer to
/// itself, or used up. thread: the worker's lcore
///
/// Out: Outbox, or what a test puts in its place
template <class Out>
class Engine {
 public:
  static constexpr std::uint64_t kSynAckTimeoutMs = 1000;
  static constexpr std::uint64_t kMostTimeoutMs = 60'000;
  static constexpr std::uint8_t kMostRetries = 8;        ///< 102 s in all
  static constexpr std::uint8_t kMostSynAckRetries = 4;  ///< 31 s in all
  static constexpr std::uint64_t kTimerWaitMs = 50;      ///< how late a timer may be (TimerQueue)
  static constexpr std::uint64_t kChallengeMs = 200;
  /// A half-open connection keeps its place for as long, whoever else wants it: a client that is
  /// near answers sooner. A flood keeps others out only with more SYNs than there are places in it.
  static constexpr std::uint64_t kHalfOpenGraceMs = 20;

  Engine(RrShared& shared, WorkerId worker, std::pmr::memory_resource& memory)
      : shared_{shared},
        local_{shared.local()},
        counters_{shared.own_counters(worker)},
        worker_{worker},
        table_{shared.settings().connections, shared.keys().connections, memory},
        half_open_{table_},
        echoes_{shared.settings().buffers(), shared.settings().buffer_bytes(), memory},
        sender_{local_, echoes_, counters_},
        timers_{shared.settings().connections, timer_waits(shared), memory},
        work_{shared.work_steps()},
        idle_ticks_{shared.clock().ticks(std::uint64_t{shared.settings().idle_timeout_s} * 1000)} {}

  /// The packets and timers to come are of this moment. outbox: until the next begin()
  void begin(Out& outbox, TscCycles now) noexcept {
    sender_.begin(outbox);
    tsc_ = now;
    now_ = shared_.clock().at(now);
  }

  [[nodiscard]] ConnectionTable& table() noexcept { return table_; }
  [[nodiscard]] const EchoStore& echoes() const noexcept { return echoes_; }
  [[nodiscard]] const ExtraWork& work() const noexcept { return work_; }

  /// A segment of a connection. hash: the flow's, as steered
  void receive(Connection& connection, const Segment& segment, const PacketMeta& packet) noexcept {
    Carrier carrier{packet};
    take(connection, segment, carrier);
    sender_.finish(carrier);
  }

  /// A SYN of a client that there is no connection of. The flow must have been claimed for us.
  /// Where all connections are in use, the oldest half-open one gives way.
  /// returns: false where there is no room for it; the packet is still yours, and the claim
  bool open(const Segment& syn, std::uint32_t bucket, const PacketMeta& packet) noexcept {
    Connection* made = table_.add(syn.peer, bucket);
    if (made == nullptr && make_room()) made = table_.add(syn.peer, bucket);
    if (made == nullptr) return false;
    made->hash = packet.hash;
    made->state = State::kSynReceived;
    Carrier carrier{packet};
    listen(*made, syn, carrier);
    counters_.set_connections(table_.size());
    sender_.finish(carrier);
    return true;
  }

  /// Answers a segment of no connection with RST, but for RST itself.
  /// Source: RFC 9293, section 3.10.7.1
  void refuse(const Segment& segment, const PacketMeta& packet) noexcept {
    Carrier carrier{packet};
    if (segment.has(kRst)) {
      counters_.add(RrCount::kResetsIgnored);
    } else {
      sender_.reset_in_answer(segment, carrier);
    }
    sender_.finish(carrier);
  }

  /// What is due by now; a bounded number of connections. Call about once a millisecond.
  void run_timers() noexcept {
    timers_.run(table_, now_, [this](Connection& each) {
      if (each.state == State::kFree || each.timer == Timer::kNone) return;
      if (is_due(each.deadline, now_)) {
        fire(each);
      } else {
        timers_.ask(each, table_.index_of(each), now_);
      }
    });
    sweep();
  }

 private:
  /// No timer is shorter than the first one of an echo.
  [[nodiscard]] static TimerQueue::Waits timer_waits(const RrShared& shared) noexcept {
    const std::uint64_t shortest = shared.settings().first_timeout_ms;
    const std::uint64_t others = std::max(shortest, 2 * kTimerWaitMs) - kTimerWaitMs;
    return {.due_soon = shared.clock().ticks(kTimerWaitMs), .others = shared.clock().ticks(others)};
  }

  static constexpr std::uint32_t kSweptATick = 64;  ///< a million connections in 16 s
  static constexpr int kMostSegments = 8;           ///< sent for one that was received
  static constexpr std::uint32_t kTimedWork = 64;   ///< one of so many is timed

  // --- receiving -------------------------------------------------------------------------------

  /// Source: RFC 9293, section 3.10.7.4, in its order
  void take(Connection& c, const Segment& s, Carrier& carrier) noexcept {
    if (c.state == State::kSynReceived && s.opens()) return listen(c, s, carrier);
    if (!is_acceptable(c, s, echoes_.room(c))) return answer_outside(c, s, carrier);
    if (s.has(kRst)) return take_reset(c, s, carrier);
    if (s.has(kSyn)) return challenge(c, carrier);
    if (!take_ack(c, s, carrier)) return;
    c.last_heard = now_;
    c.mac = s.mac;
    bool owes_ack = take_text(c, s, carrier);
    if (s.has(kFin)) owes_ack |= take_fin(c, s);
    if (send_what_may_go(c, carrier)) return;
    if (owes_ack || window_has_opened(c)) {
      sender_.send_ack(c, carrier);
    } else {
      counters_.add(RrCount::kAcksReceived);
    }
  }

  /// Whether the client should hear of a larger window than it knows of: not for a few bytes.
  /// Source: RFC 9293, section 3.8.6.2.2
  [[nodiscard]] bool window_has_opened(const Connection& c) const noexcept {
    const std::uint32_t known = c.offered_to - c.receive_next;
    const std::uint32_t half = shared_.settings().buffer_bytes() / 2;
    const auto worth = std::min<std::uint32_t>(half, local_.mss(c.peer.ipv6));
    return echoes_.room(c) - known >= worth;
  }

  /// A SYN, the first one or again: the half-open connection becomes that of this one. A client
  /// that gave up and tries anew from the same port is served so, too.
  void listen(Connection& c, const Segment& syn, Carrier& carrier) noexcept {
    const bool again = c.timer == Timer::kSynAck && c.receive_next == syn.sequence + 1;
    if (!again) {
      if (c.timer == Timer::kSynAck) half_open_.remove(c);
      half_open_.add(c);
      c.receive_next = syn.sequence + 1;
      c.unacked = first_sequence(shared_.keys().sequence, syn.peer, local_.tcp_port) +
                  shared_.clock().isn_clock(tsc_);
      c.next = c.sent_to = c.unacked + 1;
      c.peer_mss = mss_of(syn, local_.mss(syn.peer.ipv6));
      c.retries = 0;
      c.last_heard = now_;
      start(c, Timer::kSynAck, kSynAckTimeoutMs);
    } else {
      counters_.add(RrCount::kRetransmits);
    }
    c.mac = syn.mac;
    if (!sender_.send_syn_ack(c, carrier)) counters_.add(RrCount::kUnanswered);
  }

  /// A place in the full table. returns: false where nobody can give way
  bool make_room() noexcept {
    Connection* oldest = half_open_.oldest();
    if (oldest == nullptr) return false;
    if (!is_due(oldest->last_heard + shared_.clock().ticks(kHalfOpenGraceMs), now_)) return false;
    counters_.add(RrCount::kHandshakesReplaced);
    drop(*oldest, RrCount::kHandshakesFailed);
    return true;
  }

  void answer_outside(Connection& c, const Segment& s, Carrier& carrier) noexcept {
    if (s.has(kRst)) return counters_.add(RrCount::kResetsIgnored);
    if (keeps_alive(c, s)) c.last_heard = now_;
    const bool old = !after(s.sequence + s.span(), c.receive_next);
    if (s.span() == 0) return challenge(c, carrier);  // or two ends could go on forever
    counters_.add(old ? RrCount::kOldDuplicates : RrCount::kOutsideWindow);
    sender_.send_ack(c, carrier);
  }

  /// Only the exact next sequence number resets. Source: RFC 5961, section 3.2
  void take_reset(Connection& c, const Segment& s, Carrier& carrier) noexcept {
    if (s.sequence != c.receive_next) return challenge(c, carrier);
    drop(c,
         c.state == State::kSynReceived ? RrCount::kHandshakesFailed : RrCount::kConnectionsReset);
  }

  /// returns: false where nothing else of the segment counts; the connection may be gone
  [[nodiscard]] bool take_ack(Connection& c, const Segment& s, Carrier& carrier) noexcept {
    if (c.state == State::kSynReceived) {
      if (s.ack != c.sent_to) {
        sender_.reset_in_answer(s, carrier);
        return false;
      }
      complete_handshake(c, s);
      return true;
    }
    if (!has_plausible_ack(c, s)) {
      challenge(c, carrier);
      return false;
    }
    const bool advances = after(s.ack, c.unacked);
    if (advances && acknowledge(c, s.ack)) return false;
    if (advances || window_is_newer(c, s)) set_window(c, s);
    return true;
  }

  void complete_handshake(Connection& c, const Segment& s) noexcept {
    half_open_.remove(c);
    c.unacked = s.ack;
    c.state = State::kEstablished;
    c.timer = Timer::kNone;
    c.retries = 0;
    set_window(c, s);
    counters_.add(RrCount::kConnectionsOpened);
  }

  static void set_window(Connection& c, const Segment& s) noexcept {
    c.peer_window = s.window;
    c.window_sequence = s.sequence;
    c.window_ack = s.ack;
  }

  /// The client has everything before `ack`. returns: whether that was our FIN, and all is over
  bool acknowledge(Connection& c, Sequence ack) noexcept {
    const std::uint32_t count = ack - c.unacked;
    if (count > c.buffered && c.state == State::kLastAck) {
      drop(c, RrCount::kConnectionsClosed);
      return true;
    }
    echoes_.discard(c, static_cast<std::uint16_t>(count));
    c.unacked = ack;
    if (before(c.next, ack)) c.next = ack;
    if (before(c.sent_to, ack)) {
      c.sent_to = ack;
      c.probed = false;
    }
    c.retries = 0;
    c.timer = Timer::kNone;  // started anew for what is still under way
    return false;
  }

  /// returns: whether the client must hear from us in any case
  [[nodiscard]] bool take_text(Connection& c, const Segment& s, Carrier& carrier) noexcept {
    if (s.text_bytes == 0) return false;
    if (after(s.sequence, c.receive_next)) {
      counters_.add(RrCount::kOutOfOrder);
      return true;
    }
    const std::uint32_t known = c.receive_next - s.sequence;
    if (c.client_is_done() || known >= s.text_bytes) {
      counters_.add(RrCount::kOldDuplicates);
      return true;
    }
    const auto bytes = std::min<std::uint32_t>(s.text_bytes - known, echoes_.room(c));
    if (bytes == 0) {
      counters_.add(RrCount::kOutsideWindow);
      return true;
    }
    const std::uint32_t at = s.text_at + known;
    const auto* text = rte_pktmbuf_mtod_offset(carrier.packet().mbuf, const std::byte*, at);
    if (!echoes_.append(c, {text, bytes})) {
      counters_.add(RrCount::kNoBuffer);
      return false;
    }
    carrier.keep_text(at, bytes);
    c.receive_next += bytes;
    count_transaction(bytes);
    sender_.outbox().record_flow(carrier.packet());
    if (work_.is_wanted()) do_work();
    return true;
  }

  void count_transaction(std::uint32_t bytes) noexcept {
    counters_.add(RrCount::kTransactions);
    counters_.add(RrCount::kEchoedBytes, bytes);
  }

  void do_work() noexcept {
    if (++worked_ % kTimedWork != 0) return work_.run();
    const TscCycles start = tsc_now();
    work_.run();
    counters_.add(RrCount::kWorkCycles, tsc_between(start, tsc_now()).value());
    counters_.add(RrCount::kWorkSamples);
  }

  /// returns: whether the client must hear from us
  [[nodiscard]] static bool take_fin(Connection& c, const Segment& s) noexcept {
    if (s.sequence + s.text_bytes != c.receive_next || c.client_is_done()) return true;
    ++c.receive_next;
    c.state = State::kCloseWait;
    return true;
  }

  // --- sending ---------------------------------------------------------------------------------

  /// Sends what the client can take. returns: whether anything went
  bool send_what_may_go(Connection& c, Carrier& carrier) noexcept {
    bool sent = false;
    for (int count = 0; count < kMostSegments; ++count) {
      const Piece piece = next_piece(c, c.peer_window);
      if (piece.span() == 0 || !send_piece(c, piece, carrier)) break;
      sent = true;
    }
    set_timer(c);
    return sent;
  }

  bool send_piece(Connection& c, const Piece& piece, Carrier& carrier) noexcept {
    if (!sender_.send_piece(c, piece, carrier)) return false;
    if (piece.fin) c.state = State::kLastAck;
    if (before(c.next, c.sent_to)) counters_.add(RrCount::kRetransmits);
    c.next += piece.span();
    if (before(c.sent_to, c.next)) {
      c.sent_to = c.next;
      c.probed = false;
    }
    return true;
  }

  /// An ACK that tells an honest client where we are, and an attacker nothing.
  /// Source: RFC 5961, sections 3 to 5 and 7
  void challenge(Connection& c, Carrier& carrier) noexcept {
    // By its age: a deadline of long ago would be one of the future for half the ticks' range.
    if (c.was_challenged && now_ - c.challenged < shared_.clock().ticks(kChallengeMs)) {
      return counters_.add(RrCount::kChallengesSpared);
    }
    c.was_challenged = true;
    c.challenged = now_;
    counters_.add(RrCount::kChallengeAcks);
    sender_.send_ack(c, carrier);
  }

  // --- timers ----------------------------------------------------------------------------------

  void start(Connection& c, Timer timer, std::uint64_t first_ms) noexcept {
    const std::uint64_t ms = std::min(first_ms << c.retries, kMostTimeoutMs);
    c.timer = timer;
    c.deadline = now_ + shared_.clock().ticks(ms);
    timers_.ask(c, table_.index_of(c), now_);
  }

  /// The timer that the connection's state calls for runs on, or starts. One of another kind starts
  /// afresh: a window that was closed for long says nothing of what is lost when it opens.
  void set_timer(Connection& c) noexcept {
    Timer wanted = Timer::kNone;
    if (c.buffered != 0 || c.client_is_done()) {
      const bool lossy = c.next != c.unacked && c.peer_window != 0;
      wanted = lossy ? Timer::kRetransmit : Timer::kPersist;
    }
    if (wanted == Timer::kNone) {
      c.timer = Timer::kNone;
    } else if (c.timer != wanted) {
      c.retries = 0;
      start(c, wanted, shared_.settings().first_timeout_ms);
    }
  }

  void fire(Connection& c) noexcept {
    switch (c.timer) {
      case Timer::kSynAck:
        return repeat_syn_ack(c);
      case Timer::kRetransmit:
        return retransmit(c);
      case Timer::kPersist:
        return persist(c);
      case Timer::kNone:
        break;
    }
  }

  void repeat_syn_ack(Connection& c) noexcept {
    if (c.retries == kMostSynAckRetries) return drop(c, RrCount::kHandshakesFailed);
    ++c.retries;
    Carrier none;
    if (sender_.send_syn_ack(c, none)) counters_.add(RrCount::kRetransmits);
    start(c, Timer::kSynAck, kSynAckTimeoutMs);
  }

  /// Begins again at what is not acknowledged, with one segment; the others follow its ACK.
  void retransmit(Connection& c) noexcept {
    if (c.retries == kMostRetries) return give_up(c);
    ++c.retries;
    c.next = c.unacked;
    Carrier none;
    if (!send_piece(c, next_piece(c, c.peer_window), none)) c.next = c.sent_to;
    start(c, Timer::kRetransmit, shared_.settings().first_timeout_ms);
  }

  /// One byte into the closed window, or the FIN: its ACK says whether it has opened. What was
  /// under way when the client closed it is lost, or its ACK is still to come. A client that keeps
  /// it closed and answers is waited for; one that does not answer is found by sweep(). Source: RFC
  /// 9293, section 3.8.6.1
  void persist(Connection& c) noexcept {
    Carrier none;
    if (c.peer_window != 0) {
      c.timer = Timer::kNone;
      send_what_may_go(c, none);
      return;
    }
    if (c.retries < kMostRetries) ++c.retries;
    c.next = c.unacked;
    if (c.buffered == 0) {
      send_piece(c, {.fin = true}, none);
    } else if (sender_.send_piece(c, {.text_bytes = 1}, none)) {
      c.probed = c.sent_to == c.next;
      counters_.add(RrCount::kWindowProbes);
    }
    start(c, Timer::kPersist, shared_.settings().first_timeout_ms);
  }

  /// Looks for clients that have vanished, a few connections at a time.
  void sweep() noexcept {
    if (table_.size() == 0) return;
    for (std::uint32_t i = 0; i < std::min(kSweptATick, table_.capacity()); ++i) {
      Connection& each = table_[swept_];
      if (++swept_ == table_.capacity()) swept_ = 0;
      const bool open = each.state != State::kFree && each.state != State::kSynReceived;
      if (open && is_due(each.last_heard + idle_ticks_, now_)) give_up(each);
    }
  }

  // --- the end ---------------------------------------------------------------------------------

  void give_up(Connection& c) noexcept {
    sender_.send_reset(c);
    drop(c, RrCount::kConnectionsTimedOut);
  }

  void drop(Connection& c, RrCount why) noexcept {
    counters_.add(why);
    if (c.state == State::kSynReceived) half_open_.remove(c);
    echoes_.discard_all(c);
    shared_.owners().release(c.hash, worker_);
    table_.remove(c);
    counters_.set_connections(table_.size());
  }

  RrShared& shared_;
  const LocalEnd& local_;
  RrCounters& counters_;
  WorkerId worker_;
  ConnectionTable table_;
  HalfOpen half_open_;
  EchoStore echoes_;
  Sender<Out> sender_;
  TimerQueue timers_;
  ExtraWork work_;
  Tick idle_ticks_;
  TscCycles tsc_;
  Tick now_ = 0;
  std::uint32_t swept_ = 0;
  std::uint32_t worked_ = 0;
};

}  // namespace mqsteer::rr
