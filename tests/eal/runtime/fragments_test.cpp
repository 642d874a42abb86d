// fragments: track on a running box: every fragment leaves from its flow's worker, in order.

#include "load.h"
#include "support/deadline.h"
#include "test_handlers.h"

#include <rte_ip.h>

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <vector>

namespace mqsteer::test {
namespace {

using std::chrono::milliseconds;

constexpr std::uint16_t kFirst = 0x2000;  // more fragments, offset 0
constexpr std::uint16_t kLast = 3;        // offset 24 bytes

/// Turns numbered packets into fragments: the number stays where it is, since nobody looks at ports
/// of a later fragment.
void make_fragment(rte_mbuf& mbuf, std::uint16_t id, std::uint16_t offset_and_flags) {
  auto* ip = rte_pktmbuf_mtod_offset(&mbuf, rte_ipv4_hdr*, sizeof(rte_ether_hdr));
  ip->packet_id = rte_cpu_to_be_16(id);
  ip->fragment_offset = rte_cpu_to_be_16(offset_and_flags);
}

struct Outcome {
  std::map<std::uint32_t, std::set<std::uint32_t>> workers;  ///< by flow
  std::uint64_t seen = 0;
};

Config tracking() {
  Config config;
  config.steering.fragments = Fragments::kTrack;
  config.steering.backlog_slots = 4096;
  return config;
}

void collect(RingBox& box, Outcome& outcome, std::uint64_t packets) {
  ASSERT_TRUE(eventually(milliseconds{5'000}, [&] {
    RingBox::take(box.right, [&](const rte_mbuf& mbuf) {
      const Number number = number_of(mbuf);
      outcome.workers[number.flow].insert(number.worker);
      ++outcome.seen;
    });
    return outcome.seen == packets;
  })) << outcome.seen;
}

TEST(Fragments, GoToTheirFlowsWorkerWhateverOrderTheyComeIn) {
  HandlerControls controls;
  RingBox box{tracking(), working_loops(controls)};
  NumberedSource source{box.pool(), kFlowsPerSide};
  Outcome outcome;
  for (std::uint32_t round = 0; round < 50; ++round) {
    std::vector<rte_mbuf*> whole;
    for (std::uint32_t flow = 0; flow < kFlowsPerSide; ++flow) whole.push_back(source.next());
    for (std::uint32_t flow = 0; flow < kFlowsPerSide; ++flow) {
      rte_mbuf* first = source.next();
      rte_mbuf* last = rte_pktmbuf_copy(first, box.pool(), 0, UINT32_MAX);
      ASSERT_NE(last, nullptr);
      const auto id = static_cast<std::uint16_t>(round * kFlowsPerSide + flow);
      make_fragment(*first, id, kFirst);
      make_fragment(*last, id, kLast);
      const bool turned = (round + flow) % 2 == 0;  // half of them the wrong way round
      ASSERT_TRUE(RingBox::put(box.left, turned ? last : first));
      ASSERT_TRUE(RingBox::put(box.left, turned ? first : last));
      ASSERT_TRUE(RingBox::put(box.left, whole[flow]));
    }
    collect(box, outcome, (round + 1) * 3 * kFlowsPerSide);
  }
  std::set<std::uint32_t> used;
  for (const auto& [flow, workers] : outcome.workers) {
    EXPECT_EQ(workers.size(), 1U) << "flow " << flow << " was seen at two workers";
    used.insert(workers.begin(), workers.end());
  }
  EXPECT_EQ(used.size(), 2U) << "both workers had flows";
  const FragmentFigures fragments = box.runtime->snapshot().fragments;
  EXPECT_EQ(fragments.tracked, 50U * 2 * kFlowsPerSide);
  EXPECT_EQ(fragments.missed, 0U);
  EXPECT_EQ(fragments.held, 50U * kFlowsPerSide / 2);
  box.stop_and_check();
}

TEST(Fragments, StraysGoOnAfterAWhileAndAQuiesceOrAStopLosesNone) {
  HandlerControls controls;
  RingBox box{tracking(), working_loops(controls)};
  NumberedSource source{box.pool(), kFlowsPerSide};
  Outcome outcome;
  const auto put_strays = [&](std::uint16_t base) {
    for (std::uint16_t i = 0; i < 100; ++i) {
      rte_mbuf* stray = source.next();
      make_fragment(*stray, static_cast<std::uint16_t>(base + i), kLast);
      ASSERT_TRUE(RingBox::put(box.left, stray));
    }
  };
  put_strays(1000);
  collect(box, outcome, 100);
  EXPECT_EQ(box.runtime->snapshot().fragments.missed, 100U);
  put_strays(2000);
  SteeringConfig other = box.runtime->config().steering;
  other.symmetric = false;  // a quiesce
  ASSERT_TRUE(box.runtime->set_steering(other));
  collect(box, outcome, 200);
  put_strays(3000);
  ASSERT_TRUE(
      eventually(milliseconds{2'000}, [&] { return box.runtime->snapshot().totals.rx == 300; }));
  box.stop_and_check();
  EXPECT_EQ(box.runtime->snapshot().totals.tx, 300U);
}

}  // namespace
}  // namespace mqsteer::test
