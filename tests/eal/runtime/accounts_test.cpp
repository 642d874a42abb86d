#include "handlers/sink.h"
#include "support/deadline.h"
#include "support/numbered.h"
#include "support/ring_box.h"
#include "test_handlers.h"

#include <gmock/gmock.h>

namespace mqsteer::test {
namespace {

using std::chrono::milliseconds;

/// Sends packets of 64 flows into `from`, takes what comes out at `to`. returns: how many came out
std::uint64_t pass(RingBox& box, const RingBox::End& from, const RingBox::End& to,
                   std::uint64_t packets) {
  NumberedSource source{box.pool(), 64};
  OrderChecker checker{64};
  std::uint64_t sent = 0;
  const auto take_all = [&] {
    while (RingBox::take(to, [&](const rte_mbuf& m) { checker.see(number_of(m)); }) != 0) {
    }
  };
  const bool all = eventually(milliseconds{20'000}, [&] {
    for (int i = 0; i < 64 && sent < packets && sent - checker.seen() < 4096; ++i) {
      rte_mbuf* mbuf = source.next();
      if (mbuf == nullptr) break;
      if (!RingBox::put(from, mbuf)) {
        source.unsend(mbuf);
        break;
      }
      ++sent;
    }
    take_all();
    return checker.seen() == packets;
  });
  EXPECT_TRUE(all) << "sent " << sent << ", seen " << checker.seen();
  EXPECT_EQ(checker.reordered() + checker.missing(), 0U);
  return checker.seen();
}

struct Case {
  SteeringMode mode;
  std::vector<std::uint16_t> lcores;
};

class EveryMode : public ::testing::TestWithParam<Case> {};

TEST_P(EveryMode, ForwardsBothWaysInOrderAndAccountsForEveryPacket) {
  Config config{.lcores = GetParam().lcores};
  config.steering.mode = GetParam().mode;
  HandlerControls controls;
  RingBox box{config, working_loops(controls)};
  EXPECT_EQ(pass(box, box.left, box.right, 20'000), 20'000U);
  EXPECT_EQ(pass(box, box.right, box.left, 20'000), 20'000U);
  box.stop_and_check();
  const Snapshot end = box.runtime->snapshot();
  EXPECT_EQ(end.totals.rx, 40'000U);
  EXPECT_EQ(end.totals.tx, 40'000U);
  EXPECT_EQ(end.totals.dropped(), 0U);
  if (GetParam().mode != SteeringMode::kNone && GetParam().lcores.size() == 2) {
    EXPECT_GT(end.workers[0].packets, 8'000U);
    EXPECT_GT(end.workers[1].packets, 8'000U);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Modes, EveryMode,
    ::testing::Values(Case{SteeringMode::kNone, {0}}, Case{SteeringMode::kNone, {0, 1}},
                      Case{SteeringMode::kRps, {0}}, Case{SteeringMode::kRps, {0, 1}},
                      Case{SteeringMode::kSoftRss, {0}}, Case{SteeringMode::kSoftRss, {0, 1}}));

TEST(Accounts, ABacklogThatOverflowsDropsUnderItsNameAndNothingIsUnaccounted) {
  Config config;
  config.steering.workers = {1};
  config.steering.backlog_slots = 64;
  HandlerControls controls;
  RingBox box{config, working_loops(controls)};
  controls.spin_cycles[1] = 20'000;
  NumberedSource source{box.pool(), 64};
  for (int i = 0; i < 4'000; ++i) {
    rte_mbuf* mbuf = source.next();
    ASSERT_TRUE(RingBox::put(box.left, mbuf));
  }
  ASSERT_TRUE(
      eventually(milliseconds{10'000}, [&] { return box.runtime->snapshot().totals.rx == 4'000; }));
  controls.spin_cycles[1] = 0;
  box.stop_and_check();
  const TotalFigures totals = box.runtime->snapshot().totals;
  EXPECT_GT(totals.drops[static_cast<std::size_t>(DropReason::kBacklogFull)], 1'000U);
  EXPECT_EQ(totals.dropped(), totals.drops[static_cast<std::size_t>(DropReason::kBacklogFull)]);
}

TEST(Accounts, APortThatTakesNoMoreIsTxRingFull) {
  HandlerControls controls;
  RingBox box{Config{}, working_loops(controls)};
  NumberedSource source{box.pool(), 64};
  std::uint64_t sent = 0;  // more than the out ring has slots, and nobody takes them
  ASSERT_TRUE(eventually(milliseconds{20'000}, [&] {
    for (int i = 0; i < 64 && sent < 20'000; ++i) {
      rte_mbuf* mbuf = source.next();
      if (mbuf == nullptr) return false;
      if (!RingBox::put(box.left, mbuf)) {
        source.unsend(mbuf);
        return false;
      }
      ++sent;
    }
    return sent == 20'000 && box.runtime->snapshot().totals.out() == 20'000;
  }));
  box.stop_and_check();
  const TotalFigures totals = box.runtime->snapshot().totals;
  EXPECT_EQ(totals.tx, RingBox::kRingSlots - 1);
  EXPECT_EQ(totals.drops[static_cast<std::size_t>(DropReason::kTxRingFull)],
            20'000 - (RingBox::kRingSlots - 1));
}

TEST(Accounts, AFrameTheOutPortCannotSendIsPktTooBig) {
  HandlerControls controls;
  RingBox box{Config{}, working_loops(controls)};
  NumberedSource source{box.pool(), 1};
  rte_mbuf* mbuf = source.next();
  ASSERT_NE(rte_pktmbuf_append(mbuf, 1900), nullptr);
  ASSERT_TRUE(RingBox::put(box.left, mbuf));
  ASSERT_TRUE(
      eventually(milliseconds{2'000}, [&] { return box.runtime->snapshot().totals.out() == 1; }));
  box.stop_and_check();
  EXPECT_EQ(box.runtime->snapshot().totals.drops[static_cast<std::size_t>(DropReason::kPktTooBig)],
            1U);
}

TEST(Accounts, PauseFramesAreConsumedAndNeverBridged) {
  HandlerControls controls;
  RingBox box{Config{}, working_loops(controls)};
  rte_mbuf* mbuf = rte_pktmbuf_alloc(box.pool());
  auto* bytes = reinterpret_cast<std::uint8_t*>(rte_pktmbuf_append(mbuf, 64));
  std::memset(bytes, 0, 64);
  const std::array<std::uint8_t, 14> pause = {0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 8};
  std::memcpy(bytes, pause.data(), pause.size());
  ASSERT_TRUE(RingBox::put(box.left, mbuf));
  ASSERT_TRUE(
      eventually(milliseconds{2'000}, [&] { return box.runtime->snapshot().totals.out() == 1; }));
  box.stop_and_check();
  const Snapshot end = box.runtime->snapshot();
  EXPECT_EQ(end.totals.consumed, 1U);
  EXPECT_EQ(end.workers[0].pause_frames + end.workers[1].pause_frames, 1U);
}

TEST(Accounts, SegmentedAndForeignMbufsAreFreedToTheirOwnPools) {
  Config config;
  config.steering.workers = {1};  // handed over, so the return path is the long one
  HandlerControls controls;
  RingBox box{config, [](const Config&, const auto&) { return loops_with(Sink{}); }};
  NumberedSource source{box.pool(), 8};
  for (int i = 0; i < 500; ++i) {
    rte_mbuf* first = source.next();
    rte_mbuf* second = rte_pktmbuf_alloc(box.pool());
    ASSERT_NE(rte_pktmbuf_append(second, 100), nullptr);
    if (i % 2 == 0) {
      ASSERT_EQ(rte_pktmbuf_chain(first, second), 0);
    } else {
      rte_pktmbuf_free(second);
    }
    ASSERT_TRUE(RingBox::put(box.left, first));
  }
  ASSERT_TRUE(eventually(milliseconds{5'000},
                         [&] { return box.runtime->snapshot().totals.consumed == 500; }));
  box.stop_and_check();
}

}  // namespace
}  // namespace mqsteer::test
