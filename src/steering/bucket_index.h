#pragma once

#include <mqsteer/config.h>
#include <mqsteer/id.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace mqsteer {

/// Buckets of the rps table, as a power of two.
inline constexpr unsigned kRpsBucketBits = 12;

/// The bucket of a flow under rps: the high hash bits, which a NIC's RETA did not use.
///
/// hash:    32 bits, host order; 0 is as good as any other
/// bits:    1..32
/// returns: below 2^bits
/// Source:  Linux Documentation/networking/scaling.rst, "RPS"
[[nodiscard]] constexpr std::uint32_t rps_bucket(std::uint32_t hash, unsigned bits) noexcept {
  return hash >> (32U - bits);
}

/// The bucket of a flow under soft-rss: as a NIC's RETA index, above the bits a NIC has used up.
///
/// bits, shift: bits + shift at most 32
[[nodiscard]] constexpr std::uint32_t soft_rss_bucket(std::uint32_t hash, unsigned bits,
                                                      unsigned shift) noexcept {
  return (hash >> shift) & ((1U << bits) - 1U);
}

/// The hash bits that soft-rss leaves to a NIC which has spread the packets by them already
/// (rss_bits: above_nic).
///
/// reta_entries: of the NIC's indirection table; 0: it has none
/// bits:         of soft-rss's own table, to 32
[[nodiscard]] constexpr unsigned soft_rss_shift(unsigned reta_entries, unsigned bits) noexcept {
  const auto used = static_cast<unsigned>(std::bit_width(std::max(reta_entries, 1U)) - 1);
  return std::min(used, 32U - bits);
}

/// Whether every packet falls into the same bucket under both, so that going from one to the other
/// needs no new table.
[[nodiscard]] bool same_index(const SteeringConfig& a, const SteeringConfig& b) noexcept;

/// The desired worker of every bucket: shares in proportion to the weights, in one stretch each.
///
/// buckets: 1..2^20
/// workers: not empty
/// weights: one a worker, each at least 1, or empty: equal
/// returns: `buckets` workers
[[nodiscard]] std::vector<WorkerId> spread(std::uint32_t buckets, std::span<const WorkerId> workers,
                                           std::span<const std::uint32_t> weights);

}  // namespace mqsteer
