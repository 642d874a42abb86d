// What Runtime::start puts together: pools, ports, pairs, lcores.

#include "handlers/forward.h"
#include "runtime/runtime.h"
#include "runtime/runtime_parts.h"

#include <algorithm>
#include <new>

namespace mqsteer {

PortFacts facts_of(const PortCapabilities& port, const PortConfig& config) {
  const std::uint16_t mtu = config.mtu.value_or(port.mtu);
  return {.name = port.name,
          .min_rx_queues = port.min_rx_queues,
          .max_rx_queues = port.max_rx_queues,
          .max_tx_queues = port.max_tx_queues,
          .paired_queues = port.paired_queues,
          .min_rx_descriptors = port.min_rx_descriptors,
          .max_rx_descriptors = port.max_rx_descriptors,
          .min_tx_descriptors = port.min_tx_descriptors,
          .max_tx_descriptors = port.max_tx_descriptors,
          .link_mbps = port.link_mbps,
          .mtu = mtu,
          .reta_entries = port.reta_entries,
          .merges_fragments = port.profile->merges_fragments,
          .data_room_bytes = port.data_room_bytes(mtu),
          .mbufs_held_per_queue = port.mbufs_held(config.rx_descriptors, config.rx_descriptors)};
}

std::vector<PortId> peers_of(const Config& config, const std::vector<PortCapabilities>& ports) {
  std::uint16_t highest = 0;
  for (const auto& port : ports) highest = std::max(highest, port.id.value());
  std::vector<PortId> peers(highest + std::size_t{1}, Forward::kNoPeer);
  const auto id_of = [&](const std::string& name) {
    const auto named = [&](const PortCapabilities& port) { return port.name == name; };
    return std::find_if(ports.begin(), ports.end(), named)->id;
  };
  for (const BridgeConfig& bridge : config.bridges) {
    const PortId left = id_of(bridge.ports[0]);
    const PortId right = id_of(bridge.ports[1]);
    peers[left.value()] = right;
    peers[right.value()] = left;
  }
  return peers;
}

namespace {

/// The number of an RX queue among all of the box.
std::uint16_t stream_of(const Plan& plan, const PlannedQueue& queue) {
  std::uint32_t before = 0;
  for (std::size_t port = 0; port < queue.port; ++port) before += plan.ports[port].rx_queues;
  return static_cast<std::uint16_t>(before + queue.queue.value());
}

bool descriptor_is_done(const TxGuard::Queue& queue, std::uint16_t offset) noexcept {
  return rte_eth_tx_descriptor_status(queue.port, queue.queue, offset) == RTE_ETH_TX_DESC_DONE;
}

}  // namespace

/// The worker that transmits on an endpoint's TX queue of the same number: the endpoint's own rule
/// for who consumes what (virtio 1.2, 5.1.6.5.5.1 "automatic receive steering").
std::uint16_t Runtime::consumer_of(const PlannedQueue& queue) const {
  const Port& port = *ports_[queue.port];
  if (!port.capabilities().profile->endpoint || queue.queue.value() >= port.tx_queues()) {
    return 0xffff;
  }
  return queue.queue.value();  // out_ports_of(): worker n transmits on queue n % tx_queues
}

std::vector<HandOverRing*> Runtime::rings_from(std::size_t worker) const {
  std::vector<HandOverRing*> rings;
  for (const auto& ring : lcores_[worker]->hand_over) rings.push_back(ring.get());
  return rings;
}

std::vector<HandOverRing*> Runtime::rings_to(std::size_t worker) const {
  std::vector<HandOverRing*> rings;
  for (std::size_t from = 0; from < lcores_.size(); ++from) {
    if (from != worker && !lcores_[from]->hand_over.empty()) {
      rings.push_back(lcores_[from]->hand_over[worker].get());
    }
  }
  return rings;
}

TxGuard Runtime::make_tx_guard(std::size_t index) const {
  TxGuard::Config config{.is_done = descriptor_is_done};
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const Port& port = *ports_[i];
    if (port.tx_departure() == TxDeparture::kAtOnce) continue;
    const bool shared = tx_locks_->by_port[i] != nullptr;
    config.queues.push_back({.port = port.id().value(),
                             .queue = static_cast<std::uint16_t>(index % port.tx_queues()),
                             .descriptors = tx_ring_frames(i),
                             .shared = shared,
                             .by_status = !shared && port.tx_departure() == TxDeparture::kStatus,
                             .sent = lcores_[index]->outbox->sent_to(port.id()),
                             .frame_cycles = &links_[i]->frame_cycles});
  }
  for (const HandOverRing* ring : rings_from(index)) config.rings.push_back(ring);
  std::vector<Backlog*> backlogs;
  for (std::size_t rx = 0; rx < lcores_.size(); ++rx) {
    const auto& pair = pairs_[rx * lcores_.size() + index];
    if (pair) backlogs.push_back(&pair->backlog);
  }
  return TxGuard{std::move(config), std::move(backlogs)};
}

