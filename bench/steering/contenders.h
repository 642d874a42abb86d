#pragma once

#include "eal/eal.h"
#include "rig.h"
#include "source.h"

#include <chrono>
#include <cstdint>

namespace mqsteer::bench {

struct Setting {
  const Eal* eal = nullptr;
  Source* source = nullptr;
  std::uint32_t rewritten_flows = 0;  ///< 0: the file's
  std::chrono::milliseconds length{500};
};

/// All of them: receive on lcore 0, fold the first 54 bytes of each packet, free it. Those with a
/// worker fold on lcore 1. The receiver waits where there is no room, so nothing is lost and the
/// sums must be the source's.
Run run_mqsteer(const Setting& setting);   ///< rps, inline header copies, return ring
Run run_none(const Setting& setting);      ///< mode none, one lcore
Run run_rte_ring(const Setting& setting);  ///< our dissector and hash, SP/SC ring of mbufs
Run run_distributor(
    const Setting& setting);             ///< our dissector and hash, rte_distributor in burst mode
Run run_rxonly(const Setting& setting);  ///< receive and free, one lcore

/// A virtual NIC ring of 4,096 descriptors filled by the TSC at `mpps`; what does not fit is lost.
/// The receiver does not wait here: a full backlog drops, and counts.
struct PacedRun {
  std::uint64_t offered = 0;
  std::uint64_t nic_lost = 0;
  std::uint64_t dropped = 0;  ///< by us, counted
  std::uint64_t delivered = 0;
  bool checksum_good = false;
  [[nodiscard]] double loss_pct() const {
    return 100.0 * static_cast<double>(nic_lost + dropped) / static_cast<double>(offered);
  }
};
PacedRun run_paced(const Setting& setting, double mpps);

/// TSC cycles of a round trip of one cache line between lcores 0 and 1; the median of many.
std::uint64_t round_trip_tsc(const Eal& eal);

}  // namespace mqsteer::bench
