#include "runtime/plan.h"

#include "backlog/backlog.h"
#include "backlog/return_ring.h"
#include "eal/mempool.h"
#include "steering/bucket_index.h"
#include "steering/dispatcher.h"
#include "steering/fragment_tracker.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace mqsteer {
namespace {

constexpr std::uint32_t kMinAutoSlots = 1024;
constexpr std::uint32_t kMaxAutoSlots = 32768;
/// Where no link speed says how fast packets come: what a worker that does real work needs.
constexpr std::uint64_t kAssumedNsPerPacket = 1000;
constexpr std::uint64_t kWireBytesOfMinFrame = 84;  ///< 64 + preamble and gap (IEEE 802.3)

std::uint64_t packets_per_second(std::uint32_t link_mbps) {
  return std::uint64_t{link_mbps} * 1'000'000 / (kWireBytesOfMinFrame * 8);
}

std::uint32_t auto_slots(const std::vector<PortFacts>& ports) {
  std::uint64_t slots = 0;
  for (const PortFacts& port : ports) {
    if (port.link_mbps == 0) return kMaxAutoSlots;
    slots = std::max(slots, packets_per_second(port.link_mbps) * 2 / 1000);
  }
  const auto rounded = std::bit_ceil(static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::max<std::uint64_t>(slots, kMinAutoSlots), kMaxAutoSlots)));
  return rounded;
}

/// RX lcores: those that are no listed worker, where there are any; all workers otherwise.
std::vector<std::size_t> rx_lcores_of(const PlanInput& input) {
  const auto& listed = input.config.steering.workers;
  const bool none = input.config.steering.mode == SteeringMode::kNone;
  std::vector<std::size_t> dedicated;
  std::vector<std::size_t> working;
  for (std::size_t i = 0; i < input.lcores.size(); ++i) {
    const bool works = listed.empty() || std::find(listed.begin(), listed.end(), i) != listed.end();
    (works ? working : dedicated).push_back(i);
  }
  return dedicated.empty() || none ? working : dedicated;
}

std::uint16_t clamp_descriptors(std::uint32_t wanted, std::uint16_t least, std::uint16_t most) {
  return static_cast<std::uint16_t>(
      std::clamp<std::uint32_t>(wanted, least, most == 0 ? UINT16_MAX : most));
}

PlannedPort plan_port(const PlanInput& input, std::size_t index, std::size_t rx_lcores,
                      std::vector<std::string>& notes) {
  const PortConfig& wanted = input.config.ports[index];
  const PortFacts& facts = input.ports[index];
  const std::size_t workers = input.lcores.size();
  PlannedPort port{.name = wanted.name};
  port.rx_queues = static_cast<std::uint16_t>(
      wanted.rx_queues
          ? std::size_t{*wanted.rx_queues}
          : std::max<std::size_t>(std::min<std::size_t>(rx_lcores, facts.max_rx_queues),
                                  facts.min_rx_queues));
  port.tx_queues = static_cast<std::uint16_t>(std::min<std::size_t>(workers, facts.max_tx_queues));
  if (facts.paired_queues) port.tx_queues = port.rx_queues;
  port.tx_shared = port.tx_queues < workers;
  if (port.tx_shared) {
    notes.push_back(wanted.name + ": " + std::to_string(port.tx_queues) + " TX queue(s) for " +
                    std::to_string(workers) + " workers: shared under a lock, taken once a burst");
  }
  port.rx_descriptors =
      clamp_descriptors(wanted.rx_descriptors, facts.min_rx_descriptors, facts.max_rx_descriptors);
  port.tx_descriptors =
      clamp_descriptors(wanted.rx_descriptors, facts.min_tx_descriptors, facts.max_tx_descriptors);
  return port;
}

Expected<void> check_queues(const PlanInput& input) {
  for (std::size_t i = 0; i < input.ports.size(); ++i) {
    const auto& wanted = input.config.ports[i].rx_queues;
    const PortFacts& facts = input.ports[i];
    if (wanted && *wanted > facts.max_rx_queues) {
      return fail("ports[" + std::to_string(i) + "].rx_queues: " + facts.name + " has " +
                  std::to_string(facts.max_rx_queues) + " at most, not " + std::to_string(*wanted));
    }
  }
  return {};
}

