#include "contenders.h"

#include "fold.h"
#include "packet/flow_hasher.h"

#include <rte_distributor.h>
#include <rte_ring.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

namespace mqsteer::bench {
namespace {

constexpr LcoreId kRxLcore{0};
constexpr LcoreId kWorkerLcore{1};

/// Folds what the RX lcore copied beside the slot; does not touch the mbuf.
class FoldHeaders {
 public:
  static constexpr bool kReadsHeaders = true;
  static constexpr bool kReadsFlow = true;
  static constexpr bool kHandsOver = false;
  explicit FoldHeaders(std::uint64_t* sum) : sum_{sum} {}
  void run(PacketBurst burst, Outbox& outbox, TscCycles) noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < burst.packets.size(); ++i) {
      sum += fold(burst.headers[i].bytes.data());
    }
    outbox.consume(burst.packets);
    *sum_ += sum;
  }
  void tick(Outbox&, TscCycles) noexcept {}

 private:
  std::uint64_t* sum_;
};

/// Folds the packet itself: in place, it is in the cache.
class FoldPacket {
 public:
  static constexpr bool kReadsHeaders = false;
  static constexpr bool kReadsFlow = true;  // a full dissection is part of what is measured
  static constexpr bool kHandsOver = false;
  explicit FoldPacket(std::uint64_t* sum) : sum_{sum} {}
  void run(PacketBurst burst, Outbox& outbox, TscCycles) noexcept {
    std::uint64_t sum = 0;
    for (const PacketMeta& packet : burst.packets) {
      sum += fold(rte_pktmbuf_mtod(packet.mbuf, const char*));
    }
    outbox.consume(burst.packets);
    *sum_ += sum;
  }
  void tick(Outbox&, TscCycles) noexcept {}

 private:
  std::uint64_t* sum_;
};

/// Waits, as all contenders do, while there is no room for a burst.
struct WaitingRx {
  Intake* intake = nullptr;
  Backlog* const* backlog = nullptr;  ///< set once the rig has made it

  std::size_t receive(std::span<rte_mbuf*> mbufs) noexcept {
    const Backlog& to = **backlog;
    const std::uint32_t enough = static_cast<std::uint32_t>(mbufs.size()) + to.slots() / 16;
    // The head, which the worker writes, is looked at only when what was last seen is used up.
    if (to.room() < enough && to.slots() - (to.tail() - to.head()) < enough) return 0;
    return intake->receive(mbufs);
  }
};

struct PlainRx {
  Intake* intake = nullptr;
  std::size_t receive(std::span<rte_mbuf*> mbufs) noexcept { return intake->receive(mbufs); }
};

/// An RX lcore and a worker lcore running plain functions until told to stop.
template <class RxTurn, class WorkerTurn>
double run_two(const Setting& setting, RxTurn rx_turn, WorkerTurn worker_turn) {
  std::atomic<bool> stop_rx{false};
  std::atomic<bool> stop_worker{false};
  const auto begin = std::chrono::steady_clock::now();
  auto worker = setting.eal->launch(kWorkerLcore, [&] {
    for (bool stopping = false; worker_turn() || !stopping;) {
      stopping = stop_worker.load(std::memory_order_acquire);  // one more turn after it
    }
  });
  auto rx = setting.eal->launch(kRxLcore, [&] {
    while (!stop_rx.load(std::memory_order_relaxed)) rx_turn();
  });
  std::this_thread::sleep_for(setting.length);
  stop_rx.store(true);
  rx->join();
  stop_worker.store(true);
  worker->join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Intake intake_of(const Setting& setting) {
  return {.queue = setting.source->queue(), .flows = setting.rewritten_flows};
}

/// Receives a burst and finds each packet's hash as the lcore loop does.
std::size_t receive_hashed(Intake& intake, const FlowHasher& hasher, std::span<rte_mbuf*> mbufs,
                           std::span<PacketMeta> packets) noexcept {
  const std::size_t count = intake.receive(mbufs);
  for (std::size_t i = 0; i < count; ++i) packets[i] = PacketMeta{.mbuf = mbufs[i]};
  hasher.run(packets.first(count));
  return count;
}

}  // namespace

Run run_mqsteer(const Setting& setting) {
  Intake intake = intake_of(setting);
  std::uint64_t sum = 0;
  Backlog* backlog = nullptr;
  Rig<FoldHeaders, WaitingRx> rig{{.eal = setting.eal,
                                   .lcores = {{.queues = {{.queue = {&intake, &backlog}}},
                                               .pool = setting.source->pool().raw()},
                                              {}},
                                   .workers = {WorkerId{1}},
                                   .handler = FoldHeaders{&sum}}};
  backlog = rig.backlog(0, 1);
  Run run = rig.run(setting.length);
  run.received = intake.received;
  run.checksum = sum;
  run.dropped = rig.drops();
  return run;
}

