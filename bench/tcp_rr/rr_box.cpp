#include "rr_box.h"

#include "support/ring_port.h"

#include <rte_eth_ring.h>

namespace mqsteer::bench {
namespace {

void empty(rte_ring* ring) {
  void* mbuf = nullptr;
  while (ring != nullptr && rte_ring_dequeue(ring, &mbuf) == 0) {
    rte_pktmbuf_free(static_cast<rte_mbuf*>(mbuf));
  }
  rte_ring_free(ring);
}

/// The loop of an lcore, receiving by way of the client.
std::unique_ptr<LcoreRunner> make_loop(LcoreParts<RxQueue> parts, Client* client, Rr handler,
                                       std::pmr::memory_resource& memory) {
  LcoreParts<ClientPort> with_client{.to_workers = std::move(parts.to_workers),
                                     .returns = std::move(parts.returns),
                                     .pool = parts.pool,
                                     .budget = parts.budget,
                                     .worker = parts.worker,
                                     .to_us = std::move(parts.to_us),
                                     .to_us_from = std::move(parts.to_us_from),
                                     .own_source = parts.own_source,
                                     .source = parts.source,
                                     .current_bits = parts.current_bits,
                                     .taken_over = std::move(parts.taken_over),
                                     .tx_guard = std::move(parts.tx_guard),
                                     .outbox = parts.outbox,
                                     .worker_counters = parts.worker_counters,
                                     .commands = parts.commands,
                                     .report = parts.report};
  for (const PolledQueue<RxQueue>& queue : parts.queues) {
    with_client.queues.push_back({.queue = {queue.queue, client},
                                  .port = queue.port,
                                  .id = queue.id,
                                  .stream = queue.stream,
                                  .consumer = queue.consumer,
                                  .packets = queue.packets,
                                  .bytes = queue.bytes});
  }
  return std::make_unique<LcoreLoop<Rr, ClientPort>>(std::move(with_client), std::move(handler),
                                                     memory);
}

}  // namespace

Expected<std::unique_ptr<RrBox>> RrBox::start(const Config& config) {
  static int number = 0;
  const std::string serial = std::to_string(number++);
  std::unique_ptr<RrBox> box{new RrBox};
  auto pool = Mempool::create("client" + serial, {.mbufs = 4 * config.window + 4095});
  if (!pool) return tl::unexpected(pool.error());
  box->pool_ = std::make_unique<Mempool>(std::move(*pool));
  box->in_ = rte_ring_create(("in" + serial).c_str(), kRingSlots, SOCKET_ID_ANY, 0);
  for (std::uint16_t queue = 0; queue < kLcores; ++queue) {
    const std::string name = "out" + serial + "_" + std::to_string(queue);
    box->out_.push_back(
        rte_ring_create(name.c_str(), kRingSlots, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ));
  }
  const int port = rte_eth_from_rings(("nic" + serial).c_str(), &box->in_, 1, box->out_.data(),
                                      kLcores, SOCKET_ID_ANY);
  if (port < 0) return fail("rte_eth_from_rings: no ring port");
  box->client_ = std::make_unique<Client>(Client::Config{.requests = box->in_,
                                                         .responses = box->out_,
                                                         .pool = box->pool_->raw(),
                                                         .window = config.window});

  mqsteer::Config product;
  product.idle = kIdle;
  product.lcores = {0, 1};
  product.ports = {{.name = "nic", .device = "net_ring_nic"}};
  product.rr = {.port = "nic",
                .ipv4 = "10.9.0.1",
                .connections = config.connections,
                .work_ns = config.work_ns};
  product.steering.rfs_flows = config.rfs_flows;
  product.steering.order_check = config.order_check;
  product.steering.balance = kBalance;
  const std::vector<PortCapabilities> ports{
      test::ring_port(static_cast<std::uint16_t>(port), "nic", kLcores)};
  auto settings = rr_settings(product.rr, ports[0].id, {0x02, 0, 0, 0, 0, 0x09}, 1500);
  if (!settings) return tl::unexpected(settings.error());
  settings->first_timeout_ms = kFirstTimeoutMs;
  PlanInput input{.config = product,
                  .lcores = {LcoreId{0}, LcoreId{1}},
                  .ports = {facts_of(ports[0], product.ports[0])},
                  .hands_over = Rr::kHandsOver,
                  .handler_bytes = rr_memory_bytes(*settings, kLcores) / kLcores};
  auto plan = make_plan(input);
  if (!plan) return tl::unexpected(plan.error());
  box->memory_ = std::make_unique<RteMemory>(-1);
  box->rr_ = std::make_unique<RrShared>(*settings, kLcores, tsc_hz(), *box->memory_);
  auto runtime = Runtime::start(
      {.eal = config.eal,
       .config = product,
       .plan = *plan,
       .ports = ports,
       .loops = [&box](LcoreParts<RxQueue> parts, std::pmr::memory_resource& memory) {
         Rr handler{*box->rr_, WorkerId{parts.worker}, memory};
         return make_loop(std::move(parts), box->client_.get(), std::move(handler), memory);
       }});
  if (!runtime) return tl::unexpected(runtime.error());
  box->runtime_ = std::move(*runtime);
  return box;
}

RrBox::~RrBox() {
  runtime_.reset();
  empty(in_);
  for (rte_ring* ring : out_) empty(ring);
}

}  // namespace mqsteer::bench
