#include "handlers/rr/shared.h"

#include "handlers/rr/extra_work.h"

#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace mqsteer {

RrKeys random_rr_keys() {
  RrKeys keys;
  static_assert(sizeof keys <= 256, "getrandom() gives so much in one piece");
  if (getrandom(&keys, sizeof keys, 0) != static_cast<ssize_t>(sizeof keys)) {
    throw std::system_error{errno, std::generic_category(), "getrandom"};
  }
  return keys;
}

RrShared::RrShared(const RrSettings& settings, std::uint16_t workers, std::uint64_t tsc_hz,
                   std::pmr::memory_resource& memory, const RrKeys& keys)
    : settings_{settings},
      local_{settings},
      clock_{tsc_hz},
      keys_{keys},
      workers_{workers},
      work_steps_{rr::ExtraWork{settings.work_ns, tsc_hz}.steps()},
      owners_{std::uint64_t{settings.connections} * workers, keys.owners, memory},
      counters_{workers, memory} {}

std::vector<std::pair<std::string_view, std::uint64_t>> RrShared::figures(WorkerId worker) const {
  std::vector<std::pair<std::string_view, std::uint64_t>> all;
  const RrCounters& counters = counters_[worker.value()];
  all.emplace_back("connections", counters.connections());
  for (std::size_t i = 0; i < kRrCounts; ++i) {
    const auto count = static_cast<RrCount>(i);
    all.emplace_back(name_of(count), counters.read(count));
  }
  return all;
}

std::uint64_t RrShared::work_cycles() const noexcept {
  std::uint64_t samples = 0;
  std::uint64_t cycles = 0;
  for (const RrCounters& counters : counters_.span()) {
    samples += counters.read(RrCount::kWorkSamples);
    cycles += counters.read(RrCount::kWorkCycles);
  }
  return samples == 0 ? 0 : cycles / samples;
}

}  // namespace mqsteer
