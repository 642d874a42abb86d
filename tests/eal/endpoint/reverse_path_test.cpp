// rfs learns from the queue on which a guest sends where it consumes a flow.

#include "eal/mempool.h"
#include "guest.h"
#include "handlers/forward.h"
#include "packet/flow_tuple.h"
#include "runtime/runtime.h"
#include "support/deadline.h"
#include "support/eal_once.h"
#include "support/numbered.h"
#include "support/ring_port.h"

#include <rte_eth_ring.h>
#include <rte_ring.h>

#include <gmock/gmock.h>
#include <unistd.h>

namespace mqsteer::test {
namespace {

using std::chrono::milliseconds;

constexpr std::uint16_t kQueues = 2;

/// mqsteer between a wire (a ring port of one queue) and a guest of two queues.
class GuestBox {
 public:
  explicit GuestBox(SteeringMode mode) {
    auto pool = Mempool::create("guest_box", {.mbufs = 8191});
    if (!pool) throw std::runtime_error(pool.error().text());
    pool_ = std::make_unique<Mempool>(std::move(*pool));
    static int number = 0;
    const std::string serial = std::to_string(number++);
    to_box_ = rte_ring_create(("to" + serial).c_str(), 1024, SOCKET_ID_ANY, 0);
    from_box_ = rte_ring_create(("from" + serial).c_str(), 1024, SOCKET_ID_ANY, 0);
    std::array<rte_ring*, kQueues> outs{from_box_, from_box_};
    const int wire =
        rte_eth_from_rings(("wire" + serial).c_str(), &to_box_, 1, outs.data(), kQueues, 0);
    if (wire < 0) throw std::runtime_error("rte_eth_from_rings failed");
    Config config;
    config.lcores = {0, 1};
    config.ports = {
        {.name = "wire", .device = "net_ring_wire"},
        {.name = "guest", .device = "net_vhost" + serial + ",iface=" + socket_ + ",queues=2"}};
    config.bridges = {{.name = "br0", .ports = {"wire", "guest"}}};
    config.steering.mode = mode;
    config.steering.rfs_flows = 1024;
    auto guest = open_port(config.ports[1]);
    if (!guest) throw std::runtime_error(guest.error().text());
    const std::vector<PortCapabilities> ports{
        ring_port(static_cast<std::uint16_t>(wire), "wire", kQueues), *guest};
    PlanInput input{.config = config, .lcores = {LcoreId{0}, LcoreId{1}}};
    for (std::size_t i = 0; i < 2; ++i) input.ports.push_back(facts_of(ports[i], config.ports[i]));
    auto plan = make_plan(input);
    if (!plan) throw std::runtime_error(plan.error().text());
    auto started = Runtime::start({.eal = &*eal_once(),
                                   .config = config,
                                   .plan = *plan,
                                   .ports = ports,
                                   .loops = loops_with(Forward{peers_of(config, ports)})});
    if (!started) throw std::runtime_error(started.error().text());
    runtime = std::move(*started);
    guest_ = std::make_unique<Guest>(socket_, kQueues, pool_->raw());
  }
  GuestBox(const GuestBox&) = delete;
  GuestBox& operator=(const GuestBox&) = delete;
  GuestBox(GuestBox&&) = delete;
  GuestBox& operator=(GuestBox&&) = delete;
  ~GuestBox() {
    guest_.reset();
    runtime.reset();
    rte_ring_free(to_box_);
    rte_ring_free(from_box_);
    ::unlink(socket_.c_str());
  }

  [[nodiscard]] bool link_up() {
    runtime->poll_links();
    return runtime->snapshot().ports[1].link_up;
  }

