#include "steering/rfs_table.h"

#include <gmock/gmock.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace mqsteer {
namespace {

RfsTable table_of(std::uint32_t flows) {
  return RfsTable{flows, *std::pmr::new_delete_resource()};
}

/// Hashes that share one set of a table of kMinFlows flows, whose sets take the top 10 bits.
std::uint32_t in_one_set(std::uint32_t number) {
  return (0x155U << 22U) | number;
}

WorkerId worker_at(const RfsTable& table, std::uint32_t hash) {
  const auto found = table.find(hash);
  return found ? found->worker : WorkerId{0xffff};
}

TEST(RfsTable, FindsWhatWasRecordedLastAndNothingElse) {
  RfsTable table = table_of(65536);
  table.record(0, WorkerId{3});
  table.record(0xffffffff, WorkerId{127});
  table.record(0, WorkerId{5});
  EXPECT_EQ(worker_at(table, 0), WorkerId{5});
  EXPECT_EQ(worker_at(table, 0xffffffff), WorkerId{127});
  EXPECT_FALSE(table.find(1));
  EXPECT_EQ(table.used(), 2U);
}

TEST(RfsTable, IsFourTimesAsLargeAsTheFlowsAskedForRoundedUp) {
  EXPECT_EQ(table_of(65536).entries(), 4U * 65536U);
  EXPECT_EQ(table_of(65537).entries(), 4U * 131072U);
  EXPECT_EQ(table_of(RfsTable::kMinFlows).entries(), 8192U) << "22 check bits are the most";
  EXPECT_EQ(RfsTable::bytes(65536), 65536U * 16U);
}

TEST(RfsTable, AQuarterFullMisleadsNoFlowAndLosesAlmostNone) {
  constexpr std::uint32_t kFlows = 65536;
  RfsTable table = table_of(kFlows);
  std::mt19937 random{20110815};
  std::vector<std::uint32_t> hashes(kFlows);
  for (std::uint32_t& hash : hashes) hash = static_cast<std::uint32_t>(random());
  for (const std::uint32_t hash : hashes)
    table.record(hash, WorkerId{static_cast<std::uint16_t>(hash % 7)});
  std::size_t lost = 0;
  for (const std::uint32_t hash : hashes) {
    const auto found = table.find(hash);
    if (!found) {
      ++lost;
    } else {
      ASSERT_EQ(found->worker.value(), hash % 7) << "an entry is of one hash exactly";
    }
  }
  EXPECT_LE(lost, kFlows / 1000);
  EXPECT_EQ(table.displaced(), lost);
}

TEST(RfsTable, MoreFlowsThanEntriesDisplaceEachOtherAndMisleadNone) {
  RfsTable table = table_of(RfsTable::kMinFlows);
  std::mt19937 random{20110816};
  constexpr std::uint32_t kFlows = 100'000;
  for (std::uint32_t i = 0; i < kFlows; ++i) {
    const auto hash = static_cast<std::uint32_t>(random());
    table.record(hash, WorkerId{static_cast<std::uint16_t>(hash % 100)});
    ASSERT_EQ(worker_at(table, hash).value(), hash % 100);
  }
  EXPECT_EQ(table.used(), table.entries());
  EXPECT_EQ(table.displaced(), kFlows - table.entries());
  random.seed(20110816);
  for (std::uint32_t i = 0; i < kFlows; ++i) {
    const auto hash = static_cast<std::uint32_t>(random());
    const auto found = table.find(hash);
    ASSERT_EQ(found ? found->worker.value() : hash % 100, hash % 100);
  }
}

TEST(RfsTable, AFullSetLetsGoOfAFlowThatWasNotRecordedLately) {
  RfsTable table = table_of(RfsTable::kMinFlows);
  for (std::uint32_t i = 0; i < 8; ++i) table.record(in_one_set(i), WorkerId{1});
  table.record(in_one_set(8), WorkerId{1});  // combs the set: the others are no longer recent
  for (std::uint32_t i = 2; i < 9; ++i) table.record(in_one_set(i), WorkerId{2});
  table.record(in_one_set(9), WorkerId{1});
  EXPECT_FALSE(table.find(in_one_set(1))) << "the only one not recorded since";
  for (std::uint32_t i = 2; i < 9; ++i) EXPECT_EQ(worker_at(table, in_one_set(i)), WorkerId{2});
}

TEST(RfsTable, RecordsNeverOverwriteAPin) {
  RfsTable table = table_of(RfsTable::kMinFlows);
  table.record(7, WorkerId{1});
  ASSERT_TRUE(table.pin(7, WorkerId{4}));
  table.record(7, WorkerId{2});
  for (std::uint32_t i = 0; i < 100; ++i) table.record(in_one_set(i), WorkerId{3});
  ASSERT_TRUE(table.find(7));
  EXPECT_TRUE(table.find(7)->pinned);
  EXPECT_EQ(table.find(7)->worker, WorkerId{4});
  table.forget(7);
  EXPECT_FALSE(table.find(7));
}

TEST(RfsTable, PinsStandAgainstAFloodOfFlowsInTheirSet) {
  RfsTable table = table_of(RfsTable::kMinFlows);
  ASSERT_TRUE(table.pin(in_one_set(1'000'000), WorkerId{4}));
  for (std::uint32_t i = 0; i < 1000; ++i) table.record(in_one_set(i), WorkerId{3});
  EXPECT_EQ(worker_at(table, in_one_set(1'000'000)), WorkerId{4});
}

TEST(RfsTable, ANinthPinOfASetIsRefusedAndRecordsPassItBy) {
  RfsTable table = table_of(RfsTable::kMinFlows);
  for (std::uint32_t i = 0; i < 8; ++i) ASSERT_TRUE(table.pin(in_one_set(i), WorkerId{1}));
  EXPECT_FALSE(table.pin(in_one_set(8), WorkerId{1}));
  table.record(in_one_set(9), WorkerId{2});
  EXPECT_FALSE(table.find(in_one_set(9)));
  EXPECT_TRUE(table.pin(in_one_set(3), WorkerId{2})) << "a pin may be changed in a full set";
}

TEST(RfsTable, WorkersThatRecordAtOnceLeaveOneOfTheirWorkersOrNone) {
  RfsTable table = table_of(RfsTable::kMinFlows);
  ASSERT_TRUE(table.pin(in_one_set(0), WorkerId{9}));
  std::vector<std::thread> threads;
  for (std::uint16_t worker = 0; worker < 2; ++worker) {
    threads.emplace_back([&table, worker] {
      for (std::uint32_t i = 0; i < 200'000; ++i) {
        table.record(in_one_set(i % 12), WorkerId{worker});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint32_t i = 1; i < 12; ++i) {
    const auto found = table.find(in_one_set(i));
    EXPECT_LT(found ? found->worker : WorkerId{0}, WorkerId{2});
  }
  EXPECT_EQ(worker_at(table, in_one_set(0)), WorkerId{9});
}

/// Runs `record` of one flow over and over on a thread of its own while it lives.
class Recording {
 public:
  Recording(RfsTable& table, std::uint32_t hash, WorkerId worker)
      : thread_{[this, &table, hash, worker] {
          while (!stop_.load(std::memory_order_relaxed)) table.record(hash, worker);
        }} {}
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  Recording(Recording&&) = delete;
  Recording& operator=(Recording&&) = delete;
  ~Recording() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST(RfsTable, APinHoldsWhileItsFlowIsBeingRecorded) {
  RfsTable table{RfsTable::kMinFlows, *std::pmr::new_delete_resource()};
  const Recording recording{table, 7, WorkerId{1}};
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(table.pin(7, WorkerId{4}));
    const auto found = table.find(7);
    ASSERT_TRUE(found && found->pinned && found->worker == WorkerId{4}) << "pin " << i;
    table.forget(7);
  }
}

TEST(RfsTable, AFlowRecordedByTwoAtOnceHasOneEntry) {
  RfsTable table{RfsTable::kMinFlows, *std::pmr::new_delete_resource()};
  for (int i = 0; i < 200; ++i) {
    {
      const Recording one{table, 7, WorkerId{1}};
      const Recording other{table, 7, WorkerId{2}};
      for (int again = 0; again < 100; ++again) table.forget(7);
    }
    table.record(7, WorkerId{1});
    ASSERT_EQ(table.used(), 1U);
  }
}

}  // namespace
}  // namespace mqsteer
