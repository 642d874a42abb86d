#pragma once

#include "port/port.h"

#include <mqsteer/drop_reason.h>
#include <mqsteer/id.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mqsteer {

/// By DropReason.
using DropFigures = std::array<std::uint64_t, kDropReasons>;

struct NamedFigure {
  std::string_view name;
  std::uint64_t value = 0;
};

struct QueueFigures {
  QueueId queue;
  LcoreId lcore;
  std::uint64_t rx_packets = 0;
  std::uint64_t rx_bytes = 0;
};

struct PortFigures {
  std::string name;
  std::string device;
  std::string driver;
  std::string description;
  bool link_up = false;
  std::uint32_t link_mbps = 0;
  std::uint16_t mtu = 0;
  std::uint16_t tx_queues = 0;
  PortCounters counters;  ///< the port's own, beside ours
  std::vector<QueueFigures> queues;
};

struct WorkerFigures {
  WorkerId worker;
  LcoreId lcore;
  bool listed = true;  ///< steering sends it packets
  bool abandoned = false;
  std::uint64_t packets = 0;  ///< taken from its backlogs
  std::uint64_t backlog = 0;  ///< waiting now
  std::uint32_t buckets = 0;  ///< that should be on it
  std::uint64_t moves = 0;
  std::uint64_t moves_held = 0;
  std::uint64_t wrong_worker = 0;  ///< packets that came here while their flow was wanted elsewhere
  std::uint64_t handed_over = 0;   ///< to the workers where their flows are consumed
  std::uint64_t taken_over = 0;    ///< from other workers
  std::uint64_t originated = 0;    ///< made by its handler
  std::uint64_t order_checked = 0;  ///< at TX, with order_check
  std::uint64_t reordered = 0;
  std::uint64_t order_unjudged = 0;
  std::uint64_t tx = 0;  ///< accepted by tx_burst; the ports' own output errors are still in it
  std::uint64_t consumed = 0;
  std::uint64_t pause_frames = 0;
  DropFigures drops{};  ///< on the way to it, and by it
  std::uint64_t turns = 0;
  std::uint64_t busy_cycles = 0;
  std::uint64_t idle_cycles = 0;
  std::vector<NamedFigure> handler;  ///< what its handler counts
};

/// The table of flows of mode rfs.
struct RfsFigures {
  std::size_t entries = 0;  ///< 0: another mode
  std::size_t used = 0;
  std::uint64_t displaced = 0;  ///< flows that lost their place to others
  std::size_t pins = 0;
};

/// `fragments: track`, of all RX lcores.
struct FragmentFigures {
  std::uint64_t tracked = 0;  ///< went with their flow
  std::uint64_t missed = 0;   ///< went by addresses and protocol
  std::uint64_t held = 0;     ///< of both: had to wait for their first fragment
};

/// At rest rx + originated + copies == tx + consumed + sum of drops, to the packet.
struct TotalFigures {
  std::uint64_t rx = 0;
  std::uint64_t originated = 0;
  std::uint64_t copies = 0;
  std::uint64_t tx = 0;  ///< less what the ports took and lost
  std::uint64_t consumed = 0;
  std::uint64_t in_flight = 0;  ///< in backlogs, hand-over rings and hold FIFOs now
  DropFigures drops{};

  [[nodiscard]] std::uint64_t dropped() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : drops) sum += count;
    return sum;
  }
  [[nodiscard]] std::uint64_t in() const noexcept { return rx + originated + copies; }
  [[nodiscard]] std::uint64_t out() const noexcept { return tx + consumed + dropped(); }
};

struct Snapshot {
  std::vector<PortFigures> ports;      ///< in the configuration's order
  std::vector<WorkerFigures> workers;  ///< in plan order
  FragmentFigures fragments;
  std::uint64_t balanced = 0;  ///< buckets that the load balancer has moved
  TotalFigures totals;
};

}  // namespace mqsteer
