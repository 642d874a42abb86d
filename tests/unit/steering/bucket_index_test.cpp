#include "steering/bucket_index.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

namespace mqsteer {
namespace {

std::vector<WorkerId> numbered(std::uint16_t count) {
  std::vector<WorkerId> workers;
  for (std::uint16_t i = 0; i < count; ++i) workers.emplace_back(i);
  return workers;
}

std::map<std::uint16_t, int> shares(const std::vector<WorkerId>& desired) {
  std::map<std::uint16_t, int> buckets;
  for (const WorkerId worker : desired) ++buckets[worker.value()];
  return buckets;
}

TEST(BucketIndex, RpsUsesTheHashBitsThatANicDoesNot) {
  EXPECT_EQ(rps_bucket(0xfff00000, 12), 0xfffU);
  EXPECT_EQ(rps_bucket(0x000fffff, 12), 0U);
}

TEST(BucketIndex, SoftRssUsesTheLowBitsAsANicOrThoseAboveThem) {
  EXPECT_EQ(soft_rss_bucket(0xffffff2a, 7, 0), 0x2aU);
  EXPECT_EQ(soft_rss_bucket(0x0000152a, 7, 7), 0x2aU);
}

TEST(Spread, EveryWorkerCountGetsSharesThatDifferByOneBucketAtMost) {
  for (std::uint16_t count = 1; count <= 48; ++count) {
    const auto buckets = shares(spread(4096, numbered(count), {}));
    ASSERT_EQ(buckets.size(), count);
    const auto [least, most] = std::minmax_element(
        buckets.begin(), buckets.end(), [](auto& a, auto& b) { return a.second < b.second; });
    EXPECT_LE(most->second - least->second, 1) << count << " workers";
  }
}

TEST(Spread, IsTheFormulaOfTheDesignWhereWeightsAreEqual) {
  const auto desired = spread(4096, numbered(3), {});
  for (std::uint32_t b = 0; b < 4096; ++b) EXPECT_EQ(desired[b].value(), (b * 3) >> 12);
}

TEST(Spread, FollowsTheWeights) {
  const std::vector<std::uint32_t> weights = {3, 1};
  const auto buckets = shares(spread(128, numbered(2), weights));
  EXPECT_EQ(buckets.at(0), 96);
  EXPECT_EQ(buckets.at(1), 32);
}

TEST(Spread, UsesOnlyTheListedWorkers) {
  const std::vector<WorkerId> workers = {WorkerId{2}, WorkerId{5}};
  const auto buckets = shares(spread(128, workers, {}));
  EXPECT_EQ(buckets, (std::map<std::uint16_t, int>{{2, 64}, {5, 64}}));
}

TEST(Spread, LeavesWorkersOutWhereThereAreFewerBuckets) {
  EXPECT_EQ(shares(spread(2, numbered(5), {})).size(), 2U);
}

}  // namespace
}  // namespace mqsteer
