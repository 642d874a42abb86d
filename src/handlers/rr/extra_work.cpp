#include "handlers/rr/extra_work.h"

#include "eal/clock.h"

#include <nmmintrin.h>

#include <algorithm>

namespace mqsteer::rr {

ExtraWork::ExtraWork(std::uint32_t steps) noexcept : steps_{steps} {
  std::uint64_t word = 0x9e3779b97f4a7c15U;
  for (std::uint64_t& each : words_) each = word *= 0xd1342543de82ef95U;
}

ExtraWork::ExtraWork(std::uint32_t ns, std::uint64_t tsc_hz) noexcept : ExtraWork{0U} {
  constexpr std::uint32_t kSteps = 8192;
  constexpr int kRounds = 64;
  if (ns == 0) return;
  std::uint64_t least = UINT64_MAX;  // what disturbs us only ever adds
  for (int round = 0; round < kRounds; ++round) {
    const TscCycles start = tsc_now();
    crc_ = crc_of(crc_, kSteps);
    least = std::min(least, tsc_between(start, tsc_now()).value());
  }
  const std::uint64_t wanted = ns_to_tsc(ns, tsc_hz).value();
  steps_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      wanted * kSteps / std::max<std::uint64_t>(least, 1), 1, UINT32_MAX));
}

std::uint64_t ExtraWork::crc_of(std::uint64_t crc, std::uint32_t steps) const noexcept {
  while (steps > 0) {
    const std::uint32_t part = std::min<std::uint32_t>(steps, kWords);
    for (std::uint32_t i = 0; i < part; ++i) crc = _mm_crc32_u64(crc, words_[i]);
    steps -= part;
  }
  return crc;
}

}  // namespace mqsteer::rr
