#pragma once

#include "steering/dispatcher.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace mqsteer {

/// An RX lcore with its workers, driven by hand: packets carry a number, and each worker writes
/// down the numbers it finishes.
template <DrainRule rule = DrainRule::kOn>
class Box {
 public:
  struct Shape {
    std::uint16_t workers = 2;
    std::uint32_t slots = 1024;
    std::uint32_t budget = 65536;
    std::uint16_t self = 0xffff;
    std::uint64_t first = 0;
    SteeringTable::Shape table = {};
  };

  explicit Box(const Shape& shape) : table{shape.table, HasherConfig{}}, finished(shape.workers) {
    std::vector<Backlog*> pointers;
    for (std::uint16_t w = 0; w < shape.workers; ++w) {
      backlogs.push_back(std::make_unique<Backlog>(
          Backlog::Shape{.slots = shape.slots, .in_place = w == shape.self, .first = shape.first},
          *std::pmr::new_delete_resource()));
      pointers.push_back(backlogs.back().get());
    }
    dispatcher.emplace(typename Dispatcher<rule>::Config{pointers, shape.self, shape.budget},
                       *std::pmr::new_delete_resource());
    want_all(0);
    dispatcher->adopt(table);
  }

  void want_all(std::uint16_t worker, bool force = true) {
    for (std::uint32_t b = 0; b < table.buckets(); ++b) {
      table.want(b, Desired::of(WorkerId{worker}, force));
    }
  }

  /// Sends packets of one flow and publishes them. returns: how many were dropped
  std::size_t send(std::uint32_t hash, std::uint32_t count, std::uint8_t flags = 0) {
    std::size_t dropped = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const PacketMeta packet{.hash = hash, .length = next_number++, .flags = flags};
      dispatcher->dispatch({&packet, 1});
      dropped += dispatcher->dropped().size();
    }
    dispatcher->flush(true);
    return dropped;
  }

  void work(std::uint16_t worker, std::uint64_t count) {
    Backlog& backlog = *backlogs[worker];
    while (count != 0) {
      const PacketBurst burst = backlog.take(std::min(count, backlog.look()));
      if (burst.packets.empty()) break;
      for (const PacketMeta& packet : burst.packets) finished[worker].push_back(packet.length);
      count -= burst.packets.size();
    }
    backlog.finish();
  }

  [[nodiscard]] std::uint64_t moves(std::uint16_t worker) const {
    return dispatcher->counters(WorkerId{worker}).moves.read();
  }
  [[nodiscard]] std::uint64_t moves_held(std::uint16_t worker) const {
    return dispatcher->counters(WorkerId{worker}).moves_held.read();
  }
  [[nodiscard]] std::uint64_t drops(std::uint16_t worker, DropReason reason) const {
    return dispatcher->counters(WorkerId{worker}).drops.read(reason);
  }

  SteeringTable table;
  std::vector<std::unique_ptr<Backlog>> backlogs;
  std::optional<Dispatcher<rule>> dispatcher;
  std::vector<std::vector<std::uint16_t>> finished;  ///< by worker: numbers in order
  std::uint16_t next_number = 1;
};

}  // namespace mqsteer
