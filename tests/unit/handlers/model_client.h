#pragma once

#include "tcp_frame.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>

namespace mqsteer::test {

/// A small TCP client with a will of its own: connects, sends a stream in pieces of any size,
/// expects every byte back in order, closes. Lost pieces it sends again by going back. Time in ms.
class ModelClient {
 public:
  struct Plan {
    bool v6 = false;
    std::uint16_t port = 1;
    std::uint32_t bytes = 100;   ///< to be sent and expected back
    std::uint32_t ahead = 1000;  ///< bytes that may be sent before they came back
    std::uint16_t most = 1460;   ///< bytes of a segment
    std::uint16_t window = 0xffff;
    bool half_close = false;        ///< FIN right behind the last byte, not after its echo
    std::uint32_t vanish_at = ~0U;  ///< silent for ever after so many bytes came back
    std::uint32_t abort_at = ~0U;   ///< RST then
  };
  enum class State { kSynSent, kOpen, kTimeWait, kGone, kFailed };
  using Send = std::function<void(const Tcp&)>;

  ModelClient(const Plan& plan, std::uint32_t first, Send send)
      : plan_{plan}, first_{first}, una_{first}, next_{first + 1}, send_{std::move(send)} {}

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] std::uint32_t echoed() const { return echoed_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const std::string& fault() const { return fault_; }

  void start(std::uint64_t now) {
    send_syn();
    deadline_ = now + kTimeout;
  }

  void receive(const Tcp& s, std::uint64_t now, std::mt19937& random) {
    if (state_ == State::kSynSent) {
      take_syn_ack(s, now);
    } else if (state_ == State::kOpen) {
      take(s, now);
    } else if (state_ == State::kTimeWait && (s.flags & RST) == 0 && s.span() > 0) {
      send(ACK);
    }
    if (state_ == State::kOpen) send_more(now, random);
  }

  /// Call now and then.
  void tick(std::uint64_t now, std::mt19937& random) {
    if (state_ == State::kTimeWait && now >= deadline_) state_ = State::kGone;
    if (state_ == State::kSynSent && now >= deadline_) start(now);
    if (state_ == State::kOpen && now >= deadline_) {
      next_ = una_;
      deadline_ = now + kTimeout;
      send_more(now, random);
      if (next_ == una_) probe();  // the window is closed, or all is done but the server's FIN
    }
  }

  /// The byte at an offset of the stream.
  [[nodiscard]] std::uint8_t byte_at(std::uint32_t at) const {
    return static_cast<std::uint8_t>((at * 2654435761U + plan_.port * 40503U) >> 24U);
  }

 private:
  static constexpr std::uint64_t kTimeout = 300;
  static constexpr std::uint64_t kTimeWait = 3000;

  [[nodiscard]] Tcp segment(unsigned flags) const {
    return {.v6 = plan_.v6,
            .client = plan_.v6 ? "2001:db8::2" : "10.0.0.2",
            .client_port = plan_.port,
            .flags = flags,
            .seq = next_,
            .ack = receive_next_,
            .window = plan_.window};
  }
  void send(unsigned flags) { send_(segment(flags)); }
  /// What the server has already, so that it says where it is: as Linux probes a closed window.
  void probe() {
    Tcp old = segment(ACK);
    --old.seq;
    send_(old);
  }
  void send_syn() {
    Tcp syn = segment(SYN);
    syn.seq = first_;
    syn.ack = 0;
    syn.options = {2, 4, static_cast<std::uint8_t>(plan_.most >> 8U),
                   static_cast<std::uint8_t>(plan_.most)};
    send_(syn);
  }
  void fail(const std::string& why) {
    state_ = State::kFailed;
    fault_ = why;
  }

  void take_syn_ack(const Tcp& s, std::uint64_t now) {
    if ((s.flags & ACK) == 0 || s.ack != first_ + 1) {  // of a former life
      Tcp rst = segment(RST);
      rst.seq = s.ack;
      if ((s.flags & RST) == 0) send_(rst);
      return;
    }
    if ((s.flags & RST) != 0) return fail("refused");
    if ((s.flags & SYN) == 0) return;
    receive_next_ = s.seq + 1;
    una_ = s.ack;
    window_ = s.window;
    state_ = State::kOpen;
    deadline_ = now + kTimeout;
    send(ACK);
  }

  void take(const Tcp& s, std::uint64_t now) {
    if ((s.flags & RST) != 0) {
      if (s.seq == receive_next_) fail("reset");
      return;
    }
    const bool in_order = static_cast<std::int32_t>(s.seq - receive_next_) <= 0;
    if (in_order) take_text(s);
    if ((s.flags & ACK) != 0 && static_cast<std::int32_t>(s.ack - una_) >= 0) {
      if (static_cast<std::int32_t>(s.ack - (first_ + 2 + plan_.bytes)) > 0)
        return fail("acknowledged too much");
      if (s.ack != una_) deadline_ = now + kTimeout;
      una_ = s.ack;
      window_ = s.window;
      if (static_cast<std::int32_t>(next_ - una_) < 0) next_ = una_;
    }
    if (s.span() > 0) send(ACK);
    if (state_ == State::kOpen && closed_ && una_ == first_ + 2 + plan_.bytes) {
      state_ = State::kTimeWait;
      deadline_ = now + kTimeWait;
    }
  }

  void take_text(const Tcp& s) {
    for (std::uint32_t i = receive_next_ - s.seq; i < s.text.size(); ++i) {
      if (s.text[i] != byte_at(echoed_)) return fail("wrong byte");
      ++echoed_;
      ++receive_next_;
      if (echoed_ > plan_.bytes) return fail("too many bytes");
    }
    const bool fin = (s.flags & FIN) != 0 && s.seq + s.text.size() == receive_next_ && !closed_;
    if (!fin) {
      act_at_offset();
      return;
    }
    if (echoed_ != plan_.bytes) return fail("closed before all came back");
    closed_ = true;
    ++receive_next_;
  }

  void act_at_offset() {
    if (echoed_ >= plan_.vanish_at) state_ = State::kGone;
    if (echoed_ < plan_.abort_at) return;
    Tcp rst = segment(RST | ACK);
    rst.seq = una_;
    send_(rst);
    state_ = State::kGone;
  }

  void send_more(std::uint64_t now, std::mt19937& random) {
    const std::uint32_t start = first_ + 1;
    while (true) {
      const std::uint32_t sent = next_ - start;
      if (sent > plan_.bytes) return;  // FIN and all
      const std::uint32_t in_flight = next_ - una_;
      const std::uint32_t room = window_ > in_flight ? window_ - in_flight : 0;
      const std::uint32_t wanted =
          std::min(plan_.bytes, echoed_ + plan_.ahead) - std::min(sent, plan_.bytes);
      const std::uint32_t most =
          std::min({room, std::uint32_t{plan_.most},
                    sent >= std::min(plan_.bytes, echoed_ + plan_.ahead) ? 0U : wanted});
      const bool fin = sent + most == plan_.bytes && (plan_.half_close || echoed_ == plan_.bytes);
      if (most == 0 && !fin) return;
      Tcp piece = segment(ACK | PSH);
      const std::uint32_t bytes =
          most == 0 || fin ? most : 1 + static_cast<std::uint32_t>(random()) % most;
      for (std::uint32_t i = 0; i < bytes; ++i) piece.text.push_back(byte_at(sent + i));
      if (fin) piece.flags |= FIN;
      if (in_flight == 0) deadline_ = now + kTimeout;
      send_(piece);
      next_ += piece.span();
    }
  }

  Plan plan_;
  State state_ = State::kSynSent;
  std::uint32_t first_;
  std::uint32_t una_;
  std::uint32_t next_;
  std::uint32_t receive_next_ = 0;
  std::uint32_t window_ = 0;
  std::uint32_t echoed_ = 0;
  bool closed_ = false;
  std::uint64_t deadline_ = 0;
  std::string fault_;
  Send send_;
};

}  // namespace mqsteer::test
