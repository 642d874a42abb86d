#pragma once

#include "eal/eal.h"
#include "handlers/outbox.h"
#include "runtime/lcore_loop.h"
#include "runtime/plan.h"
#include "runtime/rte_memory.h"
#include "steering/bucket_index.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace mqsteer::bench {

/// A measured stretch of time.
struct Run {
  double seconds = 0;
  std::uint64_t received = 0;
  std::uint64_t delivered = 0;
  std::uint64_t checksum = 0;
  std::uint64_t dropped = 0;
  [[nodiscard]] double mpps() const { return static_cast<double>(delivered) / seconds / 1e6; }
};

/// The project's own lcore loops between sources that are not ports of a runtime: what Runtime
/// builds, with any kind of Rx.
template <Handler H, class Rx>
class Rig {
 public:
  struct Lcore {
    std::vector<PolledQueue<Rx>> queues;
    rte_mempool* pool = nullptr;  ///< of its queues
  };
  struct Shape {
    const Eal* eal = nullptr;
    std::vector<Lcore> lcores;  ///< lcore i runs on CPU i and is worker i
    std::vector<WorkerId> workers;
    SteeringMode mode = SteeringMode::kRps;
    std::uint32_t slots = 32768;
    std::vector<Outbox::Port> out_ports;
    H handler;
  };

  explicit Rig(Shape shape)
      : shape_{std::move(shape)},
        table_{{.mode = shape_.mode, .bits = kRpsBucketBits}, HasherConfig{}} {
    table_.want_all(spread(table_.buckets(), shape_.workers, {}), true);
    commands_.table.store(&table_);
    commands_.idle.store(IdlePolicy::kPoll);
    const std::size_t count = shape_.lcores.size();
    for (std::size_t i = 0; i < count * count; ++i) make_pair(i / count, i % count);
    for (std::size_t i = 0; i < count; ++i) make_lcore(i);
  }

  /// The backlog between two lcores; nullptr where the first receives nothing.
  [[nodiscard]] Backlog* backlog(std::size_t from, std::size_t to) {
    auto& pair = pairs_[from * shape_.lcores.size() + to];
    return pair ? &pair->backlog : nullptr;
  }

