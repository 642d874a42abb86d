#pragma once

#include "fake_outbox.h"
#include "handlers/rr/responder.h"
#include "packet/flow_hasher.h"
#include "tcp_frame.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

namespace mqsteer::test {

inline RrSettings box_settings() {
  return {.port = PortId{FakeOutbox::kPort},
          .mac = {2, 0, 0, 0, 0, 2},
          .ipv4 = Ipv4Address{10, 0, 0, 1},
          .ipv6 = Ipv6Address{0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
          .connections = 64};
}

/// The rr handlers of some workers over fake outboxes, in time of their own. What they hand over to
/// each other is delivered by settle(). Checks at its end that every packet has left.
class RrBox {
 public:
  static constexpr std::uint64_t kHz = 1'000'000'000;
  using Handler = rr::Responder<FakeOutbox>;

  explicit RrBox(const RrSettings& settings = box_settings(), std::uint16_t workers = 1)
      : shared{settings,
               workers,
               kHz,
               memory_,
               {.sequence = {1, 2},
                .connections = {3, 4},
                .owners = {0x243f6a8885a308d3, 0x13198a2e03707344}}},
        given_(workers) {
    for (std::uint16_t i = 0; i < workers; ++i) {
      outboxes.push_back(std::make_unique<FakeOutbox>(mbufs, WorkerId{i}));
      handlers.push_back(std::make_unique<Handler>(shared, WorkerId{i}, memory_));
    }
  }
  RrBox(const RrBox&) = delete;
  RrBox& operator=(const RrBox&) = delete;
  RrBox(RrBox&&) = delete;
  RrBox& operator=(RrBox&&) = delete;
  ~RrBox() {
    EXPECT_EQ(mbufs.in_use(), 0U);
    for (std::size_t i = 0; i < outboxes.size(); ++i) {
      EXPECT_EQ(outboxes[i]->left(), given_[i]) << "worker " << i;
      EXPECT_EQ(outboxes[i]->originated, outboxes[i]->allocated);
      EXPECT_EQ(outboxes[i]->wrong, 0U);
    }
  }

  [[nodiscard]] FakeOutbox& outbox(std::size_t worker = 0) { return *outboxes[worker]; }
  [[nodiscard]] rr::Engine<FakeOutbox>& engine(std::size_t worker = 0) {
    return handlers[worker]->engine();
  }
  [[nodiscard]] std::uint64_t count(RrCount which) const {
    std::uint64_t sum = 0;
    for (std::uint16_t i = 0; i < shared.workers(); ++i)
      sum += shared.counters(WorkerId{i}).read(which);
    return sum;
  }
  [[nodiscard]] std::uint32_t connections() const {
    std::uint32_t sum = 0;
    for (std::uint16_t i = 0; i < shared.workers(); ++i)
      sum += shared.counters(WorkerId{i}).connections();
    return sum;
  }

  [[nodiscard]] PacketMeta packet_of(const Bytes& frame, std::uint64_t rx_flags = 0) {
    PacketMeta packet{.mbuf = mbufs.make(frame, spare), .port = FakeOutbox::kPort};
    packet.mbuf->ol_flags = rx_flags;
    hasher_.run({&packet, 1});
    return packet;
  }
  /// A frame comes to a worker, and all that follows from it is done.
  void receive(const Bytes& frame, std::size_t worker = 0, std::uint64_t rx_flags = 0) {
    run(packet_of(frame, rx_flags), worker);
    settle();
  }
  void run(const PacketMeta& packet, std::size_t worker = 0) { run_burst({&packet, 1}, worker); }
  /// packets: at most kMaxBurst
  void run_burst(std::span<const PacketMeta> packets, std::size_t worker = 0) {
    given_[worker] += packets.size();
    handlers[worker]->run({packets}, outbox(worker), TscCycles{now});
  }
  void receive(const Tcp& tcp, std::size_t worker = 0) { receive(frame_of(tcp), worker); }

  /// Delivers what one worker has handed over, once. returns: whether there was anything
  bool deliver(std::size_t worker) {
    const auto handed = std::move(outbox(worker).handed_over);
    outbox(worker).handed_over.clear();
    for (const auto& [to, packet] : handed) {
      ++given_[to.value()];
      handlers[to.value()]->run_handed_over({{&packet, 1}}, outbox(to.value()), TscCycles{now});
    }
    return !handed.empty();
  }
  void settle() {
    for (int round = 0; round < 100; ++round) {
      bool any = false;
      for (std::size_t i = 0; i < outboxes.size(); ++i) any |= deliver(i);
      if (!any) return;
    }
    ADD_FAILURE() << "packets go round and round";
  }

  /// Time passes, with a tick a millisecond.
  void pass(std::uint64_t ms) {
    for (; ms > 0; --ms) {
      now += kHz / 1000;
      for (std::size_t i = 0; i < handlers.size(); ++i) {
        handlers[i]->tick(outbox(i), TscCycles{now});
      }
    }
  }

  /// Time passes until something is sent. returns: how many ms; most + 1: nothing was
  std::uint64_t pass_until_sent(std::uint64_t most) {
    for (std::uint64_t ms = 1; ms <= most; ++ms) {
      pass(1);
      if (!silent()) return ms;
    }
    return most + 1;
  }

  /// The oldest frame that was sent; none: nothing was.
  std::optional<Bytes> frame() {
    for (auto& each : outboxes) {
      if (each->sent.empty()) continue;
      Bytes first = std::move(each->sent.front());
      each->sent.pop_front();
      each->sent_flags.pop_front();
      return first;
    }
    return std::nullopt;
  }
  /// The oldest segment that was sent; a frame that is no right one fails the test.
  std::optional<Tcp> reply() {
    const auto bytes = frame();
    if (!bytes) return std::nullopt;
    auto tcp = read_tcp(*bytes);
    EXPECT_TRUE(tcp) << "a frame with something wrong in it";
    return tcp;
  }
  [[nodiscard]] bool silent() const {
    for (const auto& each : outboxes) {
      if (!each->sent.empty()) return false;
    }
    return true;
  }

 private:
  std::pmr::memory_resource& memory_ = *std::pmr::new_delete_resource();
  FlowHasher hasher_{{}};

 public:
  HeapMbufs mbufs;
  RrShared shared;
  std::vector<std::unique_ptr<FakeOutbox>> outboxes;
  std::vector<std::unique_ptr<Handler>> handlers;
  std::size_t spare = 128;  ///< bytes that an answer can be longer than its question
  std::uint64_t now = 1'000'000'000'000;

 private:
  std::vector<std::uint64_t> given_;
};

/// A client whose every step the test says: it knows the sequence numbers and nothing else.
class ScriptedClient {
 public:
  explicit ScriptedClient(RrBox& box, bool v6 = false, std::uint16_t port = 40000) : box_{box} {
    base.v6 = v6;
    if (v6) base.client = "2001:db8::2";
    base.client_port = port;
  }

  /// A segment from where we are; sent or not is up to the test.
  [[nodiscard]] Tcp segment(unsigned flags, const Bytes& text = {}) const {
    Tcp tcp = base;
    tcp.flags = flags;
    tcp.seq = seq;
    tcp.ack = (flags & ACK) != 0 ? ack : 0;
    tcp.text = text;
    return tcp;
  }
  /// Sends it and moves on by what it takes.
  void send(unsigned flags, const Bytes& text = {}) {
    const Tcp tcp = segment(flags, text);
    seq += tcp.span();
    box_.receive(tcp);
  }
  void send(const std::string& text) { send(ACK | PSH, text_of(text)); }
  /// The next answer, with what it takes acknowledged from now on.
  Tcp heard() {
    const auto tcp = box_.reply();
    EXPECT_TRUE(tcp) << "no answer";
    if (!tcp) return {};
    ack = tcp->seq + tcp->span();
    return *tcp;
  }
  void connect() {
    send(SYN);
    const Tcp answer = heard();
    EXPECT_EQ(answer.flags, unsigned{SYN | ACK});
    send(ACK);
  }
  /// Closes from our side, through to the end.
  void close() {
    send(FIN | ACK);
    EXPECT_EQ(heard().flags, unsigned{FIN | ACK});
    send(ACK);
  }

  Tcp base;
  std::uint32_t seq = 1000;
  std::uint32_t ack = 0;

 private:
  RrBox& box_;
};

}  // namespace mqsteer::test
