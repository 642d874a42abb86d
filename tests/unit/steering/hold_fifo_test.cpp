#include "steering/hold_fifo.h"

#include <gmock/gmock.h>

#include <vector>

namespace mqsteer {
namespace {

using ::testing::ElementsAre;

PacketMeta numbered(std::uint32_t number) {
  return {.hash = number};
}

std::vector<std::uint32_t> closed(HoldFifo& fifo, std::uint16_t entry) {
  std::vector<std::uint32_t> order;
  fifo.close(entry, [&](const PacketMeta& packet) { order.push_back(packet.hash); });
  return order;
}

TEST(HoldFifo, GivesTheInterleavedPacketsOfEachBucketBackInOrder) {
  HoldFifo fifo;
  const auto a = fifo.open(10, 0, 0, numbered(1));
  const auto b = fifo.open(20, 0, 0, numbered(2));
  fifo.append(a, numbered(3));
  fifo.append(b, numbered(4));
  fifo.append(a, numbered(5));
  EXPECT_THAT(closed(fifo, a), ElementsAre(1, 3, 5));
  EXPECT_EQ(fifo.entry(a).bucket, 20U) << "the last entry takes the index of the closed one";
  EXPECT_THAT(closed(fifo, a), ElementsAre(2, 4));
  EXPECT_EQ(fifo.packets(), 0);
}

TEST(HoldFifo, TakesExactly1024PacketsAndAllOfThemAgain) {
  HoldFifo fifo;
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < 1024; ++i) {
      ASSERT_FALSE(fifo.full());
      (void)fifo.open(i, 0, 0, numbered(i));
    }
    EXPECT_TRUE(fifo.full());
    while (fifo.entries() != 0) EXPECT_EQ(closed(fifo, 0).size(), 1U);
  }
}

}  // namespace
}  // namespace mqsteer