  /// Runs for a while, drains, and stops. The handlers are at handler(i) afterwards.
  Run run(std::chrono::milliseconds length) {
    issue(Commands::Stage::kRun);
    const auto begin = std::chrono::steady_clock::now();
    std::vector<LcoreTask> tasks;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      auto task = shape_.eal->launch(LcoreId{static_cast<std::uint16_t>(i)},
                                     [loop = states_[i]->loop.get()] { loop->run(); });
      if (task) tasks.push_back(std::move(*task));
    }
    std::this_thread::sleep_for(length);
    issue(Commands::Stage::kDrain);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{2};
    while (!quiet() && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::microseconds{20});
    }
    const auto end = std::chrono::steady_clock::now();
    issue(Commands::Stage::kStop);
    for (LcoreTask& task : tasks) task.join();
    take_back_mbufs();
    Run result{.seconds = std::chrono::duration<double>(end - begin).count()};
    for (const auto& state : states_) {
      result.received += state->rx_packets.read();
      result.delivered += state->worker.packets.read();
    }
    return result;
  }

  [[nodiscard]] std::uint64_t drops() const {
    std::uint64_t sum = 0;
    for (const auto& state : states_) {
      for (std::size_t r = 0; r < kDropReasons; ++r) {
        sum += state->worker.drops.read(static_cast<DropReason>(r));
        for (std::size_t w = 0; w < states_.size(); ++w) {
          const PairCounters* pair = state->loop->towards(WorkerId{static_cast<std::uint16_t>(w)});
          if (pair != nullptr) sum += pair->drops.read(static_cast<DropReason>(r));
        }
      }
    }
    return sum;
  }
  [[nodiscard]] std::uint64_t transmitted() const {
    std::uint64_t sum = 0;
    for (const auto& state : states_) sum += state->worker.tx.read();
    return sum;
  }

 private:
  struct Pair {
    Pair(const Backlog::Shape& backlog_shape, std::pmr::memory_resource& memory)
        : backlog{backlog_shape, memory}, returns{kReturnSlots, memory} {}
    Backlog backlog;
    ReturnRing returns;
  };
  struct State {
    Counter rx_packets;
    Counter rx_bytes;
    WorkerCounters worker;
    LcoreReport report;
    std::unique_ptr<Outbox> outbox;
    std::unique_ptr<LcoreRunner> loop;
  };

  void make_pair(std::size_t from, std::size_t to) {
    pairs_.push_back(nullptr);
    if (shape_.lcores[from].queues.empty()) return;
    const bool own = from == to;
    pairs_.back() =
        std::make_unique<Pair>(Backlog::Shape{.slots = own ? kInPlaceSlots : shape_.slots,
                                              .headers = H::kReadsHeaders,
                                              .in_place = own},
                               memory_);
  }

  void make_lcore(std::size_t index) {
    const std::size_t count = shape_.lcores.size();
    states_.push_back(std::make_unique<State>());
    State& state = *states_.back();
    LcoreParts<Rx> parts;
    parts.queues = shape_.lcores[index].queues;
    for (auto& queue : parts.queues) {
      queue.packets = &state.rx_packets;
      queue.bytes = &state.rx_bytes;
    }
    parts.pool = shape_.lcores[index].pool;
    parts.worker = static_cast<std::uint16_t>(index);
    std::vector<Outbox::Source> sources;
    for (std::size_t other = 0; other < count; ++other) {
      if (auto& pair = pairs_[index * count + other]) {
        parts.to_workers.push_back(&pair->backlog);
        parts.returns.push_back(other == index ? nullptr : &pair->returns);
      }
      auto& from = pairs_[other * count + index];
      if (!from) continue;
      if (other == index) {
        parts.own_source = sources.size();
        parts.source = static_cast<std::uint8_t>(sources.size());
      } else {
        parts.to_us.push_back(&from->backlog);
        parts.to_us_from.push_back(sources.size());
      }
      sources.push_back({shape_.lcores[other].pool, other == index ? nullptr : &from->returns});
    }
    state.outbox = std::make_unique<Outbox>(
        Outbox::Config{.ports_by_id = out_ports_of(index),
                       .sources = sources,
                       .worker = WorkerId{static_cast<std::uint16_t>(index)}},
        state.worker);
    parts.outbox = state.outbox.get();
    parts.worker_counters = &state.worker;
    parts.commands = &commands_;
    parts.report = &state.report;
    state.loop = std::make_unique<LcoreLoop<H, Rx>>(std::move(parts), shape_.handler, memory_);
  }

  /// Each worker has a TX queue of its own.
  std::vector<Outbox::Port> out_ports_of(std::size_t index) {
    auto ports = shape_.out_ports;
    for (Outbox::Port& port : ports) {
      port.queue = TxQueue{port.queue.port(), QueueId{static_cast<std::uint16_t>(index)}};
    }
    return ports;
  }

  void issue(Commands::Stage stage) {
    commands_.stage.store(stage, std::memory_order_relaxed);
    commands_.sequence.fetch_add(1, std::memory_order_release);
  }
  [[nodiscard]] bool quiet() const {
    const std::uint32_t sequence = commands_.sequence.load();
    for (const auto& state : states_) {
      if (state->report.obeyed.load(std::memory_order_acquire) != sequence) return false;
      if (!state->report.quiet.load(std::memory_order_acquire)) return false;
    }
    return true;
  }
  void take_back_mbufs() {
    for (auto& pair : pairs_) {
      std::array<rte_mbuf*, 64> mbufs;
      for (std::size_t n = 0; pair && (n = pair->returns.take(mbufs)) != 0;) {
        rte_pktmbuf_free_bulk(mbufs.data(), static_cast<unsigned>(n));
      }
    }
  }

  Shape shape_;
  SteeringTable table_;
  Commands commands_;
  RteMemory memory_{-1};
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::vector<std::unique_ptr<State>> states_;
};

}  // namespace mqsteer::bench