/// Queues go round robin, the ports taken one after the other, so that two ports of one queue each
/// do not meet on one lcore.
void assign_queues(Plan& plan, const std::vector<std::size_t>& rx_lcores) {
  std::size_t next = 0;
  for (std::size_t port = 0; port < plan.ports.size(); ++port) {
    for (std::uint16_t queue = 0; queue < plan.ports[port].rx_queues; ++queue) {
      plan.lcores[rx_lcores[next % rx_lcores.size()]].rx.push_back({port, QueueId{queue}});
      ++next;
    }
  }
}

/// A pool holds what may be in flight, what drivers hold, and what waits in caches and on the way
/// back; so an RX lcore never runs dry by our own doing.
void size_pools(Plan& plan, const PlanInput& input) {
  const auto workers = static_cast<std::uint32_t>(plan.lcores.size());
  std::uint32_t tx_held = 0;  // any worker may hold our mbufs in any TX ring
  for (const PlannedPort& port : plan.ports) {
    tx_held += std::uint32_t{port.tx_descriptors} * port.tx_queues;
  }
  for (PlannedLcore& lcore : plan.lcores) {
    if (lcore.rx.empty()) continue;
    constexpr std::uint32_t kOnTheMove =
        std::uint32_t{kPoolCache} * 2 + std::uint32_t{kMaxBurst} * 4;  // caches and bursts
    std::uint32_t mbufs = plan.backlog_budget + tx_held + HoldFifo::kPackets +
                          FragmentTracker::kPackets + (workers + 1) * kOnTheMove;
    for (const PlannedQueue& queue : lcore.rx) {
      mbufs += plan.ports[queue.port].rx_descriptors + input.ports[queue.port].mbufs_held_per_queue;
      lcore.data_room_bytes =
          std::max(lcore.data_room_bytes, input.ports[queue.port].data_room_bytes);
    }
    mbufs += kReturnSlots * (workers - 1);
    mbufs += plan.hand_over_slots * workers * (workers - 1);
    lcore.pool_mbufs = mbufs;
    plan.pool_bytes += mempool_bytes(
        {.mbufs = mbufs, .data_room_bytes = lcore.data_room_bytes, .cache = kPoolCache});
  }
}

/// Rings between all workers, as long as their mbufs together stay within bounds: any of them may
/// be full of one RX lcore's.
void size_hand_over(Plan& plan, const PlanInput& input) {
  constexpr std::uint32_t kMostPackets = 65536;
  constexpr std::uint32_t kMostSlots = 4096;
  constexpr std::uint32_t kLeastSlots = 64;
  const auto workers = static_cast<std::uint32_t>(input.lcores.size());
  if (!input.hands_over || workers < 2) return;
  plan.hand_over_slots =
      std::clamp(std::bit_floor(kMostPackets / (workers * (workers - 1))), kLeastSlots, kMostSlots);
}

void count_bytes(Plan& plan, const PlanInput& input) {
  const std::size_t slot = sizeof(PacketMeta) + (plan.reads_headers ? sizeof(HeaderLine) : 0);
  const std::size_t remote = plan.backlog_slots * slot + kReturnSlots * sizeof(void*);
  const std::size_t own = kInPlaceSlots * slot;
  const std::size_t rx = plan.rx_lcores();
  const std::size_t workers = plan.lcores.size();
  plan.backlog_bytes = rx * ((workers - 1) * remote + own) +
                       workers * (workers - 1) * plan.hand_over_slots * sizeof(PacketMeta);
  const std::uint32_t flows = input.config.steering.rfs_flows;
  plan.current_bits =
      std::max(SteeringTable::kMaxBits,
               SteeringTable::current_bits_of(
                   {.mode = SteeringMode::kRfs, .bits = kRpsBucketBits, .rfs_flows = flows}));
  plan.rfs_bytes = RfsTable::bytes(flows);
  const std::size_t per_rx = (sizeof(std::uint64_t) << plan.current_bits) +
                             (sizeof(std::uint32_t) << SteeringTable::kMaxBits) + sizeof(HoldFifo) +
                             FragmentTracker::bytes() +
                             workers * (sizeof(FlowLimit) + sizeof(PairCounters));
  // Twice: a change of the hash makes a new table while the old one is still in use.
  plan.steering_bytes = rx * per_rx + 2 * plan.rfs_bytes;
  plan.handler_bytes = workers * input.handler_bytes;
}