Run run_none(const Setting& setting) {
  Intake intake = intake_of(setting);
  std::uint64_t sum = 0;
  Rig<FoldPacket, PlainRx> rig{
      {.eal = setting.eal,
       .lcores = {{.queues = {{.queue = {&intake}}}, .pool = setting.source->pool().raw()}},
       .workers = {WorkerId{0}},
       .mode = SteeringMode::kNone,
       .handler = FoldPacket{&sum}}};
  Run run = rig.run(setting.length);
  run.received = intake.received;
  run.checksum = sum;
  run.dropped = rig.drops();
  return run;
}

Run run_rte_ring(const Setting& setting) {
  const FlowHasher hasher{HasherConfig{}};
  Intake intake = intake_of(setting);
  Run run;
  rte_ring* ring =
      rte_ring_create("bench_hand_over", 32768, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  std::array<rte_mbuf*, kMaxBurst> in;
  std::array<PacketMeta, kMaxBurst> packets;
  run.seconds = run_two(
      setting,
      [&] {
        const std::size_t count = receive_hashed(intake, hasher, in, packets);
        for (std::size_t done = 0; done < count;) {
          done += rte_ring_sp_enqueue_burst(ring, reinterpret_cast<void**>(in.data() + done),
                                            static_cast<unsigned>(count - done), nullptr);
        }
      },
      [&] {
        std::array<rte_mbuf*, kMaxBurst> out;
        const unsigned count = rte_ring_sc_dequeue_burst(ring, reinterpret_cast<void**>(out.data()),
                                                         out.size(), nullptr);
        for (unsigned i = 0; i < count; ++i) {
          run.checksum += fold(rte_pktmbuf_mtod(out[i], const char*));
        }
        rte_pktmbuf_free_bulk(out.data(), count);
        run.delivered += count;
        return count != 0;
      });
  rte_ring_free(ring);
  run.received = intake.received;
  return run;
}

namespace {

/// rte_distributor in burst mode with one worker, which frees what it gets.
class DistributorRun {
 public:
  explicit DistributorRun(const Setting& setting)
      : setting_{setting}, intake_{intake_of(setting)} {}

  Run run() {
    const auto begin = std::chrono::steady_clock::now();
    auto rx = setting_.eal->launch(kRxLcore, [this] { receive(); });
    auto worker = setting_.eal->launch(kWorkerLcore, [this] { work(); });
    std::this_thread::sleep_for(setting_.length);
    stop_rx_.store(true);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{1};
    while (delivered_.read() != received_.load() && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::microseconds{20});
    }
    const auto length = std::chrono::steady_clock::now() - begin;
    stop_worker_.store(true);
    worker->join();
    rx->join();
    return {.seconds = std::chrono::duration<double>(length).count(),
            .received = intake_.received,
            .delivered = delivered_.read(),
            .checksum = checksum_};
  }

 private:
  /// DPDK has no call to free a distributor: one serves all runs.
  static rte_distributor* distributor() {
    static rte_distributor* const made =
        rte_distributor_create("bench", SOCKET_ID_ANY, 1, RTE_DIST_ALG_BURST);
    return made;
  }

  void receive() noexcept {
    while (!stop_rx_.load(std::memory_order_relaxed)) rx_turn();
    received_.store(intake_.received);
    // The worker's request blocks while nobody processes.
    while (!worker_left_.load()) rte_distributor_process(distributor(), nullptr, 0);
  }

  void rx_turn() noexcept {
    std::array<rte_mbuf*, kMaxBurst> in;
    std::array<PacketMeta, kMaxBurst> packets;
    const std::size_t count = receive_hashed(intake_, hasher_, in, packets);
    for (std::size_t i = 0; i < count; ++i) in[i]->hash.usr = packets[i].hash;
    for (std::size_t done = 0; done < count;) {
      done += static_cast<std::size_t>(rte_distributor_process(
          distributor(), in.data() + done, static_cast<unsigned>(count - done)));
    }
    // The worker frees; what it hands back is nothing, but the books must be kept.
    std::array<rte_mbuf*, kMaxBurst> none;
    rte_distributor_returned_pkts(distributor(), none.data(), none.size());
  }

  void work() noexcept {
    while (!stop_worker_.load(std::memory_order_relaxed)) worker_turn();
    worker_left_.store(true);
  }

  void worker_turn() noexcept {
    std::array<rte_mbuf*, 8> out;
    if (!asked_) rte_distributor_request_pkt(distributor(), 0, nullptr, 0);
    asked_ = true;
    const int count = rte_distributor_poll_pkt(distributor(), 0, out.data());
    if (count < 0) return;
    asked_ = false;
    for (const rte_mbuf* mbuf : std::span{out}.first(static_cast<std::size_t>(count))) {
      checksum_ += fold(rte_pktmbuf_mtod(mbuf, const char*));
    }
    rte_pktmbuf_free_bulk(out.data(), static_cast<unsigned>(count));
    delivered_.add(static_cast<std::uint64_t>(count));
  }

  const Setting& setting_;
  FlowHasher hasher_{HasherConfig{}};
  Intake intake_;
  std::atomic<bool> stop_rx_{false};
  std::atomic<bool> stop_worker_{false};
  std::atomic<bool> worker_left_{false};
  std::atomic<std::uint64_t> received_{UINT64_MAX};
  Counter delivered_;
  std::uint64_t checksum_ = 0;
  bool asked_ = false;
};

}  // namespace

