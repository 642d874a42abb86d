// Mode rfs in the dispatcher: who gets a flow, and its order.

#include "steering_box.h"

#include <gmock/gmock.h>

#include <random>

namespace mqsteer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Box<>::Shape rfs_shape(std::uint16_t workers = 3) {
  return {.workers = workers,
          .table = {.mode = SteeringMode::kRfs, .rfs_flows = RfsTable::kMinFlows}};
}

/// Every worker live, every rps bucket on worker 0.
void all_live(Box<>& box, std::uint16_t workers = 3) {
  std::vector<WorkerId> live;
  for (std::uint16_t w = 0; w < workers; ++w) live.emplace_back(w);
  box.table.set_live(live);
}

constexpr std::uint32_t kFlow = 0x12345678;

TEST(Rfs, AFlowThatNobodyConsumesGoesAsUnderRps) {
  Box<> box{rfs_shape()};
  all_live(box);
  box.send(kFlow, 1);
  box.work(0, 1);
  EXPECT_THAT(box.finished[0], ElementsAre(1));
}

TEST(Rfs, AFlowFollowsItsConsumer) {
  Box<> box{rfs_shape()};
  all_live(box);
  box.send(kFlow, 1);
  box.work(0, 1);
  box.table.rfs()->record(kFlow, WorkerId{2});
  box.send(kFlow, 1);
  box.work(2, 1);
  EXPECT_THAT(box.finished[2], ElementsAre(2));
  EXPECT_EQ(box.moves(2), 1U);
}

TEST(Rfs, AFlowWithPacketsOutstandingStaysAndIsCounted) {
  Box<> box{rfs_shape()};
  all_live(box);
  box.send(kFlow, 1);
  box.table.rfs()->record(kFlow, WorkerId{2});
  box.send(kFlow, 2);
  EXPECT_EQ(box.moves_held(2), 2U);
  EXPECT_EQ(box.dispatcher->counters(WorkerId{0}).wrong_worker.read(), 2U);
  EXPECT_FALSE(box.dispatcher->holding()) << "rfs never forces";
  box.work(0, 3);
  box.send(kFlow, 1);
  box.work(2, 1);
  EXPECT_THAT(box.finished[0], ElementsAre(1, 2, 3));
  EXPECT_THAT(box.finished[2], ElementsAre(4));
}

TEST(Rfs, AConsumerThatIsGoneIsMaskedAndTheFlowGoesAsUnderRps) {
  Box<> box{rfs_shape()};
  all_live(box);
  box.table.rfs()->record(kFlow, WorkerId{2});
  box.table.set_live(std::vector{WorkerId{0}, WorkerId{1}});
  DesiredBy why{};
  EXPECT_EQ(box.table.desired_of(kFlow, why).worker(), 0);
  EXPECT_EQ(why, DesiredBy::kConsumerGone);
  box.send(kFlow, 1);
  box.work(0, 1);
  EXPECT_THAT(box.finished[0], ElementsAre(1));
}

TEST(Rfs, APinHoldsTheFlowsPacketsUntilItCanMove) {
  Box<> box{rfs_shape()};
  all_live(box);
  box.send(kFlow, 1);
  ASSERT_TRUE(box.table.rfs()->pin(kFlow, WorkerId{1}));
  box.send(kFlow, 2);
  EXPECT_EQ(box.dispatcher->held_packets(), 2);
  box.work(0, 1);
  box.dispatcher->release_held();
  box.dispatcher->flush(true);
  box.work(1, 2);
  EXPECT_THAT(box.finished[1], ElementsAre(2, 3));
}

TEST(Rfs, AFlowThatIsNotRecordedDoesNotHoldTheOneItSharesABucketWith) {
  Box<> box{rfs_shape()};
  all_live(box);
  box.table.rfs()->record(kFlow, WorkerId{2});
  box.send(kFlow, 1);
  box.send(kFlow + 1, 1);  // wanted at worker 0, by the share of its bucket
  EXPECT_FALSE(box.dispatcher->holding());
  box.send(kFlow, 1);
  box.work(2, 3);
  EXPECT_THAT(box.finished[2], ElementsAre(1, 2, 3));
}

TEST(Rfs, AFlowIsHeldToGetAwayFromAWorkerThatIsNotLive) {
  Box<> box{rfs_shape()};
  all_live(box);
  box.table.rfs()->record(kFlow, WorkerId{2});
  box.send(kFlow, 1);
  box.table.set_live(std::vector{WorkerId{0}, WorkerId{1}});
  box.send(kFlow, 1);
  EXPECT_EQ(box.dispatcher->held_packets(), 1);
  box.work(2, 1);
  box.dispatcher->release_held();
  box.dispatcher->flush(true);
  box.work(0, 1);
  EXPECT_THAT(box.finished[0], ElementsAre(2));
}

