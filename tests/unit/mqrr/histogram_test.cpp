#include "mqrr/histogram.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace mqsteer::rr_kernel {
namespace {

TEST(Histogram, SaysNothingOfNothing) {
  const Histogram empty;
  EXPECT_EQ(empty.quantile(0.5), 0U);
  EXPECT_EQ(empty.max(), 0U);
}

TEST(Histogram, IsExactBelow256AndWithinEightPerMilleAbove) {
  std::mt19937_64 random{20110818};
  std::vector<std::uint64_t> values;
  Histogram histogram;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t value = random() >> (random() % 60);
    values.push_back(value);
    histogram.add(value);
  }
  std::sort(values.begin(), values.end());
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * 100'000)) - 1;
    const std::uint64_t exact = values[rank];
    const std::uint64_t found = histogram.quantile(share);
    EXPECT_GE(found, exact) << share;
    EXPECT_LE(static_cast<double>(found - exact), exact < 256 ? 0 : 0.008 * double(exact)) << share;
  }
  EXPECT_EQ(histogram.max(), values.back());
}

TEST(Histogram, MergedIsAsIfAllWereCountedInOne) {
  Histogram one;
  Histogram other;
  Histogram all;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    (i % 2 == 0 ? one : other).add(i * i);
    all.add(i * i);
  }
  one.merge(other);
  EXPECT_EQ(one.count(), 1000U);
  for (const double share : {0.0, 0.5, 0.99, 1.0}) {
    EXPECT_EQ(one.quantile(share), all.quantile(share));
  }
}

}  // namespace
}  // namespace mqsteer::rr_kernel