Run run_distributor(const Setting& setting) {
  return DistributorRun{setting}.run();
}

Run run_rxonly(const Setting& setting) {
  Intake intake = intake_of(setting);
  Run run;
  std::atomic<bool> stop{false};
  const auto begin = std::chrono::steady_clock::now();
  auto task = setting.eal->launch(kRxLcore, [&] {
    std::uint64_t sum = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      std::array<rte_mbuf*, kMaxBurst> mbufs;
      const std::size_t count = intake.receive(mbufs);
      for (std::size_t i = 0; i < count; ++i) sum += fold(rte_pktmbuf_mtod(mbufs[i], const char*));
      rte_pktmbuf_free_bulk(mbufs.data(), static_cast<unsigned>(count));
    }
    run.checksum = sum;
  });
  std::this_thread::sleep_for(setting.length);
  stop.store(true);
  task->join();
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.received = run.delivered = intake.received;
  return run;
}

std::uint64_t round_trip_tsc(const Eal& eal) {
  constexpr std::uint32_t kTrips = 20'000;
  struct alignas(64) Line {
    std::atomic<std::uint32_t> ball{0};
  } line;
  std::vector<std::uint64_t> trips(kTrips);
  auto far = eal.launch(kWorkerLcore, [&] {
    for (std::uint32_t i = 0; i < kTrips; ++i) {
      while (line.ball.load(std::memory_order_acquire) != 2 * i + 1) {
      }
      line.ball.store(2 * i + 2, std::memory_order_release);
    }
  });
  auto near = eal.launch(kRxLcore, [&] {
    for (std::uint32_t i = 0; i < kTrips; ++i) {
      const std::uint64_t begin = tsc_now().value();
      line.ball.store(2 * i + 1, std::memory_order_release);
      while (line.ball.load(std::memory_order_acquire) != 2 * i + 2) {
      }
      trips[i] = tsc_now().value() - begin;
    }
  });
  near->join();
  far->join();
  std::nth_element(trips.begin(), trips.begin() + kTrips / 2, trips.end());
  return trips[kTrips / 2];
}

namespace {

/// The NIC of the paced run: descriptors fill by the clock, and what finds the ring full is lost. A
/// receive does what a PMD does, and the copy that a NIC would leave to DMA.
struct PacedNic {
  static constexpr std::uint64_t kDescriptors = 4096;
  rte_mempool* pool = nullptr;
  std::span<const Source::Frame> frames;
  double per_cycle = 0;
  PacedRun figures;
  std::uint64_t start = 0;
  std::uint64_t received = 0;
  std::size_t next = 0;

  std::size_t receive(std::span<rte_mbuf*> mbufs) noexcept {
    const std::uint64_t now = tsc_now().value();
    if (start == 0) start = now;
    figures.offered = static_cast<std::uint64_t>(static_cast<double>(now - start) * per_cycle);
    std::uint64_t waiting = figures.offered - figures.nic_lost - received;
    if (waiting > kDescriptors) {
      figures.nic_lost += waiting - kDescriptors;
      waiting = kDescriptors;
    }
    const std::size_t count = std::min<std::size_t>(waiting, mbufs.size());
    if (count == 0) return 0;
    if (rte_pktmbuf_alloc_bulk(pool, mbufs.data(), static_cast<unsigned>(count)) != 0) return 0;
    for (rte_mbuf* mbuf : mbufs.first(count)) {
      std::memcpy(rte_pktmbuf_mtod(mbuf, char*), frames[next].data(), Source::kFrameBytes);
      mbuf->pkt_len = mbuf->data_len = Source::kFrameBytes;
      if (++next == frames.size()) next = 0;
    }
    received += count;
    return count;
  }
};

struct PacedRx {
  PacedNic* nic = nullptr;
  std::size_t receive(std::span<rte_mbuf*> mbufs) noexcept { return nic->receive(mbufs); }
};

}  // namespace

PacedRun run_paced(const Setting& setting, double mpps) {
  Source& source = *setting.source;
  PacedNic nic{.pool = source.pool().raw(),
               .frames = source.frames(),
               .per_cycle = mpps * 1e6 / static_cast<double>(tsc_hz())};
  std::uint64_t sum = 0;
  Rig<FoldHeaders, PacedRx> rig{
      {.eal = setting.eal,
       .lcores = {{.queues = {{.queue = {&nic}}}, .pool = source.pool().raw()}, {}},
       .workers = {WorkerId{1}},
       .handler = FoldHeaders{&sum}}};
  const Run run = rig.run(setting.length);
  PacedRun paced = nic.figures;
  paced.delivered = run.delivered;
  paced.dropped = rig.drops();
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < nic.received; ++i) {
    expected += fold(nic.frames[i % nic.frames.size()].data());
  }
  paced.checksum_good =
      run.delivered + paced.dropped == nic.received && (paced.dropped != 0 || sum == expected);
  return paced;
}

}  // namespace mqsteer::bench
