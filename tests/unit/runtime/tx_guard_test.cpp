#include "runtime/tx_guard.h"

#include "steering/dispatcher.h"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>

namespace mqsteer {
namespace {

std::unique_ptr<Backlog> backlog_of(std::uint32_t slots = 1024) {
  return std::make_unique<Backlog>(Backlog::Shape{.slots = slots},
                                   *std::pmr::new_delete_resource());
}

/// Puts packets through a backlog to where tx_burst has them.
void pass(Backlog& backlog, int packets) {
  for (int i = 0; i < packets; ++i) backlog.assign({});
  backlog.publish();
  static_cast<void>(backlog.take(backlog.look()));
  backlog.finish();
}

TEST(TxGuard, WhereEveryPortCopiesLeftIsHead) {
  const auto backlog = backlog_of();
  TxGuard guard{{}, {backlog.get()}};
  pass(*backlog, 3);
  guard.run(TscCycles{1}, true);
  EXPECT_EQ(backlog->left_to(), 3U);
}

/// A TX queue with the count of what was given to it.
struct FakeQueue {
  std::uint64_t sent = 0;
  std::atomic<std::uint64_t> frame_cycles{10};
  TxGuard::Queue queue(std::uint32_t descriptors) {
    return {.descriptors = descriptors, .sent = &sent, .frame_cycles = &frame_cycles};
  }
};

TEST(TxGuard, ByTimeAFrameHasLeftWhenAllBeforeItCanHave) {
  const auto backlog = backlog_of();
  FakeQueue tx;
  TxGuard guard{{.queues = {tx.queue(100)}}, {backlog.get()}};
  pass(*backlog, 3);
  tx.sent = 3;
  guard.run(TscCycles{1000}, true);  // all of them by 1030
  pass(*backlog, 2);
  tx.sent = 5;
  guard.run(TscCycles{1029}, true);  // by 1050
  EXPECT_EQ(backlog->left_to(), 0U);
  guard.run(TscCycles{1030}, true);
  EXPECT_EQ(backlog->left_to(), 3U);
  guard.run(TscCycles{1049}, true);
  EXPECT_EQ(backlog->left_to(), 3U);
  guard.run(TscCycles{1050}, true);
  EXPECT_EQ(backlog->left_to(), 5U);
}

TEST(TxGuard, ByTimeNothingTakesLongerThanAFullRing) {
  const auto backlog = backlog_of();
  FakeQueue tx;
  TxGuard guard{{.queues = {tx.queue(100)}}, {backlog.get()}};
  pass(*backlog, 500);
  tx.sent = 500;  // most of them have left while they were sent
  guard.run(TscCycles{1}, true);
  guard.run(TscCycles{1000}, true);
  EXPECT_EQ(backlog->left_to(), 0U);
  guard.run(TscCycles{1001}, true);
  EXPECT_EQ(backlog->left_to(), 500U);
}

TEST(TxGuard, ByTimeASharedRingIsTakenToBeFull) {
  const auto backlog = backlog_of();
  FakeQueue tx;
  auto queue = tx.queue(100);
  queue.shared = true;
  TxGuard guard{{.queues = {queue}}, {backlog.get()}};
  pass(*backlog, 1);
  tx.sent = 1;
  guard.run(TscCycles{1}, true);
  guard.run(TscCycles{1000}, true);
  EXPECT_EQ(backlog->left_to(), 0U);
  guard.run(TscCycles{1001}, true);
  EXPECT_EQ(backlog->left_to(), 1U);
}

TEST(TxGuard, ByTimeAnIdleQueueIsWaitedForNoMore) {
  const auto backlog = backlog_of();
  FakeQueue tx;
  TxGuard guard{{.queues = {tx.queue(100)}}, {backlog.get()}};
  pass(*backlog, 4);  // dropped or consumed: nothing was sent
  guard.run(TscCycles{1}, true);
  guard.run(TscCycles{2}, true);
  EXPECT_EQ(backlog->left_to(), 4U);
}

TEST(TxGuard, SwitchedOffItStillWaitsForTakersButNotForTxQueues) {
  const auto backlog = backlog_of();
  HandOverRing ring{64, *std::pmr::new_delete_resource()};
  FakeQueue tx;
  tx.frame_cycles = 1'000'000;
  TxGuard guard{{.queues = {tx.queue(100)}, .rings = {&ring}}, {backlog.get()}};
  tx.sent = 1;
  ASSERT_TRUE(ring.put({}));
  ring.publish();
  pass(*backlog, 1);
  guard.run(TscCycles{1}, false);
  guard.run(TscCycles{2}, false);
  EXPECT_EQ(backlog->left_to(), 0U);
  static_cast<void>(ring.take(1));
  ring.finish();
  guard.run(TscCycles{3}, false);
  EXPECT_EQ(backlog->left_to(), 1U);
}

// What the fake driver says; the test's, since the guard takes a plain function.
std::uint16_t asked_offset;
bool answer_done;
bool fake_status(const TxGuard::Queue& /*queue*/, std::uint16_t offset) noexcept {
  asked_offset = offset;
  return answer_done;
}

TxGuard::Queue by_status(FakeQueue& tx) {
  auto queue = tx.queue(512);
  queue.by_status = true;
  return queue;
}

TEST(TxGuard, ByStatusAsksForTheDescriptorThatWasWrittenLastWhenTheHeadWasNoted) {
  const auto backlog = backlog_of();
  FakeQueue tx;
  TxGuard guard{{.queues = {by_status(tx)}, .is_done = fake_status}, {backlog.get()}};
  pass(*backlog, 3);
  tx.sent = 3;
  guard.run(TscCycles{1}, true);  // notes head 3
  tx.sent = 10;
  answer_done = false;
  guard.run(TscCycles{2}, true);
  EXPECT_EQ(asked_offset, 512 - 1 - 7) << "seven frames were written since";
  EXPECT_EQ(backlog->left_to(), 0U);
  answer_done = true;
  guard.run(TscCycles{3}, true);
  EXPECT_EQ(backlog->left_to(), 3U);
}

TEST(TxGuard, ADescriptorThatWasWrittenOverHasLeftWhateverTheStatusSays) {
  const auto backlog = backlog_of();
  FakeQueue tx;
  tx.sent = 5;
  TxGuard guard{{.queues = {by_status(tx)}, .is_done = fake_status}, {backlog.get()}};
  pass(*backlog, 1);
  guard.run(TscCycles{1}, true);
  answer_done = false;
  tx.sent += 512;
  guard.run(TscCycles{2}, true);
  EXPECT_EQ(backlog->left_to(), 1U);
}

/// A context descriptor, or a ring whose link is down.
TEST(TxGuard, ADescriptorThatIsNeverDoneIsWaitedForAFullRingsTime) {
  const auto backlog = backlog_of();
  FakeQueue tx;
  TxGuard guard{{.queues = {by_status(tx)}, .is_done = fake_status}, {backlog.get()}};
  pass(*backlog, 1);
  tx.sent = 1;
  answer_done = false;
  guard.run(TscCycles{1}, true);
  guard.run(TscCycles{5120}, true);
  EXPECT_EQ(backlog->left_to(), 0U);
  guard.run(TscCycles{5121}, true);
  EXPECT_EQ(backlog->left_to(), 1U);
}

TEST(TxGuard, WaitsForWhatWasHandedOverUntilItsTakerIsGivenUp) {
  const auto backlog = backlog_of();
  HandOverRing ring{64, *std::pmr::new_delete_resource()};
  TxGuard guard{{.rings = {nullptr, &ring}}, {backlog.get()}};
  ASSERT_TRUE(ring.put({}));
  ring.publish();
  pass(*backlog, 1);
  guard.run(TscCycles{1}, true);
  guard.run(TscCycles{2}, true);
  EXPECT_EQ(backlog->left_to(), 0U);
  static_cast<void>(ring.take(1));
  ring.finish();
  guard.run(TscCycles{3}, true);
  EXPECT_EQ(backlog->left_to(), 1U);
  ASSERT_TRUE(ring.put({}));
  ring.publish();
  pass(*backlog, 1);
  guard.run(TscCycles{4}, true);
  guard.run(TscCycles{5}, true);
  EXPECT_EQ(backlog->left_to(), 1U) << "the second one waits at the taker";
  guard.give_up(1);
  guard.run(TscCycles{6}, true);
  EXPECT_EQ(backlog->left_to(), 2U);
  guard.restore(1);
  pass(*backlog, 1);
  guard.run(TscCycles{7}, true);
  guard.run(TscCycles{8}, true);
  EXPECT_EQ(backlog->left_to(), 2U) << "it is back, and the second one still waits there";
}

/// Two workers with a TX queue each, and a wire that serves the queues in turn, a frame a tick.
/// Flow 0 fills worker 0's queue, so what leaves by worker 1's overtakes it.
class Wire {
 public:
  static constexpr std::uint32_t kDescriptors = 64;
  static constexpr std::uint32_t kFlows = 128;

