// The life of a runtime and its figures. Built in runtime_build.cpp, steered in
// runtime_steering.cpp.

#include "runtime/runtime.h"

#include "runtime/runtime_parts.h"

#include <algorithm>
#include <thread>

namespace mqsteer {
namespace {

constexpr std::chrono::milliseconds kDrainLimit{2000};
constexpr std::chrono::milliseconds kLeaveLimit{3000};

}  // namespace

Runtime::~Runtime() {
  // A stuck lcore still uses what we own; the caller was told by stop().
  if (!stop()) std::abort();
}

Expected<void> Runtime::stop() {
  if (stopped_) return {};
  commands_->stage.store(Commands::Stage::kDrain, std::memory_order_relaxed);
  issue();
  if (tasks_.size() == lcores_.size()) (void)wait_for(kDrainLimit, [this] { return all_quiet(); });
  commands_->stage.store(Commands::Stage::kStop, std::memory_order_relaxed);
  issue();
  const auto all_left = [this] {
    return std::all_of(tasks_.begin(), tasks_.end(), [](const auto& t) { return !t.running(); });
  };
  if (!wait_for(kLeaveLimit, all_left)) {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (!tasks_[i].running()) continue;
      return fail("stop: lcore " + std::to_string(plan_.lcores[i].lcore.value()) + " (worker " +
                  std::to_string(plan_.lcores[i].worker.value()) +
                  ") does not come back from its handler");
    }
  }
  for (LcoreTask& task : tasks_) task.join();
  drop_leftovers();
  std::this_thread::sleep_for(time_to_empty_tx_rings());
  for (auto& port : ports_) port->stop();
  stopped_ = true;
  return {};
}

/// How long a frame at the end of a full TX ring takes, at most, on any port where it does not
/// leave at once.
std::chrono::microseconds Runtime::longest_tx_ring() const {
  std::uint64_t longest = 0;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (ports_[i]->tx_departure() == TxDeparture::kAtOnce) continue;
    const std::uint64_t frame = links_[i]->frame_cycles.load(std::memory_order_relaxed);
    longest = std::max(longest, tx_ring_frames(i) * frame);
  }
  return std::chrono::microseconds{tsc_to_ns(TscCycles{longest}, tsc_hz()) / 1000};
}

/// The frames that may wait behind one TX queue. An AF_XDP socket's ring has the NIC's own behind
/// it, which is taken to be as long.
std::uint32_t Runtime::tx_ring_frames(std::size_t port) const {
  const std::uint32_t rings = ports_[port]->capabilities().profile->is_virtual ? 2 : 1;
  return plan_.ports[port].tx_descriptors * rings;
}

/// returns: whether it is up
bool Runtime::look_at_link(std::size_t port) {
  constexpr std::uint64_t kPreambleFcsGap = 24;  // IEEE 802.3
  constexpr std::uint32_t kAssumedMbps = 1000;   // a link whose speed is not known: a slow one
  const bool up = ports_[port]->link_up();
  links_[port]->up.store(up, std::memory_order_relaxed);
  const std::uint32_t told = ports_[port]->link_mbps();
  const std::uint64_t bits = (ports_[port]->max_frame_bytes() + kPreambleFcsGap) * 8;
  const std::uint64_t ns = bits * 1000 / (told == 0 ? kAssumedMbps : told);
  links_[port]->frame_cycles.store(ns_to_tsc(ns * ports_[port]->tx_queues(), tsc_hz()).value(),
                                   std::memory_order_relaxed);
  return up;
}

/// Taken by tx_burst is not yet on the wire, and a NIC that is stopped forgets its TX ring.
std::chrono::microseconds Runtime::time_to_empty_tx_rings() const {
  const bool wires = std::ranges::any_of(
      ports_, [](const auto& port) { return port->capabilities().kernel_bypass; });
  const std::uint64_t longest_us =
      wires ? static_cast<std::uint64_t>(longest_tx_ring().count()) : 0;
  constexpr std::uint64_t kLimitUs = 100'000;
  return std::chrono::microseconds{std::min(longest_us, kLimitUs)};
}

