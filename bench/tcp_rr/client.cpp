#include "client.h"

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include <bit>
#include <cstring>

namespace mqsteer::bench {
namespace {

constexpr std::uint32_t kFirstClient = 0x0a400001;  // 10.64.0.1
constexpr std::uint16_t kFirstPort = 1024;
constexpr unsigned kPortBits = 15;  // connections of one client address
constexpr std::uint8_t kSyn = 0x02;
constexpr std::uint8_t kRst = 0x04;
constexpr std::uint8_t kPush = 0x08;
constexpr std::uint8_t kAck = 0x10;
constexpr std::size_t kIp = sizeof(rte_ether_hdr);
constexpr std::size_t kTcp = kIp + sizeof(rte_ipv4_hdr);
constexpr std::size_t kPayload = kTcp + sizeof(rte_tcp_hdr);
constexpr std::uint16_t kMinFrame = 60;

struct Frame {
  rte_ether_hdr ether;
  rte_ipv4_hdr ip;
  rte_tcp_hdr tcp;
  std::uint8_t payload[kMinFrame - kPayload];  // NOLINT: the wire's own layout
};
static_assert(sizeof(Frame) == kMinFrame);

/// The frame without what differs from packet to packet.
Frame make_template() {
  Frame frame{};
  frame.ether.dst_addr = {{0x02, 0, 0, 0, 0, 0x09}};
  frame.ether.src_addr = {{0x02, 0, 0, 0, 0, 0x40}};
  frame.ether.ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
  frame.ip.version_ihl = RTE_IPV4_VHL_DEF;
  frame.ip.time_to_live = 64;
  frame.ip.next_proto_id = IPPROTO_TCP;
  frame.ip.dst_addr = rte_cpu_to_be_32(Client::kServerAddress);
  frame.tcp.dst_port = rte_cpu_to_be_16(Client::kServerPort);
  frame.tcp.data_off = 5U << 4U;
  frame.tcp.rx_win = rte_cpu_to_be_16(0xffff);
  return frame;
}

/// A sum of 16-bit words, folded to a ones' complement checksum in network order (RFC 1071).
rte_be16_t checksum_of(std::uint64_t sum) {
  while (sum >> 16U != 0) sum = (sum & 0xffffU) + (sum >> 16U);
  return rte_cpu_to_be_16(static_cast<std::uint16_t>(~sum & 0xffffU));
}

std::uint64_t words_of(std::uint32_t value) {
  return (value >> 16U) + (value & 0xffffU);
}

}  // namespace

Client::Client(Config config) : config_{std::move(config)} {
  to_acknowledge_.reserve(config_.window);
}

void Client::prepare(std::uint32_t flows) {
  flows_.assign(flows, Flow{});
  ready_.assign(std::bit_ceil(flows), 0);
  ready_head_ = ready_tail_ = request_turn_ = 0;
  turn_ = 0;
  connected_ = 0;
  reset_ = 0;
  outstanding_ = 0;
}

void Client::step() noexcept {
  const std::uint32_t wanted = wanted_.load(std::memory_order_acquire);
  doing_ = static_cast<Doing>(wanted & 0xffU);
  if (doing_ == Doing::kNothing) return seen_.store(wanted, std::memory_order_release);
  now_ = tsc_now().value();
  take_responses();
  if (doing_ == Doing::kResetting) {
    send_resets();
  } else {
    send_due();
  }
  busy_cycles_.store(busy_cycles_.load(std::memory_order_relaxed) + tsc_now().value() - now_,
                     std::memory_order_relaxed);
  seen_.store(wanted, std::memory_order_release);
}

void Client::take_responses() noexcept {
  for (rte_ring* ring : config_.responses) {
    std::array<rte_mbuf*, kBurst> mbufs;
    const unsigned count = rte_ring_sc_dequeue_burst(ring, reinterpret_cast<void**>(mbufs.data()),
                                                     mbufs.size(), nullptr);
    for (unsigned i = 0; i < count; ++i) rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], void*));
    std::array<std::uint32_t, kBurst> indices;
    for (unsigned i = 0; i < count; ++i) {
      indices[i] = index_of(*mbufs[i]);
      if (indices[i] < flows_.size()) __builtin_prefetch(&flows_[indices[i]], 1);
    }
    for (unsigned i = 0; i < count; ++i) {
      judge(*mbufs[i], indices[i]);
      keep(mbufs[i]);
    }
  }
}

/// The connection that a response is for; may be none of ours.
std::uint32_t Client::index_of(const rte_mbuf& mbuf) const noexcept {
  const auto* frame = rte_pktmbuf_mtod(&mbuf, const Frame*);
  const std::uint32_t client = rte_be_to_cpu_32(frame->ip.dst_addr) - kFirstClient;
  const std::uint32_t port = rte_be_to_cpu_16(frame->tcp.dst_port);
  return (client << kPortBits) + (port - kFirstPort);
}

