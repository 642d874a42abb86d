#include "steering_box.h"

#include <gmock/gmock.h>

#include <array>
#include <memory>
#include <vector>

namespace mqsteer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DrainRule, AForcedMoveHoldsThePacketsUntilTheOldWorkerIsRidOfTheBucket) {
  Box<> box{{}};
  box.send(7, 3);
  box.want_all(1);
  box.send(7, 2);
  EXPECT_EQ(box.dispatcher->held_packets(), 2);
  box.work(0, 2);
  box.dispatcher->release_held();
  EXPECT_EQ(box.dispatcher->held_packets(), 2) << "one is still outstanding";
  box.work(0, 1);
  box.dispatcher->release_held();
  box.dispatcher->flush(true);
  box.work(1, 10);
  EXPECT_THAT(box.finished[0], ElementsAre(1, 2, 3));
  EXPECT_THAT(box.finished[1], ElementsAre(4, 5));
  EXPECT_EQ(box.moves(1), 1U);
  EXPECT_EQ(box.moves_held(1), 1U);
}

TEST(DrainRule, AnUnforcedMoveStaysUntilDrainedAndIsCounted) {
  Box<> box{{}};
  box.send(7, 1);
  box.want_all(1, false);
  box.send(7, 2);
  EXPECT_EQ(box.moves_held(1), 2U);
  box.work(0, 3);
  box.send(7, 1);
  box.work(1, 1);
  EXPECT_THAT(box.finished[0], ElementsAre(1, 2, 3));
  EXPECT_THAT(box.finished[1], ElementsAre(4));
}

TEST(DrainRule, SwitchedOffLetsAPacketOvertake) {
  Box<DrainRule::kOff> box{{}};
  box.send(7, 1);
  box.want_all(1);
  box.send(7, 1);
  box.work(1, 1);
  EXPECT_THAT(box.finished[1], ElementsAre(2)) << "while 1 still waits at worker 0";
}

TEST(DrainRule, CountsStagedPacketsAsOutstanding) {
  Box<> box{{}};
  const PacketMeta staged{.hash = 7};
  box.dispatcher->dispatch({&staged, 1});
  box.want_all(1);
  box.send(7, 1);
  EXPECT_EQ(box.dispatcher->held_packets(), 1);
}

TEST(DrainRule, PacketsOfAHeldBucketNeverOvertakeThoseHeld) {
  Box<> box{{}};
  box.send(7, 1);
  box.want_all(1);
  box.send(7, 1);
  box.work(0, 1);  // drained, but not released yet
  box.send(7, 1);
  EXPECT_EQ(box.dispatcher->held_packets(), 2);
  box.dispatcher->release_held();
  box.dispatcher->flush(true);
  box.work(1, 5);
  EXPECT_THAT(box.finished[1], ElementsAre(2, 3));
}