/// The lcores have left: what a stalled or overloaded worker never finished is counted as its.
void Runtime::drop_leftovers() {
  for (const auto& from : lcores_) {
    for (std::size_t to = 0; to < from->hand_over.size(); ++to) {
      HandOverRing* ring = from->hand_over[to].get();
      while (ring != nullptr && ring->look() != 0) {
        const auto packets = ring->take(ring->look());
        for (const PacketMeta& packet : packets) rte_pktmbuf_free(packet.mbuf);
        lcores_[to]->worker.taken_over.add(packets.size());
        lcores_[to]->worker.drops.add(DropReason::kWorkerStalled, packets.size());
        ring->finish();
      }
    }
  }
  const std::size_t workers = plan_.lcores.size();
  for (std::size_t at = 0; at < pairs_.size(); ++at) {
    if (!pairs_[at]) continue;
    Lcore* worker = at % workers < lcores_.size() ? lcores_[at % workers].get() : nullptr;
    Backlog& backlog = pairs_[at]->backlog;
    while (backlog.look() != 0) {
      const PacketBurst burst = backlog.take(std::min<std::uint64_t>(backlog.look(), kMaxBurst));
      for (const PacketMeta& packet : burst.packets) rte_pktmbuf_free(packet.mbuf);
      worker->worker.packets.add(burst.packets.size());
      worker->worker.drops.add(DropReason::kWorkerStalled, burst.packets.size());
    }
    backlog.finish();
    if (!pairs_[at]->returns) continue;
    std::array<rte_mbuf*, kMaxBurst> mbufs;
    for (std::size_t count = 0; (count = pairs_[at]->returns->take(mbufs)) != 0;) {
      rte_pktmbuf_free_bulk(mbufs.data(), static_cast<unsigned>(count));
    }
  }
}

std::vector<std::string> Runtime::poll_links() {
  std::vector<std::string> changes;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const bool was_up = links_[i]->up.load(std::memory_order_relaxed);
    const bool up = look_at_link(i);
    if (up == was_up) continue;
    changes.push_back(plan_.ports[i].name +
                      (up ? ": link up" : ": link down; frames to it are dropped as dev_ready"));
  }
  return changes;
}

std::vector<std::size_t> Runtime::stalled_lcores() {
  std::vector<std::size_t> stalled;
  for (std::size_t i = 0; i < lcores_.size(); ++i) {
    const std::uint64_t turns = lcores_[i]->report.turns.read();
    if (turns == turns_seen_[i] && turns != 0) stalled.push_back(i);
    turns_seen_[i] = turns;
  }
  return stalled;
}

Snapshot Runtime::snapshot() {
  Snapshot snapshot;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const PortCapabilities& port = ports_[i]->capabilities();
    snapshot.ports.push_back({.name = port.name,
                              .device = port.device,
                              .driver = port.driver,
                              .description = port.description,
                              .link_up = links_[i]->up.load(std::memory_order_relaxed),
                              .link_mbps = port.link_mbps,
                              .mtu = ports_[i]->mtu(),
                              .tx_queues = ports_[i]->tx_queues(),
                              .counters = ports_[i]->counters()});
  }
  for (std::size_t i = 0; i < lcores_.size(); ++i) {
    const PlannedLcore& planned = plan_.lcores[i];
    for (std::size_t queue = 0; queue < planned.rx.size(); ++queue) {
      snapshot.ports[planned.rx[queue].port].queues.push_back(
          {.queue = planned.rx[queue].queue,
           .lcore = planned.lcore,
           .rx_packets = lcores_[i]->rx_packets[queue].read(),
           .rx_bytes = lcores_[i]->rx_bytes[queue].read()});
    }
    WorkerFigures figures{.worker = planned.worker, .lcore = planned.lcore};
    add_figures(*lcores_[i], figures);
    snapshot.workers.push_back(figures);
  }
  for (PortFigures& port : snapshot.ports) {
    std::sort(port.queues.begin(), port.queues.end(),
              [](const auto& a, const auto& b) { return a.queue < b.queue; });
  }
  for (const auto& lcore : lcores_) {
    const FragmentCounters* fragments = lcore->loop->fragments();
    if (fragments == nullptr) continue;
    snapshot.fragments.tracked += fragments->tracked.read();
    snapshot.fragments.missed += fragments->missed.read();
    snapshot.fragments.held += fragments->held.read();
  }
  snapshot.balanced = balanced_;
  snapshot.totals = totals_of(snapshot);
  return snapshot;
}