/// What a bridge's two ports must not be.
Expected<void> check_bridges(const PlanInput& input) {
  const auto facts_of = [&](const std::string& name) -> const PortFacts& {
    return *std::find_if(input.ports.begin(), input.ports.end(),
                         [&](const PortFacts& port) { return port.name == name; });
  };
  for (const BridgeConfig& bridge : input.config.bridges) {
    for (const std::string& name : bridge.ports) {
      if (!facts_of(name).merges_fragments) continue;
      return fail("bridge " + bridge.name + ": the driver of " + name +
                  " merges IPv4 fragments and may cut frames, so it is not for a bridge; give the "
                  "interface's name as the device instead");
    }
    const PortFacts& left = facts_of(bridge.ports[0]);
    const PortFacts& right = facts_of(bridge.ports[1]);
    if (left.mtu == right.mtu) continue;
    return fail("bridge " + bridge.name + ": " + left.name + " has an MTU of " +
                std::to_string(left.mtu) + " and " + right.name + " one of " +
                std::to_string(right.mtu) +
                "; frames would be lost on one side; set both alike, with mtu in the "
                "configuration or ip link set dev IF mtu N");
  }
  return {};
}

/// A backlog takes at most half of the budget, so that one stalled worker leaves the others room.
void size_backlogs(Plan& plan, const PlanInput& input) {
  const SteeringConfig& steering = input.config.steering;
  plan.backlog_budget = steering.backlog_budget;
  const std::uint32_t half = std::bit_floor(std::max(steering.backlog_budget / 2, 1U));
  plan.backlog_slots = steering.backlog_slots.value_or(std::min(auto_slots(input.ports), half));
  if (plan.backlog_slots > half) {
    plan.notes.push_back("steering.backlog_slots: " + std::to_string(plan.backlog_slots) +
                         " are more than half of backlog_budget (" +
                         std::to_string(plan.backlog_budget) +
                         "): one stalled worker can take the room of all");
  }
}

/// How long a full backlog takes at the slowest link's packet rate, or at what is assumed where no
/// port's speed is known.
void find_worst_queueing(Plan& plan, const std::vector<PortFacts>& ports) {
  for (const PortFacts& port : ports) {
    if (port.link_mbps == 0) continue;
    plan.ns_per_packet = std::max<std::uint64_t>(
        plan.ns_per_packet, 1'000'000'000 / packets_per_second(port.link_mbps));
  }
  plan.ns_assumed = plan.ns_per_packet == 0;
  if (plan.ns_assumed) plan.ns_per_packet = kAssumedNsPerPacket;
  plan.worst_queueing_us =
      std::min(plan.backlog_slots, plan.backlog_budget) * plan.ns_per_packet / 1000;
}

/// An mbuf that takes a frame of this MTU whole, with whatever a driver wants beside it.
std::uint16_t data_room_bound(std::uint32_t mtu) {
  constexpr std::uint32_t kBeside = 1024;
  return static_cast<std::uint16_t>(std::min<std::uint32_t>(mtu + kBeside, UINT16_MAX));
}

}  // namespace

std::size_t Plan::rx_lcores() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(lcores.begin(), lcores.end(), [](const auto& l) { return !l.rx.empty(); }));
}

Expected<Plan> make_plan(const PlanInput& input) {
  for (const auto check : {check_queues, check_bridges}) {
    if (auto checked = check(input); !checked) return tl::unexpected(checked.error());
  }
  Plan plan;
  for (std::size_t i = 0; i < input.lcores.size(); ++i) {
    plan.lcores.push_back({input.lcores[i], WorkerId{static_cast<std::uint16_t>(i)}, {}, 0, 0});
  }
  const auto rx_lcores = rx_lcores_of(input);
  for (std::size_t i = 0; i < input.ports.size(); ++i) {
    plan.ports.push_back(plan_port(input, i, rx_lcores.size(), plan.notes));
  }
  assign_queues(plan, rx_lcores);
  size_backlogs(plan, input);
  plan.reads_headers = input.reads_headers;
  size_hand_over(plan, input);
  size_pools(plan, input);
  count_bytes(plan, input);
  find_worst_queueing(plan, input.ports);
  if (auto checked = check_steering(plan, input.config.steering); !checked) {
    return tl::unexpected(checked.error());
  }
  return plan;
}

