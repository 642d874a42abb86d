#pragma once

#include "packet/flow_key.h"
#include "packet/flow_tuple.h"
#include "steering/steering_table.h"

#include <mqsteer/config.h>
#include <mqsteer/id.h>

#include <cstdint>
#include <vector>

namespace mqsteer {

/// Where a flow goes and why, by the functions of the data path.
struct FlowExplanation {
  FlowTuple flow;
  FlowKey key;
  SteeringMode mode = SteeringMode::kNone;
  std::uint32_t hash = 0;
  std::uint32_t bucket = 0;   ///< that has the desired worker
  std::uint32_t buckets = 0;  ///< how many there are; 0 with mode none
  WorkerId desired;           ///< not with mode none
  bool forced = false;        ///< its packets may be held to get it there
  DesiredBy why = DesiredBy::kBucket;

  /// Where an RX lcore sends the flow's packets now, should it get any.
  struct AtRxLcore {
    LcoreId lcore;
    std::uint16_t worker = 0xffff;  ///< 0xffff: no packet of its bucket has come yet
    bool drained = true;            ///< nothing of the bucket is outstanding there
    bool held = false;              ///< the bucket's packets wait for a move
  };
  std::vector<AtRxLcore> current;
};

/// A flow that the operator wants at a worker, whatever its consumers say.
struct FlowPin {
  FlowTuple flow;
  WorkerId worker;
};

}  // namespace mqsteer
