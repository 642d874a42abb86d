#include "support/deadline.h"
#include "support/numbered.h"
#include "support/ring_box.h"
#include "test_handlers.h"

#include <gmock/gmock.h>

namespace mqsteer::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

/// Only the left port gets packets, so that lcore 0 receives and worker 1 is behind a backlog.
class StalledWorker : public ::testing::Test {
 protected:
  void SetUp() override {
    Config config;
    config.steering.backlog_slots = 1024;
    box_ = std::make_unique<RingBox>(config, working_loops(controls_));
    source_.emplace(box_->pool(), 64);
    send_and_take(1'000);
    controls_.stall[1] = true;
  }

  /// Sends packets and takes what comes out, until as many have left the box in some way.
  void send_and_take(std::uint64_t count) {
    const std::uint64_t target = sent_ + count;
    const bool received = eventually(milliseconds{5'000}, [&] {
      for (int i = 0; i < 64 && sent_ < target; ++i, ++sent_) {
        if (!RingBox::put(box_->left, source_->next())) ADD_FAILURE() << "ring full";
      }
      while (RingBox::take(box_->right, [&](const rte_mbuf& m) { checker_.see(number_of(m)); })) {
      }
      return sent_ == target && box_->runtime->snapshot().totals.rx == target;
    });
    ASSERT_TRUE(received);
  }

  [[nodiscard]] std::uint64_t drops(DropReason reason) {
    return box_->runtime->snapshot().totals.drops[static_cast<std::size_t>(reason)];
  }

  HandlerControls controls_;
  std::unique_ptr<RingBox> box_;
  std::optional<NumberedSource> source_;
  OrderChecker checker_{64};
  std::uint64_t sent_ = 0;
};

TEST_F(StalledWorker, DoesNotStopTheOthersAndRecovers) {
  const std::uint64_t before = box_->runtime->snapshot().workers[0].packets;
  send_and_take(10'000);
  EXPECT_GT(box_->runtime->snapshot().workers[0].packets, before + 2'000);
  EXPECT_GT(drops(DropReason::kBacklogFull), 1'000U);
  controls_.stall[1] = false;
  EXPECT_TRUE(eventually(milliseconds{5'000},
                         [&] { return box_->runtime->snapshot().workers[1].backlog == 0; }));
  send_and_take(1'000);
  box_->stop_and_check();
  EXPECT_EQ(checker_.reordered(), 0U);
}

TEST_F(StalledWorker, IsNamedByTheWatchdogAndByARefusedQuiesce) {
  send_and_take(1'000);
  (void)box_->runtime->stalled_lcores();
  EXPECT_TRUE(eventually(milliseconds{2'000}, [&] {
    return box_->runtime->stalled_lcores() == std::vector<std::size_t>{1};
  }));
  SteeringConfig other = box_->runtime->config().steering;
  other.mode = SteeringMode::kSoftRss;
  const auto changed = box_->runtime->set_steering(other);
  ASSERT_FALSE(changed);
  EXPECT_THAT(changed.error().message, HasSubstr("worker 1 (lcore 1) still has"));
  EXPECT_EQ(box_->runtime->config().steering.mode, SteeringMode::kRps);
  send_and_take(1'000);  // it goes on as before
  controls_.stall[1] = false;
  box_->stop_and_check();
}

TEST_F(StalledWorker, WhenAbandonedLosesItsBucketsAtOnceAndDropsWhatIsOldWhenItIsBack) {
  send_and_take(1'000);
  ASSERT_TRUE(box_->runtime->abandon(WorkerId{1}));
  const std::uint64_t full = drops(DropReason::kBacklogFull);
  send_and_take(5'000);
  EXPECT_EQ(drops(DropReason::kBacklogFull), full) << "nothing is sent to it any more";
  controls_.stall[1] = false;
  EXPECT_TRUE(
      eventually(milliseconds{5'000}, [&] { return drops(DropReason::kWorkerStalled) > 100; }));
  ASSERT_TRUE(eventually(milliseconds{5'000},
                         [&] { return box_->runtime->snapshot().workers[1].backlog == 0; }));
  const std::uint64_t stalled = drops(DropReason::kWorkerStalled);
  const std::uint64_t packets = box_->runtime->snapshot().workers[1].packets;
  ASSERT_TRUE(box_->runtime->restore(WorkerId{1}));
  EXPECT_TRUE(eventually(milliseconds{10'000}, [&] {
    send_and_take(1'000);
    return box_->runtime->snapshot().workers[1].packets > packets + 1'000;
  })) << "it works again";
  EXPECT_EQ(drops(DropReason::kWorkerStalled), stalled);
  EXPECT_LE(checker_.reordered(), kMaxBurst) << "only the burst in which it stopped may be late";
  box_->stop_and_check();
}

TEST_F(StalledWorker, CannotBeAbandonedWhenItIsTheLastOne) {
  ASSERT_TRUE(box_->runtime->abandon(WorkerId{1}));
  const auto refused = box_->runtime->abandon(WorkerId{0});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("all listed workers are abandoned"));
  controls_.stall[1] = false;
  box_->stop_and_check();
}

TEST(Stop, CountsWhatIsHeldForAMoveThatDoesNotEnd) {
  HandlerControls controls;
  Config config;
  config.steering.workers = {1};
  config.steering.backlog_slots = 1024;
  RingBox box{config, working_loops(controls)};
  controls.spin_cycles[1] = static_cast<std::uint32_t>(tsc_hz() / 200);  // 5 ms a packet
  NumberedSource source{box.pool(), 64};
  for (int i = 0; i < 800; ++i) ASSERT_TRUE(RingBox::put(box.left, source.next()));
  ASSERT_TRUE(
      eventually(milliseconds{5'000}, [&] { return box.runtime->snapshot().totals.rx == 800; }));
  SteeringConfig away = config.steering;
  away.workers = {0};
  ASSERT_TRUE(box.runtime->set_steering(away));
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(RingBox::put(box.left, source.next()));
  ASSERT_TRUE(
      eventually(milliseconds{5'000}, [&] { return box.runtime->snapshot().totals.rx == 1'000; }));
  box.stop_and_check();  // after the two seconds that it may take
  EXPECT_GT(
      box.runtime->snapshot().totals.drops[static_cast<std::size_t>(DropReason::kWorkerStalled)],
      200U);
}

/// Worker 1 receives nothing here: the plan leaves receiving to lcore 0, which is no listed worker.
TEST(Abandon, OfAWorkerThatReceivesNothingLetsTheModeChange) {
  HandlerControls controls;
  Config config;
  config.steering.workers = {1};
  RingBox box{config, working_loops(controls)};
  controls.stall[1] = true;
  NumberedSource source{box.pool(), 64};
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(RingBox::put(box.left, source.next()));
  ASSERT_TRUE(
      eventually(milliseconds{5'000}, [&] { return box.runtime->snapshot().totals.rx == 100; }));
  SteeringConfig both = config.steering;
  both.workers = {0, 1};
  ASSERT_TRUE(box.runtime->set_steering(both));
  SteeringConfig other = both;
  other.mode = SteeringMode::kSoftRss;
  const auto refused = box.runtime->set_steering(other);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("if it is stalled, abandon it"));
  ASSERT_TRUE(box.runtime->abandon(WorkerId{1}));
  const auto changed = box.runtime->set_steering(other);
  EXPECT_TRUE(changed) << changed.error().text();
  controls.stall[1] = false;
  box.stop_and_check();
}

}  // namespace
}  // namespace mqsteer::test