void Runtime::add_figures(const Lcore& lcore, WorkerFigures& figures) const {
  const std::size_t workers = plan_.lcores.size();
  const std::uint16_t number = figures.worker.value();
  figures.abandoned = abandoned_[number];
  const auto listed = workers_of(plan_, config_.steering);
  figures.listed = std::find(listed.begin(), listed.end(), figures.worker) != listed.end();
  figures.packets = lcore.worker.packets.read();
  figures.tx = lcore.worker.tx.read();
  figures.consumed = lcore.worker.consumed.read();
  figures.pause_frames = lcore.worker.pause_frames.read();
  figures.originated = lcore.worker.originated.read();
  figures.handed_over = lcore.worker.handed_over.read();
  figures.taken_over = lcore.worker.taken_over.read();
  figures.order_checked = lcore.worker.order.checked.read();
  figures.reordered = lcore.worker.order.reordered.read();
  figures.order_unjudged = lcore.worker.order.unjudged.read();
  if (handler_figures_) figures.handler = handler_figures_(figures.worker);
  figures.turns = lcore.report.turns.read();
  figures.busy_cycles = lcore.report.busy_cycles.read();
  figures.idle_cycles = lcore.report.idle_cycles.read();
  for (std::size_t r = 0; r < kDropReasons; ++r) {
    figures.drops[r] = lcore.worker.drops.read(static_cast<DropReason>(r));
  }
  if (config_.steering.mode != SteeringMode::kNone) {
    for (std::uint32_t b = 0; b < table().buckets(); ++b) {
      if (table().desired(b).worker() == number) ++figures.buckets;
    }
  }
  for (std::size_t rx = 0; rx < workers; ++rx) {
    if (!pairs_[rx * workers + number]) continue;
    const Backlog& backlog = pairs_[rx * workers + number]->backlog;
    const std::uint64_t head = backlog.head();
    const std::uint64_t published = backlog.published();
    figures.backlog += published > head ? published - head : 0;
    const PairCounters* pair = lcores_[rx]->loop->towards(figures.worker);
    figures.moves += pair->moves.read();
    figures.moves_held += pair->moves_held.read();
    figures.wrong_worker += pair->wrong_worker.read();
    for (std::size_t r = 0; r < kDropReasons; ++r) {
      figures.drops[r] += pair->drops.read(static_cast<DropReason>(r));
    }
  }
}

TotalFigures Runtime::totals_of(const Snapshot& snapshot) const {
  TotalFigures totals;
  for (const PortFigures& port : snapshot.ports) {
    for (const QueueFigures& queue : port.queues) totals.rx += queue.rx_packets;
  }
  for (std::size_t i = 0; i < snapshot.workers.size(); ++i) {
    const WorkerFigures& worker = snapshot.workers[i];
    totals.tx += worker.tx;
    totals.consumed += worker.consumed;
    totals.originated += lcores_[i]->worker.originated.read();
    totals.copies += lcores_[i]->worker.copies.read();
    totals.in_flight += worker.backlog + lcores_[i]->report.held.load(std::memory_order_relaxed);
    for (const auto& ring : lcores_[i]->hand_over) {
      if (ring != nullptr) totals.in_flight += ring->waiting();
    }
    for (std::size_t r = 0; r < kDropReasons; ++r) totals.drops[r] += worker.drops[r];
  }
  for (const PortFigures& port : snapshot.ports) {
    // While packets flow, the driver may have counted a loss that its worker has not counted as
    // sent.
    const std::uint64_t lost = std::min(port.counters.tx_taken_lost, totals.tx);
    totals.tx -= lost;
    totals.drops[static_cast<std::size_t>(DropReason::kTxError)] += lost;
  }
  return totals;
}

void Runtime::issue() {
  commands_->sequence.fetch_add(1, std::memory_order_release);
}

bool Runtime::waited_for(std::size_t lcore) const {
  return !abandoned_[lcore] || !plan_.lcores[lcore].rx.empty();
}

bool Runtime::all_obeyed() const {
  const std::uint32_t sequence = commands_->sequence.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < lcores_.size(); ++i) {
    const bool obeyed = lcores_[i]->report.obeyed.load(std::memory_order_acquire) == sequence;
    if (waited_for(i) && !obeyed) return false;
  }
  return true;
}

bool Runtime::all_quiet() const {
  if (!all_obeyed()) return false;
  for (std::size_t i = 0; i < lcores_.size(); ++i) {
    const bool quiet = lcores_[i]->report.quiet.load(std::memory_order_acquire);
    if (waited_for(i) && !quiet) return false;
  }
  return true;
}

bool Runtime::wait_for(std::chrono::milliseconds limit, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() >= deadline) return done();
    std::this_thread::sleep_for(std::chrono::microseconds{50});
  }
  return true;
}

}  // namespace mqsteer