Runtime::Runtime(Setup setup)
    : eal_{setup.eal},
      config_{std::move(setup.config)},
      plan_{std::move(setup.plan)},
      loops_{std::move(setup.loops)},
      tx_locks_{std::make_unique<TxLocks>()},
      handler_figures_{std::move(setup.figures)},
      checksums_{setup.checksums},
      commands_{std::make_unique<Commands>()},
      abandoned_(plan_.lcores.size()),
      turns_seen_(plan_.lcores.size()) {}

Expected<std::unique_ptr<Runtime>> Runtime::start(Setup setup) {
  std::vector<PortCapabilities> capabilities = std::move(setup.ports);
  std::unique_ptr<Runtime> runtime{new Runtime{std::move(setup)}};
  for (const PlannedLcore& lcore : runtime->plan_.lcores) {
    runtime->pools_.push_back(nullptr);
    if (lcore.rx.empty()) continue;
    auto pool = Mempool::create("rx_lcore_" + std::to_string(lcore.lcore.value()),
                                {.mbufs = lcore.pool_mbufs,
                                 .data_room_bytes = lcore.data_room_bytes,
                                 .cache = kPoolCache,
                                 .numa_node = numa_node_of(lcore.lcore)});
    if (!pool) return tl::unexpected(pool.error());
    runtime->pools_.back() = std::make_unique<Mempool>(std::move(*pool));
  }
  if (auto done = runtime->start_ports(std::move(capabilities)); !done) {
    return tl::unexpected(done.error());
  }
  if (auto done = runtime->build(); !done) return tl::unexpected(done.error());
  if (auto done = runtime->launch(); !done) return tl::unexpected(done.error());
  return runtime;
}

Expected<void> Runtime::start_ports(std::vector<PortCapabilities> capabilities) {
  for (std::size_t index = 0; index < capabilities.size(); ++index) {
    const PlannedPort& planned = plan_.ports[index];
    PortSetup setup{.rx_queues = planned.rx_queues,
                    .tx_queues = planned.tx_queues,
                    .rx_descriptors = planned.rx_descriptors,
                    .tx_descriptors = planned.tx_descriptors,
                    .rx_pools = std::vector<Mempool*>(planned.rx_queues),
                    .mtu = config_.ports[index].mtu,
                    .checksums = checksums_};
    for (std::size_t lcore = 0; lcore < plan_.lcores.size(); ++lcore) {
      for (const PlannedQueue& queue : plan_.lcores[lcore].rx) {
        if (queue.port == index) setup.rx_pools[queue.queue.value()] = pools_[lcore].get();
      }
    }
    auto port = Port::start(std::move(capabilities[index]), setup);
    if (!port) return tl::unexpected(port.error());
    ports_.push_back(std::make_unique<Port>(std::move(*port)));
    links_.push_back(std::make_unique<Link>());
    look_at_link(index);
    const bool shared = ports_.back()->tx_queues() < plan_.lcores.size();
    tx_locks_->by_port.push_back(
        shared ? std::make_unique<TxLocks::Lock[]>(ports_.back()->tx_queues()) : nullptr);
  }
  return {};
}

Expected<void> Runtime::build() {
  try {
    const std::size_t workers = plan_.lcores.size();
    pairs_.resize(workers * workers);
    for (std::size_t i = 0; i < workers; ++i) {
      memories_.push_back(std::make_unique<RteMemory>(numa_node_of(plan_.lcores[i].lcore)));
      lcores_.push_back(std::make_unique<Lcore>());
    }
    // A backlog lies on its worker's node: the worker's misses are the ones that stall.
    for (std::size_t rx = 0; rx < workers; ++rx) {
      if (plan_.lcores[rx].rx.empty()) continue;
      for (std::size_t worker = 0; worker < workers; ++worker) {
        const bool own = rx == worker;
        const Backlog::Shape shape{.slots = own ? kInPlaceSlots : plan_.backlog_slots,
                                   .headers = plan_.reads_headers,
                                   .in_place = own};
        pairs_[rx * workers + worker] = std::make_unique<Pair>(shape, own, *memories_[worker]);
      }
    }
    for (std::size_t i = 0; i < workers; ++i) {
      for (std::size_t to = 0; plan_.hand_over_slots != 0 && to < workers; ++to) {
        lcores_[i]->hand_over.push_back(
            to == i ? nullptr
                    : std::make_unique<HandOverRing>(plan_.hand_over_slots, *memories_[to]));
      }
    }
    for (std::size_t i = 0; i < workers; ++i) build_lcore(i);
    auto wanted = without_abandoned(config_.steering);
    if (!wanted) return tl::unexpected(wanted.error());
    tables_.push_back(make_table(*wanted));
  } catch (const std::bad_alloc&) {
    return fail("backlogs and steering tables need " +
                std::to_string((plan_.backlog_bytes + plan_.steering_bytes) >> 20U) +
                " MB of DPDK memory, which is not there; add hugepages or lower "
                "steering.backlog_slots");
  }
  if (auto made = make_order_check(config_.steering); !made) return made;
  set_switches(config_.steering);
  commands_->table.store(tables_.back().get(), std::memory_order_relaxed);
  commands_->idle.store(config_.idle, std::memory_order_relaxed);
  commands_->idle_max_sleep_us.store(config_.idle_max_sleep_us, std::memory_order_relaxed);
  issue();
  return {};
}

