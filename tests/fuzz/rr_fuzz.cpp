// Any sequence of segments, right ones and mutated ones, against the rr handlers of two workers:
// every packet leaves exactly once, what is sent is well formed and is what an echo server may say
// (EchoModel), and in the end nothing is left.

#include "handlers/rr/responder.h"
#include "packet/flow_hasher.h"
#include "rr_echo_model.h"
#include "unit/handlers/fake_outbox.h"
#include "unit/handlers/tcp_frame.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

namespace mqsteer::test {
namespace {

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

/// The input, byte by byte; zeros behind its end.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : bytes_{data, size} {}
  [[nodiscard]] bool is_empty() const { return bytes_.empty(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  std::uint16_t word() {
    const unsigned high = byte();
    return static_cast<std::uint16_t>(high << 8U | byte());
  }
  Bytes some(std::size_t most) {
    const std::size_t count = std::min(most, bytes_.size());
    Bytes taken{bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(count)};
    bytes_ = bytes_.subspan(count);
    return taken;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

RrSettings settings() {
  return {.port = PortId{FakeOutbox::kPort},
          .mac = {2, 0, 0, 0, 0, 2},
          .ipv4 = Ipv4Address{10, 0, 0, 1},
          .ipv6 = Ipv6Address{0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
          .connections = 3};
}

/// What a client knows of its connection, from what it sent and what it heard.
struct Client {
  std::uint32_t seq = 1000;
  std::uint32_t ack = 0;
};

class Target {
 public:
  Target() {
    for (std::uint16_t i = 0; i < kWorkers; ++i) {
      outboxes_.push_back(std::make_unique<FakeOutbox>(mbufs_, WorkerId{i}));
      outboxes_.back()->owners = {WorkerId{0}, WorkerId{1}};
      handlers_.push_back(std::make_unique<Handler>(shared_, WorkerId{i}, memory_));
    }
  }

  void step(Input& input) {
    const std::uint8_t action = input.byte();
    switch (action % 8) {
      case 0:
        return pass(input.byte() * std::uint64_t{10});
      case 1:
        return receive(input.some(input.byte()), input.byte());
      case 2:
        for (auto& each : outboxes_) each->no_mbufs = (action & 8U) != 0;
        return;
      default:
        return send_segment(action, input);
    }
  }

  /// All clients fall silent: whatever has happened, nothing of it may stay.
  void end() {
    for (auto& each : outboxes_) each->no_mbufs = false;
    for (int i = 0; i < 100; ++i) pass(100'000);
    must(shared_.owners().count() == 0, "no flow has an owner in the end");
    for (const auto& each : handlers_) {
      must(each->engine().table().size() == 0, "no connection is left in the end");
      must(each->engine().echoes().free_buffers() == settings().buffers(), "all buffers are back");
    }
  }

 private:
  static constexpr std::uint16_t kWorkers = 2;
  static constexpr std::size_t kClients = 8;
  using Handler = rr::Responder<FakeOutbox>;

  /// A segment that continues a client's connection, with up to four of its fields or bytes
  /// changed.
  void send_segment(std::uint8_t action, Input& input) {
    constexpr std::array<unsigned, 8> kFlags{SYN,       ACK, ACK | PSH, ACK,
                                             FIN | ACK, RST, RST | ACK, ACK};
    const std::uint8_t which = input.byte();
    Client& client = clients_[which % kClients];
    Tcp tcp{.v6 = which % kClients >= 6,
            .client_port = static_cast<std::uint16_t>(100 + which % kClients)};
    if (tcp.v6) tcp.client = "2001:db8::2";
    tcp.flags = kFlags[which / 8 % kFlags.size()];
    tcp.seq = client.seq;
    tcp.ack = (tcp.flags & ACK) != 0 ? client.ack : 0;
    const std::size_t bytes = (tcp.flags & PSH) != 0 ? 1 + input.byte() * std::size_t{5} : 0;
    if ((action & 8U) != 0) tcp.seq += static_cast<std::uint32_t>(input.byte()) - 128;
    for (std::uint32_t i = 0; i < bytes; ++i) tcp.text.push_back(byte_at(which, tcp.seq + i));
    if ((action & 16U) != 0) tcp.ack += static_cast<std::uint32_t>(input.byte()) - 128;
    if ((action & 32U) != 0) tcp.window = input.word();
    if ((action & 64U) != 0) tcp.options = input.some(input.byte() % 11U * 4U);
    tcp.options.resize((tcp.options.size() + 3) / 4 * 4);
    Bytes frame = frame_of(tcp);
    if ((action & 128U) != 0)
      mutate(frame, input);
    else
      client.seq = tcp.seq + tcp.span();
    receive(frame, input.byte());
  }

  /// A client's stream: another byte at every place, the same one whenever it is sent.
  static std::uint8_t byte_at(std::uint8_t which, std::uint32_t seq) {
    return static_cast<std::uint8_t>((seq * 2654435761U + which % kClients * 40503U) >> 24U);
  }

  static void mutate(Bytes& frame, Input& input) {
    for (unsigned count = input.byte() % 4U; count > 0; --count) {
      const std::size_t at = input.word() % frame.size();
      frame[at] = static_cast<std::uint8_t>(frame[at] ^ input.byte());
    }
    if (input.byte() % 4U == 0) frame.resize(input.word() % (frame.size() + 1));
  }

  /// how: the worker, whether the NIC says that the checksums are right, the room behind the frame
  void receive(const Bytes& frame, std::uint8_t how) {
    PacketMeta packet{.mbuf = mbufs_.make(frame, (how & 4U) != 0 ? 0 : 64),
                      .port = FakeOutbox::kPort};
    if ((how & 2U) != 0)
      packet.mbuf->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    if ((how & 0xf0U) == 0x10U) rte_mbuf_refcnt_set(packet.mbuf, 2);
    if ((how & 0xf0U) == 0x20U) packet.mbuf->nb_segs = 2;
    if ((how & 0xf0U) != 0x20U) model_.client_sends(frame, (how & 2U) != 0);
    hasher_.run({&packet, 1});
    if ((how & 8U) != 0) packet.hash %= 2;  // flows that share a hash
    const std::size_t worker = how & 1U;
    ++given_[worker];
    const std::uint64_t unanswered = count(RrCount::kUnanswered);
    handlers_[worker]->run({{&packet, 1}}, *outboxes_[worker], TscCycles{now_});
    deliver();
    check();
    if (count(RrCount::kUnanswered) != unanswered) model_.forget();  // a SYN-ACK, maybe
  }

  void deliver() {
    for (int round = 0; round < 8; ++round) {
      for (auto& outbox : outboxes_) {
        const auto handed = std::exchange(outbox->handed_over, {});
        for (const auto& [to, packet] : handed) {
          ++given_[to.value()];
          handlers_[to.value()]->run_handed_over({{&packet, 1}}, *outboxes_[to.value()],
                                                 TscCycles{now_});
        }
      }
    }
  }

  [[nodiscard]] std::uint64_t count(RrCount which) const {
    std::uint64_t sum = 0;
    for (std::uint16_t i = 0; i < kWorkers; ++i) sum += shared_.counters(WorkerId{i}).read(which);
    return sum;
  }

  void pass(std::uint64_t ms) {
    now_ += ms * 1'000'000;
    for (std::size_t i = 0; i < kWorkers; ++i) handlers_[i]->tick(*outboxes_[i], TscCycles{now_});
    check();
  }

  void check() {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      FakeOutbox& outbox = *outboxes_[i];
      must(outbox.left() == given_[i], "every packet leaves once");
      must(outbox.originated == outbox.allocated, "every mbuf that was made leaves");
      must(outbox.wrong == 0, "the outbox is used as it may be");
      for (const Bytes& frame : outbox.sent) listen(i, frame);
      outbox.sent.clear();
      outbox.sent_flags.clear();
    }
    must(mbufs_.in_use() == 0, "no mbuf is kept");
  }

  void listen(std::size_t worker, const Bytes& frame) {
    must(frame.size() >= 42, "an answer has its headers");
    const bool is_tcp = (be16(frame, 12) == 0x0800 && frame[23] == 6) ||
                        (be16(frame, 12) == 0x86dd && frame[20] == 6);
    if (!is_tcp) return;
    // A mutated MAC address of the sender is answered to.
    Bytes as_ours = frame;
    as_ours[0] = 2, as_ours[1] = as_ours[2] = as_ours[3] = as_ours[4] = 0, as_ours[5] = 1;
    const auto tcp = read_tcp(as_ours);
    must(tcp.has_value(), "a segment of ours is well formed");
    if (const char* flaw = model_.server_sends(worker, *tcp); flaw != nullptr) must(false, flaw);
    if (tcp->client_port < 100 || tcp->client_port >= 100 + kClients) return;
    clients_[tcp->client_port - 100U].ack = tcp->seq + tcp->span();
  }

  std::pmr::memory_resource& memory_ = *std::pmr::new_delete_resource();
  FlowHasher& hasher_ = []() -> FlowHasher& {
    static FlowHasher hasher{{}};
    return hasher;
  }();
  HeapMbufs mbufs_;
  EchoModel model_;
  RrShared shared_{settings(),
                   kWorkers,
                   1'000'000'000,
                   memory_,
                   {.sequence = {1, 2},
                    .connections = {3, 4},
                    .owners = {0x243f6a8885a308d3, 0x13198a2e03707344}}};
  std::vector<std::unique_ptr<FakeOutbox>> outboxes_;
  std::vector<std::unique_ptr<Handler>> handlers_;
  std::array<std::uint64_t, kWorkers> given_{};
  std::array<Client, kClients> clients_{};
  std::uint64_t now_ = 1'000'000'000'000;
};

}  // namespace
}  // namespace mqsteer::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  mqsteer::test::Input input{data, size};
  mqsteer::test::Target target;
  while (!input.is_empty()) target.step(input);
  target.end();
  return 0;
}
