#pragma once

#include "eal/clock.h"
#include "port/port.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace mqsteer::bench {

/// The far end of a mono-queue NIC: a closed-loop client of many TCP connections, each with one
/// request of one byte outstanding at most, and no more than `window` of all at once.
///
/// It talks to a ring port: requests into its RX ring, responses from its TX rings. Where there are
/// few connections, they take their turns in the order in which they became ready. Where there are
/// many, that would gather those of one worker into ever longer runs, during which the others stand
/// idle (measured: two workers, a third of their time each); so they take their turns by
/// number, and one whose response is still awaited misses its turn. Every response is held
/// against what it must be: sequence numbers, acknowledgement, and the byte.
///
/// thread: the RX lcore, which calls step() before each receive; figures when that is at rest
class Client {
 public:
  struct Config {
    rte_ring* requests = nullptr;
    std::vector<rte_ring*> responses;  ///< one a TX queue of the port
    rte_mempool* pool = nullptr;       ///< for as many mbufs as the window
    std::uint32_t window = 1024;       ///< no more than the rings hold
  };
  static constexpr std::uint32_t kMostFlows = 1U << 20U;
  static constexpr std::uint32_t kServerAddress = 0x0a090001;  ///< 10.9.0.1
  static constexpr std::uint16_t kServerPort = 7;

  /// What the client does in step(). Changed while nobody steps, or by want().
  enum class Doing : std::uint8_t {
    kNothing,
    kConnecting,  ///< each connection once, to the end of its handshake
    kRequesting,
    kFinishing,  ///< no new requests; responses are taken
    kResetting,  ///< each connection once: RST
  };

  explicit Client(Config config);

  /// `flows` connections, all closed. The previous ones were reset.
  void prepare(std::uint32_t flows);
  /// All connections are to be reset, the first one first. Nobody steps.
  void begin_resets() noexcept {
    turn_ = 0;
    reset_ = 0;
  }
  /// One thread: what to do from the next step on. Pairs with the acquire in step().
  void want(Doing doing) noexcept {
    wish_ = ((wish_ >> 8U) + 1U) << 8U | static_cast<std::uint32_t>(doing);
    wanted_.store(wish_, std::memory_order_release);
  }
  /// Whether the latest wish is followed and no step that began before it is under way. The thread
  /// that calls want().
  [[nodiscard]] bool obeys() const noexcept {
    return seen_.load(std::memory_order_acquire) == wish_;
  }

  /// Takes responses and sends what is due; called as often as the port is polled.
  void step() noexcept;

  struct Figures {
    std::uint64_t transactions = 0;
    std::uint64_t wrong = 0;        ///< responses that were not what they must be
    std::uint64_t busy_cycles = 0;  ///< TSC cycles spent in step()
  };
  /// Any thread; each is exact on its own.
  [[nodiscard]] Figures figures() const noexcept;
  /// Any thread: connections whose handshake is done, responses that are awaited, resets sent.
  [[nodiscard]] std::uint32_t connected() const noexcept {
    return connected_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t outstanding() const noexcept {
    return outstanding_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t reset() const noexcept {
    return reset_.load(std::memory_order_relaxed);
  }

  /// Times of responses in TSC cycles, by kLatencyBuckets log-linear buckets (1/32 wide).
  static constexpr unsigned kLatencyBuckets = 1024;
  void clear_latencies() noexcept { latencies_.fill(0); }
  /// The latency that a share of the responses does not exceed, in TSC cycles. At rest.
  [[nodiscard]] double latency_quantile(double share) const noexcept;

 private:
  enum class State : std::uint8_t { kClosed, kSynSent, kReady, kAwaiting };
  /// 16 bytes: four to a cache line.
  struct Flow {
    std::uint32_t next = 0;      ///< our next sequence number
    std::uint32_t expected = 0;  ///< the server's next
    std::uint32_t sent_at = 0;   ///< TSC >> kTimeShift
    State state = State::kClosed;
    std::uint8_t byte = 0;  ///< of the latest request
  };
  static constexpr unsigned kTimeShift = 4;  ///< 32 bits last half a minute
  static constexpr std::size_t kBurst = 64;
  static constexpr std::size_t kSpares = 256;

  void take_responses() noexcept;
  void judge(const rte_mbuf& mbuf, std::uint32_t index) noexcept;
  void has_become_ready(std::uint32_t index) noexcept;
  void accept(Flow& flow, std::uint32_t index, std::uint32_t sequence) noexcept;
  void complete(Flow& flow, std::uint32_t index) noexcept;
  void send_due() noexcept;
  void send_resets() noexcept;
  [[nodiscard]] std::uint32_t due() const noexcept;
  [[nodiscard]] bool takes_turns() const noexcept { return flows_.size() >= 4ULL * config_.window; }
  [[nodiscard]] std::uint32_t index_of(const rte_mbuf& mbuf) const noexcept;
  [[nodiscard]] std::uint32_t next_ready() noexcept;
  void make_due(rte_mbuf& mbuf) noexcept;
  void fill(rte_mbuf& mbuf, std::uint32_t index, std::uint8_t flags, std::size_t payload) noexcept;
  [[nodiscard]] rte_mbuf* an_mbuf() noexcept;
  void keep(rte_mbuf* mbuf) noexcept;

  Config config_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> ready_;  ///< a ring of flows, of a power of two
  std::uint64_t ready_head_ = 0;
  std::uint64_t ready_tail_ = 0;
  std::uint32_t request_turn_ = 0;             ///< where connections take turns: whose it is
  std::uint32_t turn_ = 0;                     ///< next flow to connect or reset
  std::vector<std::uint32_t> to_acknowledge_;  ///< handshakes to finish; at most one window
  std::array<rte_mbuf*, kSpares> spare_{};
  std::size_t spares_ = 0;
  Doing doing_ = Doing::kNothing;
  std::uint64_t now_ = 0;
  std::array<std::uint64_t, kLatencyBuckets> latencies_{};
  std::uint32_t wish_ = 0;  ///< number of the wish << 8 | what
  std::atomic<std::uint32_t> wanted_{0};
  std::atomic<std::uint32_t> seen_{0};  ///< wanted_ of the latest step that has ended
  std::atomic<std::uint64_t> transactions_{0};
  std::atomic<std::uint64_t> wrong_{0};
  std::atomic<std::uint64_t> busy_cycles_{0};
  std::atomic<std::uint32_t> connected_{0};
  std::atomic<std::uint32_t> outstanding_{0};
  std::atomic<std::uint32_t> reset_{0};
};

/// The RX queue of the port, with the client's turn before each receive: both on one CPU.
struct ClientPort {
  RxQueue queue;
  Client* client = nullptr;
  std::size_t receive(std::span<rte_mbuf*> mbufs) const noexcept {
    client->step();
    return queue.receive(mbufs);
  }
};

}  // namespace mqsteer::bench