void Client::judge(const rte_mbuf& mbuf, std::uint32_t index) noexcept {
  const auto* frame = rte_pktmbuf_mtod(&mbuf, const Frame*);
  const std::uint8_t flags = frame->tcp.tcp_flags & (kSyn | kRst | kAck);
  const auto wrong = [this] {
    wrong_.store(wrong_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  };
  if (index >= flows_.size()) return wrong();
  Flow& flow = flows_[index];
  const std::uint32_t sequence = rte_be_to_cpu_32(frame->tcp.sent_seq);
  if (rte_be_to_cpu_32(frame->tcp.recv_ack) != flow.next || (flags & kRst) != 0) return wrong();
  if (flow.state == State::kSynSent && flags == (kSyn | kAck)) return accept(flow, index, sequence);
  const bool echo =
      flow.state == State::kAwaiting && flags == kAck && sequence == flow.expected &&
      rte_be_to_cpu_16(frame->ip.total_length) == sizeof(rte_ipv4_hdr) + sizeof(rte_tcp_hdr) + 1 &&
      frame->payload[0] == flow.byte;
  if (!echo) return wrong();
  complete(flow, index);
}

void Client::accept(Flow& flow, std::uint32_t index, std::uint32_t sequence) noexcept {
  flow.expected = sequence + 1;
  flow.state = State::kReady;
  to_acknowledge_.push_back(index);
  has_become_ready(index);
}

void Client::has_become_ready(std::uint32_t index) noexcept {
  if (!takes_turns()) ready_[ready_tail_ & (ready_.size() - 1)] = index;
  ++ready_tail_;
}

std::uint32_t Client::next_ready() noexcept {
  ++ready_head_;
  if (!takes_turns()) {
    // The flow after the next burst, so that its line is here by then.
    __builtin_prefetch(&flows_[ready_[(ready_head_ + kBurst) & (ready_.size() - 1)]]);
    return ready_[(ready_head_ - 1) & (ready_.size() - 1)];
  }
  while (true) {  // there is one that is ready, and most are
    const std::uint32_t index = request_turn_;
    request_turn_ = index + 1 < flows_.size() ? index + 1 : 0;
    if (flows_[index].state == State::kReady) return index;
  }
}

void Client::complete(Flow& flow, std::uint32_t index) noexcept {
  const auto ticks = static_cast<std::uint32_t>(now_ >> kTimeShift) - flow.sent_at;
  const std::uint64_t cycles = std::uint64_t{ticks} << kTimeShift;
  const unsigned shift = cycles < 32 ? 0 : static_cast<unsigned>(std::bit_width(cycles)) - 6;
  ++latencies_[std::min<std::uint64_t>(shift * 32 + (cycles >> shift), kLatencyBuckets - 1)];
  ++flow.expected;
  flow.state = State::kReady;
  has_become_ready(index);
  outstanding_.store(outstanding_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  transactions_.store(transactions_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// Packets that may be sent now.
std::uint32_t Client::due() const noexcept {
  const std::uint32_t room = config_.window - outstanding_.load(std::memory_order_relaxed);
  const auto handshakes = static_cast<std::uint32_t>(to_acknowledge_.size());
  std::uint64_t wanted = 0;
  if (doing_ == Doing::kConnecting) wanted = flows_.size() - turn_;
  if (doing_ == Doing::kRequesting) wanted = ready_tail_ - ready_head_;
  return handshakes + static_cast<std::uint32_t>(std::min<std::uint64_t>(room, wanted));
}

void Client::make_due(rte_mbuf& mbuf) noexcept {
  if (!to_acknowledge_.empty()) {
    const std::uint32_t index = to_acknowledge_.back();
    to_acknowledge_.pop_back();
    fill(mbuf, index, kAck, 0);
    connected_.store(connected_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    outstanding_.store(outstanding_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    return;
  }
  outstanding_.store(outstanding_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (doing_ == Doing::kConnecting) {
    const std::uint32_t index = turn_++;
    Flow& flow = flows_[index];
    flow.next = index * 0x01000193U;  // any first number will do; each flow has another one
    fill(mbuf, index, kSyn, 0);
    ++flow.next;
    flow.state = State::kSynSent;
    return;
  }
  const std::uint32_t index = next_ready();
  Flow& flow = flows_[index];
  flow.byte = static_cast<std::uint8_t>(flow.next * 31U);
  fill(mbuf, index, kPush | kAck, 1);
  ++flow.next;
  flow.sent_at = static_cast<std::uint32_t>(now_ >> kTimeShift);
  flow.state = State::kAwaiting;
}

void Client::send_due() noexcept {
  std::array<rte_mbuf*, kBurst> mbufs;
  for (std::uint32_t left = due(); left != 0;) {
    unsigned count = 0;
    for (; count < kBurst && left != 0; --left) {
      rte_mbuf* mbuf = an_mbuf();
      if (mbuf == nullptr) left = 1;  // the window is larger than the pool: later
      if (mbuf == nullptr) continue;
      make_due(*mbuf);
      mbufs[count++] = mbuf;
    }
    // The ring takes a whole window, so it has room.
    rte_ring_sp_enqueue_bulk(config_.requests, reinterpret_cast<void**>(mbufs.data()), count,
                             nullptr);
  }
}

/// No answer comes to a reset, so the ring's room is the limit.
void Client::send_resets() noexcept {
  for (unsigned sent = 0; sent < kBurst && turn_ < flows_.size(); ++sent) {
    if (rte_ring_full(config_.requests) != 0) return;
    rte_mbuf* mbuf = an_mbuf();
    if (mbuf == nullptr) return;
    const std::uint32_t index = turn_++;
    fill(*mbuf, index, kRst, 0);
    flows_[index].state = State::kClosed;
    rte_ring_sp_enqueue(config_.requests, mbuf);
    reset_.store(turn_, std::memory_order_relaxed);
  }
}

rte_mbuf* Client::an_mbuf() noexcept {
  if (spares_ != 0) return spare_[--spares_];
  return rte_pktmbuf_alloc(config_.pool);
}

void Client::keep(rte_mbuf* mbuf) noexcept {
  if (spares_ == spare_.size()) return rte_pktmbuf_free(mbuf);
  spare_[spares_++] = mbuf;
}

void Client::fill(rte_mbuf& mbuf, std::uint32_t index, std::uint8_t flags,
                  std::size_t payload) noexcept {
  static const Frame kTemplate = make_template();
  const Flow& flow = flows_[index];
  mbuf.data_off = RTE_PKTMBUF_HEADROOM;
  mbuf.ol_flags = 0;
  mbuf.data_len = kMinFrame;
  mbuf.pkt_len = kMinFrame;
  auto* frame = rte_pktmbuf_mtod(&mbuf, Frame*);
  std::memcpy(frame, &kTemplate, sizeof *frame);
  const std::uint32_t source = kFirstClient + (index >> kPortBits);
  const auto port = static_cast<std::uint16_t>(kFirstPort + (index & ((1U << kPortBits) - 1U)));
  const auto tcp_bytes = static_cast<std::uint16_t>(sizeof(rte_tcp_hdr) + payload);
  const auto ip_bytes = static_cast<std::uint16_t>(sizeof(rte_ipv4_hdr) + tcp_bytes);
  const std::uint32_t acknowledged = (flags & kAck) != 0 ? flow.expected : 0;
  const std::uint64_t addresses = words_of(source) + words_of(kServerAddress);
  frame->ip.total_length = rte_cpu_to_be_16(ip_bytes);
  frame->ip.src_addr = rte_cpu_to_be_32(source);
  frame->ip.hdr_checksum = checksum_of(addresses + 0x4500U + ip_bytes + (64U << 8U) + IPPROTO_TCP);
  frame->tcp.src_port = rte_cpu_to_be_16(port);
  frame->tcp.sent_seq = rte_cpu_to_be_32(flow.next);
  frame->tcp.recv_ack = rte_cpu_to_be_32(acknowledged);
  frame->tcp.tcp_flags = flags;
  std::uint64_t sum = addresses + IPPROTO_TCP + tcp_bytes + port + kServerPort +
                      words_of(flow.next) + words_of(acknowledged) +
                      ((5U << 12U) | std::uint32_t{flags}) + 0xffffU;
  if (payload != 0) {
    frame->payload[0] = flow.byte;
    sum += std::uint64_t{flow.byte} << 8U;
  }
  frame->tcp.cksum = checksum_of(sum);
}

Client::Figures Client::figures() const noexcept {
  return {transactions_.load(std::memory_order_relaxed), wrong_.load(std::memory_order_relaxed),
          busy_cycles_.load(std::memory_order_relaxed)};
}

double Client::latency_quantile(double share) const noexcept {
  std::uint64_t total = 0;
  for (const std::uint64_t count : latencies_) total += count;
  const double limit = share * static_cast<double>(total);
  std::uint64_t sum = 0;
  for (unsigned bucket = 0; bucket < kLatencyBuckets; ++bucket) {
    sum += latencies_[bucket];
    if (static_cast<double>(sum) < limit) continue;
    const unsigned shift = bucket < 64 ? 0 : bucket / 32 - 1;
    return static_cast<double>((std::uint64_t{bucket} - shift * 32 + 1) << shift);
  }
  return 0;
}

}  // namespace mqsteer::bench
