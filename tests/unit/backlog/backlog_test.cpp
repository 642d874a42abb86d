#include "backlog/backlog.h"

#include "backlog/return_ring.h"
#include "support/fake_mbufs.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace mqsteer {
namespace {

std::pmr::memory_resource& heap() {
  return *std::pmr::new_delete_resource();
}

TEST(Backlog, TheConsumerSeesOnlyWhatIsPublished) {
  Backlog backlog{{.slots = 8}, heap()};
  backlog.assign({.hash = 1});
  EXPECT_EQ(backlog.look(), 0U);
  EXPECT_EQ(backlog.staged(), 1U);
  backlog.publish();
  EXPECT_EQ(backlog.look(), 1U);
  EXPECT_EQ(backlog.take(1).packets[0].hash, 1U);
}

TEST(Backlog, HeadMovesWhenPacketsAreFinishedAndNotWhenTheyAreTaken) {
  Backlog backlog{{.slots = 8}, heap()};
  backlog.assign({});
  backlog.publish();
  (void)backlog.take(1);
  EXPECT_EQ(backlog.refresh_head(), 0U);
  backlog.finish();
  EXPECT_EQ(backlog.refresh_head(), 1U);
}

TEST(Backlog, ATakeEndsAtTheEndOfTheRing) {
  Backlog backlog{{.slots = 4, .first = 2}, heap()};
  for (std::uint32_t i = 0; i < 4; ++i) backlog.assign({.hash = i});
  backlog.publish();
  EXPECT_EQ(backlog.take(4).packets.size(), 2U);
  EXPECT_EQ(backlog.take(2).packets[0].hash, 2U);
}

TEST(Backlog, InPlaceStartsAtTheFirstSlotAgainAfterEachTurn) {
  Backlog backlog{{.slots = 8, .in_place = true}, heap()};
  const PacketMeta* first_slot = nullptr;
  for (int turn = 0; turn < 5; ++turn) {
    for (int i = 0; i < 3; ++i) backlog.assign({});
    backlog.publish();
    const PacketBurst burst = backlog.take(3);
    if (first_slot == nullptr) first_slot = burst.packets.data();
    EXPECT_EQ(burst.packets.data(), first_slot);
    backlog.finish();
    backlog.rewind();
    EXPECT_EQ(backlog.room(), 8U);
  }
  EXPECT_EQ(backlog.tail(), 15U);
}

/// A million packets from one thread to another; for the thread sanitizer as much as for the
/// counts.
TEST(Backlog, KeepsOrderAndContentsBetweenTwoThreads) {
  constexpr std::uint32_t kPackets = 1'000'000;
  Backlog backlog{{.slots = 256, .first = UINT64_MAX - 1000}, heap()};
  std::thread consumer{[&] {
    for (std::uint32_t expected = 0; expected < kPackets;) {
      const std::uint64_t there = backlog.look();
      if (there == 0) {
        std::this_thread::yield();
        continue;
      }
      for (const PacketMeta& packet : backlog.take(there).packets) {
        ASSERT_EQ(packet.hash, expected++);
      }
      backlog.finish();
    }
  }};
  for (std::uint32_t sent = 0; sent < kPackets;) {
    if (backlog.room() == 0 && backlog.refresh_head() == 0) {
      backlog.publish();
      std::this_thread::yield();
      continue;
    }
    backlog.assign({.hash = sent++});
    if (backlog.staged() >= 64) backlog.publish();
  }
  backlog.publish();
  consumer.join();
  EXPECT_EQ(backlog.head(), backlog.tail());
}

TEST(ReturnRing, TakesAPrefixAndLeavesTheRestToTheCaller) {
  ReturnRing ring{4, heap()};
  std::vector<rte_mbuf*> mbufs(6);
  EXPECT_EQ(ring.put(mbufs), 4U);
  EXPECT_EQ(ring.put(mbufs), 0U);
  std::vector<rte_mbuf*> taken(8);
  EXPECT_EQ(ring.take(taken), 4U);
  EXPECT_EQ(ring.put(mbufs), 4U);
}

TEST(ReturnRing, BringsEveryMbufBackBetweenTwoThreads) {
  constexpr std::uintptr_t kMbufs = 200'000;
  ReturnRing ring{128, heap()};
  std::thread worker{[&] {
    for (std::uintptr_t i = 1; i <= kMbufs;) {
      rte_mbuf* mbuf = reinterpret_cast<rte_mbuf*>(i);
      if (ring.put({&mbuf, 1}) == 1) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  }};
  std::uintptr_t expected = 1;
  std::array<rte_mbuf*, 32> taken;
  while (expected <= kMbufs) {
    const std::size_t count = ring.take(taken);
    if (count == 0) std::this_thread::yield();
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(taken[i]), expected++);
    }
  }
  worker.join();
}

}  // namespace
}  // namespace mqsteer