void Runtime::build_lcore(std::size_t index) {
  Lcore& lcore = *lcores_[index];
  const std::size_t workers = plan_.lcores.size();
  lcore.rx_packets = std::vector<Counter>(plan_.lcores[index].rx.size());
  lcore.rx_bytes = std::vector<Counter>(plan_.lcores[index].rx.size());
  std::vector<Outbox::Source> sources;
  for (std::size_t rx = 0; rx < workers; ++rx) {
    Pair* pair = pairs_[rx * workers + index].get();
    if (pair == nullptr) continue;
    sources.push_back(
        {.pool = pools_[rx]->raw(), .returns = pair->returns ? &*pair->returns : nullptr});
  }
  // A worker that receives nothing takes the mbufs that it makes from the first RX lcore's pool.
  const auto first_rx =
      std::ranges::find_if(pools_, [](const auto& pool) { return pool != nullptr; });
  const auto& pool = pools_[index] != nullptr ? pools_[index] : *first_rx;
  lcore.outbox = std::make_unique<Outbox>(Outbox::Config{.ports_by_id = out_ports_of(index),
                                                         .sources = sources,
                                                         .worker = plan_.lcores[index].worker,
                                                         .hand_over = rings_from(index),
                                                         .pool = pool->raw()},
                                          lcore.worker);
  lcore.loop = loops_(parts_of(index), *memories_[index]);
}

LcoreParts<RxQueue> Runtime::parts_of(std::size_t index) {
  Lcore& lcore = *lcores_[index];
  const std::size_t workers = plan_.lcores.size();
  LcoreParts<RxQueue> parts{.budget = plan_.backlog_budget,
                            .worker = plan_.lcores[index].worker.value(),
                            .current_bits = plan_.current_bits,
                            .taken_over = rings_to(index),
                            .tx_guard = make_tx_guard(index),
                            .outbox = lcore.outbox.get(),
                            .worker_counters = &lcore.worker,
                            .commands = commands_.get(),
                            .report = &lcore.report};
  const auto& rx = plan_.lcores[index].rx;
  for (std::size_t i = 0; i < rx.size(); ++i) {
    const Port& port = *ports_[rx[i].port];
    parts.queues.push_back({.queue = port.rx_queue(rx[i].queue),
                            .port = port.id(),
                            .id = rx[i].queue,
                            .stream = stream_of(plan_, rx[i]),
                            .consumer = consumer_of(rx[i]),
                            .packets = &lcore.rx_packets[i],
                            .bytes = &lcore.rx_bytes[i]});
  }
  for (std::size_t worker = 0; !rx.empty() && worker < workers; ++worker) {
    Pair& pair = *pairs_[index * workers + worker];
    parts.to_workers.push_back(&pair.backlog);
    parts.returns.push_back(pair.returns ? &*pair.returns : nullptr);
  }
  if (!rx.empty()) parts.pool = pools_[index]->raw();
  std::size_t source = 0;
  for (std::size_t other = 0; other < workers; ++other) {
    Pair* pair = pairs_[other * workers + index].get();
    if (pair == nullptr) continue;
    if (other == index) {
      parts.own_source = source;
      parts.source = static_cast<std::uint8_t>(source);
    } else {
      parts.to_us.push_back(&pair->backlog);
      parts.to_us_from.push_back(source);
    }
    ++source;
  }
  return parts;
}

std::vector<Outbox::Port> Runtime::out_ports_of(std::size_t index) {
  std::uint16_t highest = 0;
  for (const auto& port : ports_) highest = std::max(highest, port->id().value());
  std::vector<Outbox::Port> by_id(highest + std::size_t{1});
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const Port& port = *ports_[i];
    const auto queue = static_cast<std::uint16_t>(index % port.tx_queues());
    auto& locks = tx_locks_->by_port[i];
    by_id[port.id().value()] = {.queue = port.tx_queue(QueueId{queue}),
                                .lock = locks ? &locks[queue].lock : nullptr,
                                .up = &links_[i]->up,
                                .max_frame_bytes = port.max_frame_bytes(),
                                .single_segment = port.single_segment_tx(),
                                .checksums_in_nic = port.checksums_in_nic()};
  }
  return by_id;
}

Expected<void> Runtime::launch() {
  for (std::size_t i = 0; i < lcores_.size(); ++i) {
    auto task = eal_->launch(plan_.lcores[i].lcore, [lcore = lcores_[i].get()] {
      lcore->loop->run();
      lcore->left.store(true, std::memory_order_release);
    });
    if (!task) return tl::unexpected(task.error());
    tasks_.push_back(std::move(*task));
  }
  return {};
}

}  // namespace mqsteer