std::vector<WorkerId> workers_of(const Plan& plan, const SteeringConfig& steering) {
  std::vector<WorkerId> workers;
  for (const std::uint16_t worker : steering.workers) workers.emplace_back(worker);
  if (workers.empty()) {
    for (const PlannedLcore& lcore : plan.lcores) workers.push_back(lcore.worker);
  }
  return workers;
}

Expected<void> check_steering(const Plan& plan, const SteeringConfig& steering) {
  const auto workers = workers_of(plan, steering);
  for (const WorkerId worker : workers) {
    if (worker.value() < plan.lcores.size()) continue;
    return fail("steering.workers: there is no worker " + std::to_string(worker.value()) +
                "; allowed: 0-" + std::to_string(plan.lcores.size() - 1));
  }
  if (!steering.weights.empty() && steering.weights.size() != workers.size()) {
    return fail("steering.weights: " + std::to_string(steering.weights.size()) + " weights for " +
                std::to_string(workers.size()) + " workers");
  }
  if (steering.mode == SteeringMode::kNone) {
    for (const PlannedLcore& lcore : plan.lcores) {
      if (lcore.rx.empty() ||
          std::find(workers.begin(), workers.end(), lcore.worker) != workers.end())
        continue;
      return fail("steering.mode: none runs every packet on its RX lcore, but RX lcore " +
                  std::to_string(lcore.lcore.value()) + " is worker " +
                  std::to_string(lcore.worker.value()) +
                  ", which steering.workers leaves out; add it, or use rps, soft-rss or rfs");
    }
    return {};
  }
  const std::uint32_t buckets =
      steering.mode == SteeringMode::kSoftRss ? steering.rss_buckets : 1U << kRpsBucketBits;
  const auto desired = spread(buckets, workers, steering.weights);
  for (const WorkerId worker : workers) {
    if (std::find(desired.begin(), desired.end(), worker) != desired.end()) continue;
    return fail("steering.workers: worker " + std::to_string(worker.value()) +
                " would get none of the " + std::to_string(buckets) +
                " buckets; use fewer workers, more rss_buckets or a larger weight");
  }
  return {};
}

std::size_t memory_bound_bytes(const Config& config, std::size_t lcores,
                               const std::vector<PortBound>& bounds, const HandlerNeeds& handler) {
  PlanInput input{
      .config = config, .hands_over = handler.hands_over, .handler_bytes = handler.bytes};
  input.config.bridges.clear();
  input.config.steering.backlog_slots = config.steering.backlog_slots.value_or(kMaxAutoSlots);
  input.config.steering.workers.clear();
  input.config.steering.weights.clear();
  input.config.steering.mode = SteeringMode::kNone;
  for (std::size_t i = 0; i < lcores; ++i) input.lcores.emplace_back(static_cast<std::uint16_t>(i));
  for (std::size_t i = 0; i < config.ports.size(); ++i) {
    const PortConfig& port = config.ports[i];
    const std::size_t queues = std::max<std::size_t>(
        port.rx_queues.value_or(0), std::max<std::size_t>(lcores, bounds[i].channels));
    input.ports.push_back({.name = port.name,
                           .min_rx_queues = bounds[i].channels,
                           .max_rx_queues = static_cast<std::uint16_t>(queues),
                           .max_tx_queues = static_cast<std::uint16_t>(queues),
                           .data_room_bytes = data_room_bound(bounds[i].mtu),
                           .mbufs_held_per_queue = 8192});
  }
  const auto plan = make_plan(input);
  constexpr std::size_t kOverhead = std::size_t{64} << 20U;  // EAL, drivers, fragmentation
  return kOverhead + (plan ? plan->total_bytes() : 0);
}

}  // namespace mqsteer