TEST(DrainRule, AHeldBucketThatIsWantedBackGoesBackInOrder) {
  Box<> box{{}};
  box.send(7, 2);
  box.want_all(1);
  box.send(7, 2);
  box.want_all(0);
  box.dispatcher->release_held();
  box.send(7, 1);
  box.work(0, 10);
  EXPECT_THAT(box.finished[0], ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(box.moves(1) + box.moves(0), 0U);
}

TEST(DrainRule, HoldsUpTo1024PacketsAndDropsTheRestAsMoveHeld) {
  Box<> box{{.slots = 4096}};
  box.send(7, 1);
  box.want_all(1);
  EXPECT_EQ(box.send(7, 1030), 6U);
  EXPECT_EQ(box.drops(1, DropReason::kMoveHeld), 6U);
  box.work(0, 1);
  box.dispatcher->release_held();
  box.dispatcher->flush(true);
  box.work(1, 2000);
  ASSERT_EQ(box.finished[1].size(), 1024U);
  EXPECT_TRUE(std::is_sorted(box.finished[1].begin(), box.finished[1].end()));
}

TEST(DrainRule, HoldsAcrossTheWrapOf48BitPositions) {
  const std::uint64_t near_wrap = (std::uint64_t{1} << 48) - 2;
  Box<> box{{.first = near_wrap}};
  box.send(7, 3);
  box.want_all(1);
  box.send(7, 1);
  EXPECT_EQ(box.dispatcher->held_packets(), 1) << "the positions have wrapped in between";
  box.work(0, 2);
  box.dispatcher->release_held();
  EXPECT_EQ(box.dispatcher->held_packets(), 1);
  box.work(0, 1);
  box.dispatcher->release_held();
  EXPECT_EQ(box.dispatcher->held_packets(), 0);
}

TEST(DrainRule, ComparesPositionsAcrossTheWrapAndUpToHalfOfTheirRange) {
  constexpr std::uint64_t kWrap = std::uint64_t{1} << 48;
  EXPECT_TRUE(has_drained(5, 5));
  EXPECT_FALSE(has_drained(5, 6));
  EXPECT_TRUE(has_drained(kWrap + 1, kWrap - 1)) << "2 packets on, over the wrap";
  EXPECT_FALSE(has_drained(kWrap - 1, 1)) << "the position has wrapped, the head has not";
  EXPECT_TRUE(has_drained(kWrap / 2 - 1, 0));
  EXPECT_FALSE(has_drained(kWrap / 2, 0)) << "so idle that it must have been swept before";
}

TEST(DrainRule, AnIdleBucketMovesAtOnceWhateverOtherBucketsHaveWaiting) {
  Box<> box{{.workers = 2, .table = {.bits = 4}}};
  box.send(0, 1);
  box.work(0, 1);
  box.send(0xffffffff, 100);
  box.dispatcher->sweep(16);  // renews the idle bucket, and must leave the busy one alone
  box.want_all(1);
  box.send(0, 1);
  EXPECT_EQ(box.dispatcher->held_packets(), 0);
  box.send(0xffffffff, 1);
  EXPECT_EQ(box.dispatcher->held_packets(), 1);
}

TEST(DrainRule, InPlacePacketsOfOneBurstCountToo) {
  Box<> box{{.slots = 2048, .self = 0}};
  box.send(7, 1);
  box.want_all(1);
  box.send(7, 1);
  EXPECT_EQ(box.dispatcher->held_packets(), 1);
  box.work(0, 1);
  box.dispatcher->settle_in_place();
  box.dispatcher->release_held();
  box.dispatcher->flush(true);
  box.work(1, 1);
  EXPECT_THAT(box.finished[0], ElementsAre(1));
  EXPECT_THAT(box.finished[1], ElementsAre(2));
}

TEST(Admission, AFullBacklogDropsAndCountsAndLetsOthersGoOn) {
  Box<> box{{.slots = 64}};
  EXPECT_EQ(box.send(7, 100), 40U) << "64 slots less the sixteenth for control traffic";
  EXPECT_EQ(box.drops(0, DropReason::kBacklogFull), 40U);
  box.table.want(rps_bucket(0x80000000, 12), Desired::of(WorkerId{1}, true));
  EXPECT_EQ(box.send(0x80000000, 10), 0U);
}

TEST(Admission, ControlTrafficHasTheLastSixteenthForItself) {
  Box<> box{{.slots = 64}};
  box.send(7, 100);
  EXPECT_EQ(box.send(9, 4, kControlTraffic), 0U);
  EXPECT_EQ(box.send(9, 1, kControlTraffic), 1U) << "now every slot is taken";
}

TEST(Admission, AFullBacklogPublishesWhatIsStagedSoThatTheWorkerCanMakeRoom) {
  Box<> box{{.slots = 64}};
  std::vector<PacketMeta> burst(64);
  for (PacketMeta& packet : burst) packet.hash = 7;
  box.dispatcher->dispatch(burst);
  EXPECT_EQ(box.dispatcher->dropped().size(), 4U) << "60 of 64 slots are for ordinary traffic";
  EXPECT_EQ(box.backlogs[0]->look(), 60U);
}

TEST(Admission, AShortBacklogIsPublishedByQuarters) {
  Box<> box{{.slots = 128}};
  std::vector<PacketMeta> burst(32);
  for (PacketMeta& packet : burst) packet.hash = 7;
  box.dispatcher->dispatch(burst);
  box.dispatcher->flush(false);
  EXPECT_EQ(box.backlogs[0]->look(), 32U);
}

TEST(Admission, RoomComesBackWhenTheWorkerFinishes) {
  Box<> box{{.slots = 64}};
  box.send(7, 60);
  EXPECT_EQ(box.send(7, 1), 1U);
  box.work(0, 10);
  EXPECT_EQ(box.send(7, 10), 0U);
}

TEST(Admission, ABudgetBoundsWhatIsInFlightOverAllWorkers) {
  Box<> box{{.budget = 20}};
  box.table.want(rps_bucket(0x80000000, 12), Desired::of(WorkerId{1}, true));
  EXPECT_EQ(box.send(7, 12) + box.send(0x80000000, 12), 4U);
  EXPECT_EQ(box.drops(1, DropReason::kBacklogBudget), 4U);
  box.work(0, 12);
  EXPECT_EQ(box.send(0x80000000, 12), 0U);
}

TEST(Admission, TheFlowLimitDropsTheElephantAndNotTheMice) {
  Box<> box{{.slots = 1024}};
  box.dispatcher->set_flow_limit(true);
  box.send(7, 900);
  EXPECT_GT(box.drops(0, DropReason::kFlowLimit), 200U);
  EXPECT_EQ(box.drops(0, DropReason::kBacklogFull), 0U);
  for (std::uint32_t mouse = 1; mouse <= 50; ++mouse) EXPECT_EQ(box.send(mouse << 16U, 1), 0U);
}

TEST(Admission, ControlTrafficIsExemptFromTheFlowLimit) {
  Box<> box{{.slots = 1024}};
  box.dispatcher->set_flow_limit(true);
  EXPECT_EQ(box.send(7, 900, kControlTraffic), 0U);
}

TEST(Abandon, TheBucketsOfAStalledWorkerMoveAtOnce) {
  Box<> box{{}};
  box.send(7, 5);
  box.want_all(1);
  box.send(7, 1);
  ASSERT_EQ(box.dispatcher->held_packets(), 1);
  box.dispatcher->abandon(WorkerId{0});
  box.dispatcher->release_held();
  box.send(7, 1);
  box.work(1, 10);
  EXPECT_THAT(box.finished[1], ElementsAre(6, 7));
  EXPECT_EQ(box.backlogs[0]->given_up(), 5U) << "what the worker drops when it comes back";
}

TEST(Abandon, AWorkerThatIsTakenInAgainOwesOnlyWhatIsOld) {
  Box<> box{{}};
  box.send(7, 5);
  box.dispatcher->abandon(WorkerId{0});
  box.send(7, 2);
  EXPECT_EQ(box.backlogs[0]->given_up(), 5U);
  box.work(0, 5);
  EXPECT_EQ(box.backlogs[0]->given_up(), 0U);
  EXPECT_EQ(box.backlogs[0]->look(), 2U);
}

TEST(Abandon, DoesNotMakeAStalledWorkersRingLargerThanItIs) {
  Box<> box{{.slots = 64}};
  box.send(7, 60);
  box.dispatcher->abandon(WorkerId{0});
  EXPECT_EQ(box.send(7, 1), 1U);
}

TEST(Quiet, MeansNothingStagedHeldOrUnfinished) {
  Box<> box{{}};
  EXPECT_TRUE(box.dispatcher->quiet());
  box.send(7, 1);
  EXPECT_EQ(box.dispatcher->unfinished_worker(), 0);
  box.work(0, 1);
  EXPECT_TRUE(box.dispatcher->quiet());
}

}  // namespace
}  // namespace mqsteer