  explicit Wire(bool guarded) {
    SteeringTable::Shape shape{.mode = SteeringMode::kRfs, .rfs_flows = RfsTable::kMinFlows};
    table.emplace(shape, HasherConfig{});
    table->set_live(std::array{WorkerId{0}, WorkerId{1}});
    std::vector<Backlog*> pointers;
    for (std::size_t w = 0; w < 2; ++w) {
      backlogs[w] = backlog_of();
      pointers.push_back(backlogs[w].get());
      tx[w].frame_cycles = 2;  // both queues take turns
      guards[w] = TxGuard{{.queues = {tx[w].queue(kDescriptors)}}, {backlogs[w].get()}};
    }
    dispatcher.emplace(Dispatcher<>::Config{.backlogs = pointers},
                       *std::pmr::new_delete_resource());
    dispatcher->adopt(*table);
    dispatcher->set_tx_guard(guarded);
  }

  /// One tick: packets come, workers hand all they have to their TX queues, one frame leaves.
  void tick(std::uint64_t now) {
    // Flow 0 alone keeps its queue standing. The others send two packets in turn, change their
    // consumer in between, and are silent for longer than any queue takes.
    receive(0);
    const auto flow = static_cast<std::uint32_t>(1 + now / 8 % (kFlows - 1));
    if (now % 8 == 0 || now % 8 == 4) receive(flow);
    if (now % 8 == 2) {
      table->rfs()->record(hash_of(flow), WorkerId{static_cast<std::uint16_t>(now / 8 % 2)});
    }
    dispatcher->flush(true);
    for (std::size_t w = 0; w < 2; ++w) {
      work(w);
      guards[w].run(TscCycles{now}, true);
    }
    leave(now % 2);
  }