/// The flags of the next packet that a worker gets.
std::uint8_t flags_at(Box<>& box, std::uint16_t worker) {
  const PacketBurst burst = box.backlogs[worker]->take(1);
  box.backlogs[worker]->finish();
  return burst.packets.empty() ? 0xff : burst.packets[0].flags;
}

TEST(Rfs, APacketSaysThatItCameToItsConsumer) {
  Box<> box{rfs_shape()};
  all_live(box);
  box.send(kFlow, 1, kRecyclable);
  EXPECT_EQ(flags_at(box, 0), kRecyclable) << "nobody has recorded it yet";
  box.table.rfs()->record(kFlow, WorkerId{0});
  box.send(kFlow, 1, kRecyclable);
  EXPECT_EQ(flags_at(box, 0), kRecyclable | kAtConsumer);
}

TEST(Rfs, APacketThatMustStayElsewhereDoesNotSayIt) {
  Box<> box{rfs_shape()};
  all_live(box);
  box.send(kFlow, 1);
  box.table.rfs()->record(kFlow, WorkerId{2});
  box.send(kFlow, 1);
  EXPECT_EQ(flags_at(box, 0), 0);
  EXPECT_EQ(flags_at(box, 0), 0);
}

TEST(Rfs, APinnedFlowIsNotItsConsumers) {
  Box<> box{rfs_shape()};
  all_live(box);
  ASSERT_TRUE(box.table.rfs()->pin(kFlow, WorkerId{1}));
  box.send(kFlow, 1);
  EXPECT_EQ(flags_at(box, 1), 0);
}

/// Two flows of one current bucket: hashes that differ in their lowest bit.
TEST(Rfs, TwoFlowsThatShareABucketCostEachOtherAHopAndNeverTheirOrder) {
  Box<> box{rfs_shape()};
  all_live(box);
  ASSERT_EQ(box.table.current_bucket_of(kFlow), box.table.current_bucket_of(kFlow + 1));
  box.table.rfs()->record(kFlow, WorkerId{1});
  box.table.rfs()->record(kFlow + 1, WorkerId{2});
  box.send(kFlow, 1);
  box.send(kFlow + 1, 1);  // packet 1 is outstanding at worker 1, so this one goes there too
  box.work(1, 2);
  box.send(kFlow + 1, 1);
  box.work(2, 1);
  EXPECT_THAT(box.finished[1], ElementsAre(1, 2));
  EXPECT_THAT(box.finished[2], ElementsAre(3));
  EXPECT_EQ(box.dispatcher->counters(WorkerId{1}).wrong_worker.read(), 1U);
}

TEST(Rfs, AHeldBucketIsReleasedToWhereItsFlowIsWantedThen) {
  Box<> box{rfs_shape()};
  all_live(box);
  box.send(kFlow, 1);
  ASSERT_TRUE(box.table.rfs()->pin(kFlow, WorkerId{1}));
  box.send(kFlow, 1);
  ASSERT_TRUE(box.table.rfs()->pin(kFlow, WorkerId{2}));
  box.work(0, 1);
  box.dispatcher->release_held();
  box.dispatcher->flush(true);
  EXPECT_THAT(box.finished[1], IsEmpty());
  box.work(2, 1);
  EXPECT_THAT(box.finished[2], ElementsAre(2));
}

TEST(Rfs, ConsumersThatMoveAtRandomNeverReorderAFlow) {
  Box<> box{rfs_shape()};
  all_live(box);
  std::mt19937 random{20110817};
  constexpr std::uint32_t kFlows = 64;
  const auto hash_of = [](std::uint32_t flow) { return flow * 0x04000001U; };
  std::vector<std::vector<std::uint16_t>> order(kFlows);
  std::vector<std::uint16_t> flow_of(1, 0);
  std::vector<std::size_t> seen(3);
  for (int step = 0; step < 60'000; ++step) {
    const auto flow = static_cast<std::uint32_t>(random() % kFlows);
    if (random() % 4 == 0) {
      box.table.rfs()->record(hash_of(flow), WorkerId{static_cast<std::uint16_t>(random() % 3)});
    }
    flow_of.push_back(static_cast<std::uint16_t>(flow));
    ASSERT_EQ(box.send(hash_of(flow), 1), 0U);
    for (std::uint16_t worker = 0; worker < 3; ++worker) {
      box.work(worker, random() % 4 == 0 ? 3 : 0);
      for (; seen[worker] < box.finished[worker].size(); ++seen[worker]) {
        const std::uint16_t number = box.finished[worker][seen[worker]];
        auto& numbers = order[flow_of[number]];
        ASSERT_TRUE(numbers.empty() || numbers.back() < number) << "flow " << flow_of[number];
        numbers.push_back(number);
      }
    }
    if (box.next_number == 60'000) break;
  }
  EXPECT_GT(box.moves(0) + box.moves(1) + box.moves(2), 5'000U);
  EXPECT_GT(box.moves_held(0) + box.moves_held(1) + box.moves_held(2), 500U);
}

}  // namespace
}  // namespace mqsteer