  /// The guest sends its side of the flow, one frame, on a queue. returns: whether the wire has it
  [[nodiscard]] bool guest_sends(std::uint16_t queue) {
    rte_mbuf* frame = frame_of_flow(Side::kGuest);
    const bool sent = eventually(milliseconds{5'000}, [&] { return guest_->send(queue, frame); });
    if (!sent) rte_pktmbuf_free(frame);
    return sent && eventually(milliseconds{5'000}, [&] { return take_from_wire() != 0; });
  }
  /// The wire sends the other side. returns: the queue on which the guest gets it, -1: none
  [[nodiscard]] int wire_sends() {
    rte_mbuf* frame = frame_of_flow(Side::kWire);
    if (rte_ring_enqueue(to_box_, frame) != 0) rte_pktmbuf_free(frame);
    int got = -1;
    static_cast<void>(eventually(milliseconds{2'000}, [&] {
      for (std::uint16_t queue = 0; queue < kQueues; ++queue) {
        if (guest_->receive(queue) != 0) got = queue;
      }
      return got >= 0;
    }));
    return got;
  }

  void stop_and_check() {
    guest_.reset();
    const auto stopped = runtime->stop();
    ASSERT_TRUE(stopped) << stopped.error().text();
    take_from_wire();
    const TotalFigures totals = runtime->snapshot().totals;
    EXPECT_EQ(totals.in(), totals.out());
    EXPECT_EQ(pool_->available(), pool_->capacity());
    for (const auto& pool : runtime->pools()) {
      if (pool == nullptr) continue;
      EXPECT_EQ(pool->available(), pool->capacity());
    }
  }

  std::unique_ptr<Runtime> runtime;

 private:
  enum class Side : std::uint8_t { kGuest, kWire };

  /// One UDP flow, in either direction.
  rte_mbuf* frame_of_flow(Side from) {
    NumberedSource source{pool_->raw(), 1};
    rte_mbuf* frame = source.next();
    if (from == Side::kWire) {
      auto* ip = rte_pktmbuf_mtod_offset(frame, rte_ipv4_hdr*, sizeof(rte_ether_hdr));
      auto* udp = rte_pktmbuf_mtod_offset(frame, rte_udp_hdr*,
                                          sizeof(rte_ether_hdr) + sizeof(rte_ipv4_hdr));
      const rte_be32_t address = ip->src_addr;
      ip->src_addr = ip->dst_addr;
      ip->dst_addr = address;
      const rte_be16_t port = udp->src_port;
      udp->src_port = udp->dst_port;
      udp->dst_port = port;
    }
    return frame;
  }
  unsigned take_from_wire() {
    unsigned count = 0;
    void* frame = nullptr;
    for (; rte_ring_dequeue(from_box_, &frame) == 0; ++count) {
      rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
    }
    return count;
  }

  std::string socket_ = "/tmp/mqsteer-guest-" + std::to_string(::getpid()) + ".sock";
  std::unique_ptr<Mempool> pool_;
  rte_ring* to_box_ = nullptr;
  rte_ring* from_box_ = nullptr;
  std::unique_ptr<Guest> guest_;
};

TEST(ReversePath, AFlowComesBackOnTheQueueThatTheGuestSentItOn) {
  GuestBox box{SteeringMode::kRfs};
  ASSERT_TRUE(eventually(milliseconds{5'000}, [&] { return box.link_up(); }));
  const auto flow = FlowTuple::parse("udp", "10.0.0.1:1024", "10.1.0.1:9");
  ASSERT_TRUE(flow);
  for (int round = 0; round < 6; ++round) {
    const auto queue = static_cast<std::uint16_t>(round % 2);
    ASSERT_TRUE(box.guest_sends(queue)) << "round " << round;
    EXPECT_EQ(box.runtime->explain(*flow).desired, WorkerId{queue});
    EXPECT_EQ(box.runtime->explain(*flow).why, DesiredBy::kConsumer);
    EXPECT_EQ(box.wire_sends(), queue) << "round " << round;
  }
  box.stop_and_check();
}

TEST(ReversePath, UnderRpsTheFlowsHashNamesTheQueueWhateverTheGuestUses) {
  GuestBox box{SteeringMode::kRps};
  ASSERT_TRUE(eventually(milliseconds{5'000}, [&] { return box.link_up(); }));
  ASSERT_TRUE(box.guest_sends(0));
  const int first = box.wire_sends();
  ASSERT_TRUE(box.guest_sends(1));
  EXPECT_EQ(box.wire_sends(), first);
  box.stop_and_check();
}

TEST(ReversePath, APinStandsAgainstTheGuest) {
  GuestBox box{SteeringMode::kRfs};
  ASSERT_TRUE(eventually(milliseconds{5'000}, [&] { return box.link_up(); }));
  const auto flow = FlowTuple::parse("udp", "10.0.0.1:1024", "10.1.0.1:9");
  ASSERT_TRUE(flow);
  ASSERT_TRUE(box.runtime->pin(*flow, WorkerId{1}));
  ASSERT_TRUE(box.guest_sends(0));
  EXPECT_EQ(box.wire_sends(), 1);
  box.stop_and_check();
}

}  // namespace
}  // namespace mqsteer::test
