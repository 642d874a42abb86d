#pragma once

#include "backlog/backlog.h"
#include "mqsim/simulation.h"
#include "packet/flow_key.h"
#include "packet/hash.h"
#include "steering/dispatcher.h"
#include "steering/steering_table.h"

#include <mqsteer/id.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace mqsteer::sim {

/// rfs with consumers: each flow is consumed at one worker, placed round robin as flows appear, and
/// moving on by one worker after every so many of its packets. A packet is steered by the data
/// path's own dispatcher, lies in its worker's backlog while so many others come, and is then
/// consumed: that is a hop where its worker is not its consumer's, and it is when the consumer
/// says where it is. One RX lcore; nothing is dropped.
class Consumers {
 public:
  /// table: of mode rfs; outlives this
  Consumers(const Options& options, const SteeringTable& table);

  /// The next packet. returns: the worker it goes to
  WorkerId steer(const FlowKey& key, std::uint32_t hash);

  /// After the last packet: consumes what waits.
  [[nodiscard]] RfsSummary finish();

 private:
  struct Flow {
    std::uint16_t consumer = 0;
    std::uint64_t packets = 0;
  };
  struct Waiting {
    Flow* flow;
    std::uint32_t hash;
    std::uint16_t worker;
  };
  struct Hash {
    std::size_t operator()(const FlowKey& key) const noexcept { return fast_hash(key); }
  };

  Flow& flow_of(const FlowKey& key);
  void consume_oldest();

  const SteeringTable& table_;
  std::uint16_t workers_;
  std::uint64_t move_every_;
  std::size_t depth_;
  std::vector<std::unique_ptr<Backlog>> backlogs_;
  std::optional<Dispatcher<>> dispatcher_;
  std::unordered_map<FlowKey, Flow, Hash> flows_;
  std::deque<Waiting> waiting_;
  std::uint16_t next_consumer_ = 0;
  RfsSummary summary_;
};

}  // namespace mqsteer::sim
