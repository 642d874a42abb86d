#include "load.h"
#include "support/deadline.h"
#include "test_handlers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace mqsteer::test {
namespace {

using std::chrono::milliseconds;

/// The changes in turn: workers, weights and mode, each of which moves about half of the flows.
SteeringConfig change(int number) {
  SteeringConfig steering;
  steering.backlog_slots = 8192;
  switch (number % 8) {
    case 0:
      steering.workers = {1};
      break;
    case 1:
      steering.workers = {0};
      break;
    case 2:
      steering.workers = {1};
      break;
    case 3:
      steering.weights = {7, 1};
      break;
    case 4:
      steering.weights = {1, 7};
      break;
    case 5:
      steering.mode = SteeringMode::kSoftRss;
      break;
    case 6:
      steering.mode = SteeringMode::kSoftRss;
      steering.workers = {0};
      break;
    default:
      steering.mode = SteeringMode::kNone;
      break;
  }
  return steering;
}

/// Sends until a flow was seen at another worker than before, and every packet that was in the box
/// at the change has left it: only then the next change starts from where this one led. returns:
/// whether a flow moved
bool sees_a_move(Load& load) {
  const std::uint64_t before = load.checker().worker_changes();
  const std::uint64_t last = load.sent() + kWindow;
  return eventually(milliseconds{5'000}, [&] {
    load.turn();
    return load.checker().worker_changes() > before &&
           load.checker().seen() + load.losses() >= last;
  });
}

template <DrainRule rule>
void change_under_load(int changes, std::unique_ptr<Load>& load_out, std::unique_ptr<RingBox>& box,
                       HandlerControls& controls) {
  controls.spin_cycles[0] = 1'000;
  controls.spin_cycles[1] = 6'000;  // its backlog stands; worker 0 gets its own in place
  Config config;
  config.steering.backlog_slots = 8192;
  box = std::make_unique<RingBox>(config, working_loops<rule>(controls));
  load_out = std::make_unique<Load>(*box);
  Load& load = *load_out;
  for (int i = 0; i < 20; ++i) load.turn();
  for (int number = 0; number < changes; ++number) {
    // A quiesce is refused where the host takes a CPU away for its 100 ms; nothing has changed
    // then.
    std::string refused;
    ASSERT_TRUE(eventually(milliseconds{5'000}, [&] {
      const auto changed = box->runtime->set_steering(change(number));
      if (!changed) refused = changed.error().text();
      return changed.has_value();
    })) << refused;
    ASSERT_TRUE(sees_a_move(load)) << "change " << number << " moved no flow that had traffic";
  }
  ASSERT_TRUE(eventually(milliseconds{10'000}, [&] {
    load.take();
    return load.checker().seen() + box->runtime->snapshot().totals.dropped() == load.sent();
  }));
}

TEST(Order, AThousandChangesUnderLoadLoseAndReorderNothing) {
  HandlerControls controls;
  std::unique_ptr<RingBox> box;
  std::unique_ptr<Load> load;
  change_under_load<DrainRule::kOn>(1'000, load, box, controls);
  ASSERT_NE(load, nullptr);
  const Moves moves = moves_of(*box->runtime);
  std::cout << load->sent() << " packets, " << moves.moves << " moves, " << moves.held << " held, "
            << load->checker().worker_changes() << " worker changes seen\n";
  EXPECT_EQ(load->checker().reordered(), 0U);
  EXPECT_EQ(load->checker().missing(), box->runtime->snapshot().totals.dropped());
  EXPECT_EQ(load->checker().seen() + box->runtime->snapshot().totals.dropped(), load->sent());
  EXPECT_GE(moves.held, 1'000U);
  box->stop_and_check();
}

TEST(Order, WithoutTheDrainRuleTheSameChangesReorder) {
  HandlerControls controls;
  std::unique_ptr<RingBox> box;
  std::unique_ptr<Load> load;
  change_under_load<DrainRule::kOff>(200, load, box, controls);
  ASSERT_NE(load, nullptr);
  EXPECT_GT(load->checker().reordered(), 0U);
  box->stop_and_check();
}

TEST(Order, AnOverloadedWorkerIsTakenOutWithinItsBacklogsDrainTime) {
  HandlerControls controls;
  Config config;
  config.steering.backlog_slots = 512;  // so that it stands half full
  RingBox box{config, working_loops(controls)};
  controls.spin_cycles[1] = 8'000;
  Load load{box, Load::Into::kLeft};
  ASSERT_TRUE(eventually(milliseconds{10'000}, [&] {
    load.turn();
    return box.runtime->snapshot().workers[1].backlog > 256;
  }));
  const std::uint64_t backlog = box.runtime->snapshot().workers[1].backlog;
  const auto begin = std::chrono::steady_clock::now();
  SteeringConfig without = box.runtime->config().steering;
  without.workers = {0};
  ASSERT_TRUE(box.runtime->set_steering(without));
  const std::uint64_t packets = box.runtime->snapshot().workers[1].packets;
  ASSERT_TRUE(eventually(milliseconds{5'000}, [&] {
    load.turn();
    const Snapshot now = box.runtime->snapshot();
    return now.workers[1].backlog == 0 && now.totals.in_flight < kWindow &&
           load.checker().worker_of(0) == 0;
  }));
  const auto took = std::chrono::steady_clock::now() - begin;
  const double took_ms = std::chrono::duration<double, std::milli>(took).count();
  const double drain_ms =
      static_cast<double>(backlog) * 8'000 * 1e3 / static_cast<double>(tsc_hz());
  std::cout << backlog << " packets in its backlog, " << drain_ms << " ms of work; taken out in "
            << took_ms << " ms\n";
  // Three threads share two CPUs here, so the worker may run at half its speed, and the host takes
  // CPUs away for milliseconds.
  EXPECT_LT(took_ms, drain_ms * 4 + 200);
  EXPECT_LE(box.runtime->snapshot().workers[1].packets, packets + backlog + kMaxBurst);
  EXPECT_EQ(load.checker().reordered(), 0U);
  box.stop_and_check();
}

TEST(Order, AFullBacklogAtTheTimeOfAChangeLosesOnlyWhatIsCounted) {
  HandlerControls controls;
  Config config;
  config.steering.backlog_slots = 256;
  config.steering.workers = {1};
  RingBox box{config, working_loops(controls)};
  controls.spin_cycles[1] = 10'000;
  Load load{box};
  for (int round = 0; round < 50; ++round) {
    load.forget_losses(box.runtime->snapshot().totals.dropped());
    for (int i = 0; i < 4; ++i) load.turn();
    SteeringConfig next = config.steering;
    next.workers = {static_cast<std::uint16_t>(round % 2)};
    ASSERT_TRUE(box.runtime->set_steering(next));
  }
  controls.spin_cycles[1] = 0;
  ASSERT_TRUE(eventually(milliseconds{10'000}, [&] {
    load.take();
    return load.checker().seen() + box.runtime->snapshot().totals.dropped() == load.sent();
  }));
  EXPECT_GT(box.runtime->snapshot().totals.dropped(), 0U);
  EXPECT_EQ(load.checker().reordered(), 0U);
  box.stop_and_check();
}

}  // namespace
}  // namespace mqsteer::test
