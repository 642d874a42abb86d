#include "bridge.h"

#include "handlers/forward.h"
#include "source.h"

namespace mqsteer::bench {
namespace {

constexpr std::uint32_t kFlows = 1024;

void fill_frame(rte_mempool* /*pool*/, void* /*unused*/, void* object, unsigned index) {
  auto* mbuf = static_cast<rte_mbuf*>(object);
  auto* frame = static_cast<std::uint8_t*>(mbuf->buf_addr) + RTE_PKTMBUF_HEADROOM;
  std::memset(frame, 0, Source::kFrameBytes);
  frame[12] = 0x08;  // IPv4, five words, 50 bytes, TCP
  frame[14] = 0x45;
  frame[17] = 50;
  frame[23] = 6;
  frame[30] = 10;
  frame[37] = 80;
  frame[46] = 0x50;
  rewrite(frame, index % kFlows);
}

}  // namespace

Expected<NullPorts::End> NullPorts::open_end(const char* name) {
  End end;
  auto pool = Mempool::create(std::string{"pool_"} + name, {.mbufs = 131'071, .cache = 512});
  if (!pool) return tl::unexpected(pool.error());
  end.pool = std::make_unique<Mempool>(std::move(*pool));
  rte_mempool_obj_iter(end.pool->raw(), fill_frame, nullptr);
  auto opened =
      open_port({.name = name, .device = std::string{"net_null_"} + name + ",size=64,copy=0"});
  if (!opened) return tl::unexpected(opened.error());
  auto port = Port::start(std::move(*opened), {.tx_queues = 2, .rx_pools = {end.pool.get()}});
  if (!port) return tl::unexpected(port.error());
  end.port = std::make_unique<Port>(std::move(*port));
  return end;
}

Expected<std::unique_ptr<NullPorts>> NullPorts::open() {
  auto ports = std::make_unique<NullPorts>();
  for (std::size_t i = 0; i < 2; ++i) {
    auto end = open_end(i == 0 ? "west" : "east");
    if (!end) return tl::unexpected(end.error());
    ports->ends_[i] = std::move(*end);
  }
  return ports;
}

Run NullPorts::run_io(const Eal& eal, unsigned lcores, std::chrono::milliseconds length) {
  std::atomic<bool> stop{false};
  std::array<Counter, 2> sent;
  const auto relay = [&](std::size_t from, std::uint16_t tx_queue, Counter& count) {
    std::array<rte_mbuf*, kMaxBurst> mbufs;
    const std::size_t received = ends_[from].port->rx_queue(QueueId{0}).receive(mbufs);
    const std::span<rte_mbuf*> burst{mbufs.data(), received};
    const std::size_t out = ends_[1 - from].port->tx_queue(QueueId{tx_queue}).send(burst);
    count.add(out);
    rte_pktmbuf_free_bulk(mbufs.data() + out, static_cast<unsigned>(received - out));
  };
  const auto begin = std::chrono::steady_clock::now();
  std::vector<LcoreTask> tasks;
  for (std::uint16_t lcore = 0; lcore < static_cast<std::uint16_t>(lcores); ++lcore) {
    auto task = eal.launch(LcoreId{lcore}, [&, lcore] {
      while (!stop.load(std::memory_order_relaxed)) {
        relay(lcore, lcore, sent[lcore]);
        if (lcores == 1) relay(1, 0, sent[0]);
      }
    });
    if (task) tasks.push_back(std::move(*task));
  }
  std::this_thread::sleep_for(length);
  stop.store(true);
  for (LcoreTask& task : tasks) task.join();
  Run run;
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.received = run.delivered = sent[0].read() + sent[1].read();
  return run;
}

Run NullPorts::run_rps(const Eal& eal, unsigned lcores, std::chrono::milliseconds length) {
  static const std::atomic<bool> up{true};
  const std::array ids{ends_[0].port->id(), ends_[1].port->id()};
  const std::size_t highest = std::max(ids[0].value(), ids[1].value());
  std::vector<PortId> peers(highest + 1, Forward::kNoPeer);
  peers[ids[0].value()] = ids[1];
  peers[ids[1].value()] = ids[0];
  Rig<Forward, RxQueue>::Shape shape{.eal = &eal, .handler = Forward{peers}};
  shape.out_ports.resize(highest + 1);
  shape.lcores.resize(lcores);
  for (std::size_t i = 0; i < 2; ++i) {
    shape.out_ports[ids[i].value()] = {.queue = ends_[i].port->tx_queue(QueueId{0}), .up = &up};
    auto& lcore = shape.lcores[i % lcores];
    lcore.queues.push_back({.queue = ends_[i].port->rx_queue(QueueId{0}), .port = ids[i]});
    lcore.pool = ends_[i].pool->raw();
  }
  for (std::uint16_t i = 0; i < static_cast<std::uint16_t>(lcores); ++i)
    shape.workers.emplace_back(i);
  Rig<Forward, RxQueue> rig{std::move(shape)};
  Run run = rig.run(length);
  run.delivered = rig.transmitted();
  run.dropped = rig.drops();
  return run;
}

}  // namespace mqsteer::bench
