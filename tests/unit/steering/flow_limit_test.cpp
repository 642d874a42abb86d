#include "steering/flow_limit.h"

#include <gtest/gtest.h>

namespace mqsteer {
namespace {

TEST(FlowLimit, AFlowWithMoreThanHalfOfTheLastPacketsIsAnElephant) {
  FlowLimit limit;
  for (std::uint32_t i = 0; i < 128; ++i) ASSERT_FALSE(limit.exceeded(7)) << i;
  EXPECT_TRUE(limit.exceeded(7));
}

TEST(FlowLimit, MiceBesideAnElephantAreNotLimited) {
  FlowLimit limit;
  int mice_dropped = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    (void)limit.exceeded(7);
    (void)limit.exceeded(7);
    mice_dropped += limit.exceeded(1000 + i) ? 1 : 0;
  }
  EXPECT_TRUE(limit.exceeded(7));
  EXPECT_EQ(mice_dropped, 0);
}

TEST(FlowLimit, AnElephantThatStopsIsForgottenAfter256Packets) {
  FlowLimit limit;
  for (std::uint32_t i = 0; i < 256; ++i) (void)limit.exceeded(7);
  ASSERT_TRUE(limit.exceeded(7));
  for (std::uint32_t i = 0; i < 256; ++i) (void)limit.exceeded(i * 0x01000193U);
  EXPECT_FALSE(limit.exceeded(7));
}

}  // namespace
}  // namespace mqsteer
