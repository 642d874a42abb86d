#include "eal/mempool.h"

#include "environment.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

namespace mqsteer {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Mempool, HasAllItsMbufsAndGetsThemBack) {
  eal();
  const auto pool = Mempool::create("full", {.mbufs = 1000, .cache = 32});
  ASSERT_TRUE(pool) << pool.error().text();
  EXPECT_EQ(pool->capacity(), 1000U);
  std::array<rte_mbuf*, 1000> mbufs{};
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool->raw(), mbufs.data(), 1000), 0);
  EXPECT_EQ(pool->available(), 0U);
  rte_pktmbuf_free_bulk(mbufs.data(), 1000);
  EXPECT_EQ(pool->available(), 1000U);
}

TEST(Mempool, LiesInOnePieceWithoutGaps) {
  eal();
  const MempoolConfig config{.mbufs = 500, .data_room_bytes = 2176, .cache = 0};
  const auto pool = Mempool::create("dense", config);
  ASSERT_TRUE(pool) << pool.error().text();
  EXPECT_EQ(pool->raw()->nb_mem_chunks, 1U);
  std::array<rte_mbuf*, 500> mbufs{};
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool->raw(), mbufs.data(), 500), 0);
  std::ranges::sort(mbufs);
  const auto object = rte_mempool_calc_obj_size(pool->raw()->elt_size, pool->raw()->flags, nullptr);
  for (std::size_t i = 1; i < mbufs.size(); ++i) {
    ASSERT_EQ(reinterpret_cast<char*>(mbufs[i]) - reinterpret_cast<char*>(mbufs[i - 1]), object);
  }
  rte_pktmbuf_free_bulk(mbufs.data(), 500);
}

TEST(Mempool, GivesMbufsThatADeviceCanBeTold) {
  eal();
  const auto pool = Mempool::create("iova", {.mbufs = 10, .cache = 0});
  ASSERT_TRUE(pool) << pool.error().text();
  rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool->raw());
  ASSERT_NE(mbuf, nullptr);
  EXPECT_EQ(rte_pktmbuf_iova(mbuf), rte_pktmbuf_mtod(mbuf, rte_iova_t));
  EXPECT_EQ(pool->raw()->flags & RTE_MEMPOOL_F_NON_IO, 0U);
  rte_pktmbuf_free(mbuf);
}

TEST(Mempool, SaysWhatItWouldTakeWhenMemoryIsShort) {
  eal();
  const auto pool = Mempool::create("huge", {.mbufs = 1'000'000});
  ASSERT_FALSE(pool);
  EXPECT_EQ(pool.error().text(),
            "mempool huge: 1000000 mbufs of 2176 bytes take 2259 MB, more than DPDK was started "
            "with; lower backlog_budget or rx_descriptors, or use hugepages");
}

TEST(Mempool, RefusesWhatIsNoPool) {
  eal();
  EXPECT_EQ(Mempool::create("none", {.mbufs = 0}).error().text(), "mempool none: 0 mbufs are none");
  EXPECT_THAT(Mempool::create("", {.mbufs = 1}).error().text(), HasSubstr("a name has 1 to"));
  EXPECT_THAT(Mempool::create("small", {.mbufs = 1, .data_room_bytes = 64}).error().text(),
              HasSubstr("no room for the headroom of 128"));
}

TEST(Mempool, CanBeMadeAgainUnderTheSameName) {
  eal();
  for (int round = 0; round < 20; ++round) {
    const auto pool = Mempool::create("again", {.mbufs = 5000});
    ASSERT_TRUE(pool) << "round " << round << ": " << pool.error().text();
  }
}

TEST(Mempool, RefusesANameInUse) {
  eal();
  const auto first = Mempool::create("twin", {.mbufs = 10, .cache = 0});
  ASSERT_TRUE(first);
  EXPECT_EQ(Mempool::create("twin", {.mbufs = 10, .cache = 0}).error().code, EEXIST);
}

}  // namespace
}  // namespace mqsteer