  std::uint64_t reordered = 0;
  std::uint64_t left = 0;
  [[nodiscard]] std::uint64_t moves() const {
    return dispatcher->counters(WorkerId{0}).moves.read() +
           dispatcher->counters(WorkerId{1}).moves.read();
  }
  [[nodiscard]] std::uint64_t held() const {
    return dispatcher->counters(WorkerId{0}).moves_held.read() +
           dispatcher->counters(WorkerId{1}).moves_held.read();
  }

 private:
  static std::uint32_t hash_of(std::uint32_t flow) { return flow * 0x02000001U; }

  void receive(std::uint32_t flow) {
    // The test's own use of two fields: which packet of which flow.
    const PacketMeta packet{.hash = hash_of(flow),
                            .length = static_cast<std::uint16_t>(flow),
                            .queue = ++numbers[flow]};
    dispatcher->dispatch({&packet, 1});
    static_cast<void>(dispatcher->dropped());
  }

  void work(std::size_t w) {
    const PacketBurst burst = backlogs[w]->take(backlogs[w]->look());
    for (const PacketMeta& packet : burst.packets) {
      if (queues[w].size() == kDescriptors) continue;  // as tx_burst refuses
      queues[w].push_back(packet);
      ++tx[w].sent;
    }
    backlogs[w]->finish();
  }

  void leave(std::size_t turn) {
    auto& queue = queues[turn].empty() ? queues[1 - turn] : queues[turn];
    if (queue.empty()) return;
    const PacketMeta packet = queue.front();
    queue.pop_front();
    ++left;
    auto& last = seen[packet.length];
    if (static_cast<std::int16_t>(packet.queue - last) < 0) ++reordered;
    last = packet.queue;
  }

  std::optional<SteeringTable> table;
  std::array<std::unique_ptr<Backlog>, 2> backlogs;
  std::array<FakeQueue, 2> tx;
  std::array<TxGuard, 2> guards;
  std::optional<Dispatcher<>> dispatcher;
  std::array<std::deque<PacketMeta>, 2> queues;
  std::array<std::uint16_t, kFlows> numbers{};
  std::array<std::uint16_t, kFlows> seen{};
};

TEST(TxGuard, KeepsFlowsInOrderOverTxQueuesThatOvertakeEachOther) {
  Wire guarded{true};
  for (std::uint64_t now = 1; now < 400'000; ++now) guarded.tick(now);
  EXPECT_EQ(guarded.reordered, 0U);
  EXPECT_GT(guarded.moves(), 500U);
  EXPECT_GT(guarded.held(), 1'000U);
  EXPECT_GT(guarded.left, 390'000U) << "the wire was busy all the time";
}

TEST(TxGuard, WithoutItTheSameTrafficIsReordered) {
  Wire bare{false};
  for (std::uint64_t now = 1; now < 400'000; ++now) bare.tick(now);
  EXPECT_GT(bare.moves(), 500U);
  EXPECT_GT(bare.reordered, 20U);
}

}  // namespace
}  // namespace mqsteer
