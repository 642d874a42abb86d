#pragma once

#include "backlog/aligned_array.h"
#include "handlers/rr/clock.h"
#include "handlers/rr/counters.h"
#include "handlers/rr/local_end.h"
#include "handlers/rr/owner_table.h"
#include "handlers/rr/settings.h"
#include "handlers/rr/siphash.h"

#include <mqsteer/id.h>

#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <utility>
#include <vector>

namespace mqsteer {

/// Secrets of a run: what nobody outside may predict.
struct RrKeys {
  rr::SipKey sequence{};     ///< of initial sequence numbers
  rr::SipKey connections{};  ///< of the connection tables
  rr::SipKey owners{};       ///< of the owner table
};
/// From the kernel's random numbers.
[[nodiscard]] RrKeys random_rr_keys();

/// What the rr handlers of all workers share. One a process, made before the workers start; it
/// outlives them.
class RrShared {
 public:
  /// settings: as rr_settings() checks them. memory: for the owner table and the counters; outlives
  /// this. Throws std::bad_alloc where it is full
  RrShared(const RrSettings& settings, std::uint16_t workers, std::uint64_t tsc_hz,
           std::pmr::memory_resource& memory, const RrKeys& keys = random_rr_keys());

  [[nodiscard]] const RrSettings& settings() const noexcept { return settings_; }
  [[nodiscard]] std::uint16_t workers() const noexcept { return workers_; }
  [[nodiscard]] const RrCounters& counters(WorkerId worker) const noexcept {
    return counters_[worker.value()];
  }
  /// Everything a worker counts by name, and `connections`, those there are now. thread: any
  [[nodiscard]] std::vector<std::pair<std::string_view, std::uint64_t>> figures(
      WorkerId worker) const;
  /// What the extra work of a packet really takes, in TSC cycles, the mean over all workers; 0
  /// before the first packet. thread: any
  [[nodiscard]] std::uint64_t work_cycles() const noexcept;

  // --- the workers' side ---------------------------------------------------------------------
  [[nodiscard]] RrCounters& own_counters(WorkerId worker) noexcept {
    return counters_[worker.value()];
  }
  [[nodiscard]] rr::OwnerTable& owners() noexcept { return owners_; }
  [[nodiscard]] const rr::LocalEnd& local() const noexcept { return local_; }
  [[nodiscard]] const rr::TickClock& clock() const noexcept { return clock_; }
  [[nodiscard]] const RrKeys& keys() const noexcept { return keys_; }
  [[nodiscard]] std::uint32_t work_steps() const noexcept { return work_steps_; }

 private:
  RrSettings settings_;
  rr::LocalEnd local_;
  rr::TickClock clock_;
  RrKeys keys_;
  std::uint16_t workers_;
  std::uint32_t work_steps_;
  rr::OwnerTable owners_;
  AlignedArray<RrCounters> counters_;
};

}  // namespace mqsteer
