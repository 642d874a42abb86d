#pragma once

#include <mqsteer/config.h>
#include <mqsteer/error.h>
#include <mqsteer/id.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mqsteer {

/// What the plan needs to know of an opened port.
struct PortFacts {
  std::string name;
  std::uint16_t min_rx_queues = 1;  ///< fewer would leave packets to the kernel
  std::uint16_t max_rx_queues = 1;
  std::uint16_t max_tx_queues = 1;
  bool paired_queues = false;
  std::uint16_t min_rx_descriptors = 0;
  std::uint16_t max_rx_descriptors = 4096;
  std::uint16_t min_tx_descriptors = 0;
  std::uint16_t max_tx_descriptors = 4096;
  std::uint32_t link_mbps = 0;  ///< 0: unknown
  std::uint16_t mtu = 1500;
  std::uint16_t reta_entries = 0;
  bool merges_fragments = false;           ///< its driver hands over IPv4 fragments reassembled
  std::uint16_t data_room_bytes = 2176;    ///< of its RX mbufs
  std::uint32_t mbufs_held_per_queue = 0;  ///< by the driver, one RX and one TX queue
};

/// A return ring's slots; one that is full is no fault: the worker then frees by itself.
inline constexpr std::uint32_t kReturnSlots = 4096;
/// In place: every turn empties it, so it holds a burst and a released hold FIFO at most.
inline constexpr std::uint32_t kInPlaceSlots = 2048;
/// What an lcore keeps of a pool for itself: DPDK's most, so that what comes back at once stays
/// hot.
inline constexpr std::uint16_t kPoolCache = 512;

struct PlannedQueue {
  std::size_t port = 0;  ///< index into the configuration's ports
  QueueId queue;
};

/// One lcore and its roles. Every lcore has a worker number; one that no bucket wants is idle as a
/// worker.
struct PlannedLcore {
  LcoreId lcore;
  WorkerId worker;
  std::vector<PlannedQueue> rx;  ///< empty: not an RX lcore
  std::uint32_t pool_mbufs = 0;  ///< of its mempool; 0: none
  std::uint16_t data_room_bytes = 0;
};

struct PlannedPort {
  std::string name;
  std::uint16_t rx_queues = 1;
  std::uint16_t tx_queues = 1;
  std::uint16_t rx_descriptors = 1024;
  std::uint16_t tx_descriptors = 1024;
  bool tx_shared = false;  ///< fewer TX queues than workers: each is used under a lock
};

/// Who does what, and what it takes. Everything at run time obeys it.
struct Plan {
  std::vector<PlannedLcore> lcores;
  std::vector<PlannedPort> ports;  ///< in the configuration's order
  std::uint32_t backlog_slots = 0;
  bool reads_headers = false;  ///< backlogs keep the packets' first 64 bytes
  std::uint32_t backlog_budget = 0;
  std::size_t pool_bytes = 0;
  std::size_t backlog_bytes = 0;        ///< slots, headers, return and hand-over rings
  std::size_t steering_bytes = 0;       ///< tables of all RX lcores, and rfs's table of flows
  std::size_t rfs_bytes = 0;            ///< of those, rfs's table of flows
  unsigned current_bits = 16;           ///< log2 of the buckets that an RX lcore keeps
  std::uint32_t hand_over_slots = 0;    ///< of each ring between two workers; 0: none
  std::size_t handler_bytes = 0;        ///< what the handlers keep, such as connections
  std::uint64_t ns_per_packet = 0;      ///< of the slowest link, or assumed
  bool ns_assumed = false;              ///< no port's link speed is known
  std::uint64_t worst_queueing_us = 0;  ///< a full backlog at ns_per_packet
  std::vector<std::string> notes;       ///< what the operator should know, one line each

  [[nodiscard]] std::size_t rx_lcores() const noexcept;
  [[nodiscard]] std::size_t total_bytes() const noexcept {
    return pool_bytes + backlog_bytes + steering_bytes + handler_bytes;
  }
};

struct PlanInput {
  Config config;
  std::vector<LcoreId> lcores;    ///< not empty; at most kMaxWorkers
  std::vector<PortFacts> ports;   ///< in the configuration's order
  bool reads_headers = false;     ///< the handler's kReadsHeaders
  bool hands_over = false;        ///< the handler's kHandsOver
  std::size_t handler_bytes = 0;  ///< what the handler of one worker keeps, in DPDK's memory
};

/// What a handler needs of the plan.
struct HandlerNeeds {
  bool hands_over = false;
  std::size_t bytes = 0;  ///< a worker
};

/// A pure function: the same input gives the same plan, on any machine.
///
/// errors: one line that names the key
[[nodiscard]] Expected<Plan> make_plan(const PlanInput& input);

/// Refuses a steering set-up that the plan cannot serve: mode none on an RX lcore that is no listed
/// worker, workers that do not exist, fewer buckets than workers. The same check at start and live.
[[nodiscard]] Expected<void> check_steering(const Plan& plan, const SteeringConfig& steering);

/// The listed workers of a steering set-up; all of the plan's where none are listed.
[[nodiscard]] std::vector<WorkerId> workers_of(const Plan& plan, const SteeringConfig& steering);

/// What is known of a port before EAL is up.
struct PortBound {
  std::uint32_t mtu = 1500;
  std::uint16_t channels = 0;  ///< of a kernel interface; all are polled
};

/// Bytes EAL should have before the ports are known: no less than make_plan comes to.
///
/// bounds: in the order of the configuration's ports
[[nodiscard]] std::size_t memory_bound_bytes(const Config& config, std::size_t lcores,
                                             const std::vector<PortBound>& bounds,
                                             const HandlerNeeds& handler = {});

}  // namespace mqsteer
