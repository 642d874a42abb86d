#include "steering/bucket_index.h"

#include <numeric>

namespace mqsteer {

bool same_index(const SteeringConfig& a, const SteeringConfig& b) noexcept {
  const bool same_table = a.mode != SteeringMode::kSoftRss ||
                          (a.rss_buckets == b.rss_buckets && a.rss_bits == b.rss_bits);
  return a.mode == b.mode && a.symmetric == b.symmetric && a.tunnels == b.tunnels &&
         a.fragments == b.fragments && same_table;
}

std::vector<WorkerId> spread(std::uint32_t buckets, std::span<const WorkerId> workers,
                             std::span<const std::uint32_t> weights) {
  const std::uint64_t total =
      weights.empty() ? workers.size()
                      : std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  std::vector<WorkerId> desired(buckets);
  std::size_t index = 0;
  std::uint64_t share_end = weights.empty() ? 1 : weights[0];
  for (std::uint32_t bucket = 0; bucket < buckets; ++bucket) {
    const std::uint64_t position = bucket * total / buckets;
    while (position >= share_end) {
      ++index;
      share_end += weights.empty() ? 1 : weights[index];
    }
    desired[bucket] = workers[index];
  }
  return desired;
}

}  // namespace mqsteer
