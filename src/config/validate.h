#pragma once

#include "config/key_origins.h"

#include <mqsteer/config.h>
#include <mqsteer/error.h>

#include <cstdint>
#include <vector>

namespace mqsteer {

/// What a configuration is held against.
struct MachineFacts {
  std::vector<std::uint16_t> online_cpus;  ///< ascending
  std::vector<std::uint16_t> usable_cpus;  ///< of those, the process's affinity mask; ascending
};

/// This machine's, from sysfs and sched_getaffinity(2).
[[nodiscard]] Expected<MachineFacts> machine_facts();

/// Checks values and what they say about each other: ranges, names and devices used twice, bridges
/// of unknown ports, weights that do not match the workers.
///
/// errors: one line that begins with origins.describe(key)
[[nodiscard]] Expected<void> validate(const Config& config, const KeyOrigins& origins = {});

/// As above, and against the machine: lcores that it lacks or that the affinity mask excludes,
/// workers and weights against the number of lcores.
[[nodiscard]] Expected<void> validate(const Config& config, const MachineFacts& facts,
                                      const KeyOrigins& origins = {});

/// The lcores that a configuration means: those listed, or with `auto` the usable CPUs. Worker
/// numbers count in this order.
[[nodiscard]] std::vector<std::uint16_t> lcores_of(const Config& config, const MachineFacts& facts);

}  // namespace mqsteer
