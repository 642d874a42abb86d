#include "steering/bucket_index.h"

#include <numeric>

namespace mqsteer {

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
