#include "steering/fragment_tracker.h"

#include "support/fake_mbufs.h"
#include "support/fragments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory_resource>
#include <random>
#include <set>
#include <vector>

namespace mqsteer::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kHz = 1'000'000'000;  // a cycle is a nanosecond
constexpr std::uint64_t kMs = 1'000'000;

/// A tracker with its hasher, fed with bytes; a packet is known by the number it was sent with.
class Stage {
 public:
  explicit Stage(const HasherConfig& config = {}) : hasher_{config} { tracker_.adopt(hasher_); }

  /// Sends packets in one burst. returns: the numbers of those that come out
  std::vector<int> send(const std::vector<Bytes>& packets) {
    std::vector<PacketMeta> burst;
    burst.reserve(packets.size());
    for (const Bytes& bytes : packets) {
      burst.push_back({.mbuf = mbufs_.make(bytes)});
      number_[burst.back().mbuf] = sent_++;
    }
    hasher_.run(burst);
    return note(tracker_.track(burst, TscCycles{now_}));
  }
  std::vector<int> send(const Bytes& packet) { return send(std::vector<Bytes>{packet}); }

  std::vector<int> wait(std::uint64_t ns) {
    now_ += ns;
    return note(tracker_.expire(TscCycles{now_}));
  }
  std::vector<int> release_all() { return note(tracker_.release_all(TscCycles{now_})); }

  [[nodiscard]] std::uint32_t flow_hash(const Bytes& packet) const {
    const auto* data = reinterpret_cast<const std::byte*>(packet.data());
    return hasher_.explain(data, packet.size(), packet.size()).hash;
  }
  [[nodiscard]] std::uint32_t hash_of(int number) const { return hash_.at(number); }
  [[nodiscard]] std::vector<std::uint32_t> hashes(const std::vector<int>& numbers) const {
    std::vector<std::uint32_t> all;
    for (const int number : numbers) all.push_back(hash_of(number));
    return all;
  }
  [[nodiscard]] int sent() const { return sent_; }
  [[nodiscard]] int came_out() const { return static_cast<int>(hash_.size()); }
  [[nodiscard]] FragmentTracker& tracker() { return tracker_; }
  [[nodiscard]] std::uint64_t tracked() const { return tracker_.counters().tracked.read(); }
  [[nodiscard]] std::uint64_t missed() const { return tracker_.counters().missed.read(); }

 private:
  std::vector<int> note(std::span<const PacketMeta> packets) {
    std::vector<int> numbers;
    for (const PacketMeta& packet : packets) {
      const int number = number_.at(packet.mbuf);
      numbers.push_back(number);
      EXPECT_TRUE(hash_.emplace(number, packet.hash).second) << number << " came out twice";
    }
    return numbers;
  }

  FlowHasher hasher_;
  FragmentTracker tracker_{kHz, *std::pmr::new_delete_resource()};
  FakeMbufs mbufs_;
  std::map<const rte_mbuf*, int> number_;
  std::map<int, std::uint32_t> hash_;
  int sent_ = 0;
  std::uint64_t now_ = 1;
};

std::vector<HasherConfig> configs() {
  std::vector<HasherConfig> all;
  for (const auto kind : {HasherConfig::kFast, HasherConfig::kToeplitz}) {
    for (const bool symmetric : {true, false}) {
      all.push_back({.kind = kind, .symmetric = symmetric});
    }
  }
  return all;
}

std::vector<Cut> cuts() {
  return {{}, {.source = "2001:db8::2", .destination = "2001:db8::1"}, {.vlan = 3}};
}

TEST(FragmentTracker, FollowsTheFirstFragmentAtOnce) {
  Stage stage;
  const auto parts = fragments({});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_THAT(stage.send(parts[i]), ElementsAre(static_cast<int>(i)));
    EXPECT_EQ(stage.hash_of(static_cast<int>(i)), stage.flow_hash(whole({})));
  }
  EXPECT_EQ(stage.tracked(), 4);
  EXPECT_EQ(stage.tracker().counters().held.read(), 0);
}

TEST(FragmentTracker, AnyOrderEndsOnTheFlowsHash) {
  for (const HasherConfig& config : configs()) {
    for (const Cut& cut : cuts()) {
      auto order = std::vector<std::size_t>{0, 1, 2, 3};
      do {
        Stage stage{config};
        const auto parts = fragments(cut);
        for (const std::size_t i : order) stage.send(parts[i]);
        ASSERT_EQ(stage.came_out(), 4);
        EXPECT_THAT(stage.hashes({0, 1, 2, 3}), Each(stage.flow_hash(whole(cut))));
        EXPECT_EQ(stage.tracked(), 4);
        EXPECT_EQ(stage.missed(), 0);
      } while (std::ranges::next_permutation(order).found);
    }
  }
}

TEST(FragmentTracker, HeldFragmentsFollowTheFirstInTheirOrder) {
  Stage stage;
  const auto parts = fragments({});
  const Bytes other = whole({.source = "10.9.9.9"});
  EXPECT_THAT(stage.send({parts[2], other, parts[1]}), ElementsAre(1));
  EXPECT_EQ(stage.tracker().held(), 2);
  EXPECT_THAT(stage.send({other, parts[0], parts[3], other}), ElementsAre(3, 4, 0, 2, 5, 6));
  EXPECT_EQ(stage.tracker().held(), 0);
}

TEST(FragmentTracker, WithoutFragmentsTheBurstComesBackItself) {
  FlowHasher hasher{{}};
  FragmentTracker tracker{kHz, *std::pmr::new_delete_resource()};
  tracker.adopt(hasher);
  FakeMbufs mbufs;
  std::vector<PacketMeta> burst(3, {.mbuf = mbufs.make(whole({}))});
  hasher.run(burst);
  EXPECT_EQ(tracker.track(burst, TscCycles{1}).data(), burst.data());
}

TEST(FragmentTracker, KeepsTheKindSoThatHandlersSeeAFragment) {
  FlowHasher hasher{{}};
  FragmentTracker tracker{kHz, *std::pmr::new_delete_resource()};
  tracker.adopt(hasher);
  FakeMbufs mbufs;
  PacketMeta meta{.mbuf = mbufs.make(fragments({})[0])};
  hasher.run({&meta, 1});
  EXPECT_EQ(tracker.track({&meta, 1}, TscCycles{1})[0].kind, PacketKind::kFragment);
}

TEST(FragmentTracker, BothDirectionsMeetWhereTheHashIsSymmetric) {
  for (const HasherConfig& config : configs()) {
    Stage stage{config};
    const auto there = stage.send(fragments({}));
    const auto back = stage.send(fragments(reversed({})));
    EXPECT_EQ(stage.hash_of(there[1]) == stage.hash_of(back[1]), config.symmetric);
  }
}

TEST(FragmentTracker, InterleavedDatagramsDoNotMix) {
  Stage stage;
  std::vector<Cut> all;
  for (unsigned i = 0; i < 20; ++i) {
    all.push_back({.source_port = 1000 + i, .id = static_cast<std::uint16_t>(i)});
  }
  for (const std::size_t part : {3U, 0U, 2U, 1U}) {
    for (const Cut& cut : all) stage.send(fragments(cut)[part]);
  }
  ASSERT_EQ(stage.came_out(), 80);
  for (int i = 0; i < 80; ++i) {
    const auto& cut = all[static_cast<std::size_t>(i) % all.size()];
    EXPECT_EQ(stage.hash_of(i), stage.flow_hash(whole(cut)));
  }
}

TEST(FragmentTracker, WithoutAFirstOneGoesOnByTheFragmentKeyAfterTenMilliseconds) {
  Stage stage;
  const auto parts = fragments({});
  EXPECT_THAT(stage.send({parts[1], parts[2]}), IsEmpty());
  EXPECT_THAT(stage.wait(10 * kMs - 1), IsEmpty());
  EXPECT_THAT(stage.wait(1), ElementsAre(0, 1));
  EXPECT_THAT(stage.hashes({0, 1}), Each(stage.flow_hash(parts[1])));
  EXPECT_EQ(stage.missed(), 2);
  EXPECT_EQ(stage.tracked(), 0);
}

TEST(FragmentTracker, ALateFirstOneGoesWhereTheOthersWent) {
  Stage stage;
  const auto parts = fragments({});
  stage.send(parts[1]);
  stage.wait(10 * kMs);
  stage.send({parts[0], parts[2]});
  EXPECT_THAT(stage.hashes({0, 1, 2}), Each(stage.flow_hash(parts[1])));
  EXPECT_EQ(stage.missed(), 3);
}

TEST(FragmentTracker, DatagramsExpireInTheOrderInWhichTheyBeganToWait) {
  Stage stage;
  for (std::uint16_t id = 0; id < 3; ++id) {
    stage.send(fragments({.id = id})[1]);
    stage.wait(kMs);
  }
  EXPECT_THAT(stage.wait(7 * kMs), ElementsAre(0));
  EXPECT_THAT(stage.wait(kMs), ElementsAre(1));
  EXPECT_THAT(stage.wait(kMs), ElementsAre(2));
}

TEST(FragmentTracker, AFullHoldGivesUpTheOldestDatagram) {
  Stage stage;
  for (int i = 0; i < FragmentTracker::kPackets; ++i) {
    const auto id = static_cast<std::uint16_t>(i / 2);
    EXPECT_THAT(stage.send(fragments({.id = id})[1 + static_cast<std::size_t>(i) % 2]), IsEmpty());
  }
  EXPECT_EQ(stage.tracker().held(), FragmentTracker::kPackets);
  EXPECT_THAT(stage.send(fragments({.id = 5000})[1]), ElementsAre(0, 1));
  EXPECT_EQ(stage.missed(), 2);
  EXPECT_THAT(stage.send(fragments({.id = 5000})[0]), ElementsAre(257, 256));
  EXPECT_EQ(stage.tracked(), 2);
}

TEST(FragmentTracker, ADatagramThatFillsTheHoldAloneGoesOnInOrder) {
  Stage stage;
  const auto parts = fragments({.bytes = std::size_t{8} * 258, .each = 8});
  for (std::size_t i = 1; i <= 256; ++i) stage.send(parts[i]);
  const auto out = stage.send(parts[257]);
  EXPECT_EQ(out.size(), 257);
  EXPECT_TRUE(std::ranges::is_sorted(out));
  EXPECT_EQ(stage.tracker().held(), 0);
}

TEST(FragmentTracker, AnIdUsedAgainIsANewDatagram) {
  Stage stage;
  const Cut before{.source_port = 1};
  const Cut after{.source_port = 2};
  stage.send(fragments(before));
  const auto out = stage.send(fragments(after));
  EXPECT_THAT(stage.hashes(out), Each(stage.flow_hash(whole(after))));
}

TEST(FragmentTracker, AnIdUsedAgainOutOfOrderWaitsForItsOwnFirst) {
  Stage stage;
  const Cut after{.source_port = 2};
  stage.send(fragments({.source_port = 1}));
  stage.wait(10 * kMs);
  auto parts = fragments(after);
  std::ranges::reverse(parts);
  const auto out = stage.send(parts);
  EXPECT_EQ(out.size(), 4);
  EXPECT_THAT(stage.hashes(out), Each(stage.flow_hash(whole(after))));
}

TEST(FragmentTracker, FragmentsThatComeTwiceFollowTheOthers) {
  Stage stage;
  const auto parts = fragments({});
  stage.send({parts[1], parts[0], parts[0], parts[1], parts[2], parts[3], parts[3], parts[2]});
  ASSERT_EQ(stage.came_out(), 8);
  EXPECT_THAT(stage.hashes({0, 1, 2, 3, 4, 5, 6, 7}), Each(stage.flow_hash(whole({}))));
}

TEST(FragmentTracker, ADatagramWithAGapIsForgottenInASecond) {
  Stage stage;
  const auto parts = fragments({});
  stage.send({parts[0], parts[1]});
  stage.wait(1000 * kMs - 1);
  EXPECT_THAT(stage.send(parts[2]), ElementsAre(2));
  stage.wait(1000 * kMs);
  EXPECT_THAT(stage.send(parts[3]), IsEmpty());
}

TEST(FragmentTracker, ATinyFirstFragmentSendsAllByTheFragmentKey) {
  Stage stage;
  const Bytes all = whole({});
  const Bytes carried{all.begin() + 34, all.end()};
  stage.send(fragment({}, carried, 8, 80));
  EXPECT_THAT(stage.send(fragment({}, carried, 0, 3)), ElementsAre(0, 1));
  stage.send(fragment({}, carried, 88, 80));
  EXPECT_THAT(stage.hashes({0, 1, 2}), Each(stage.flow_hash(fragments({})[1])));
  EXPECT_EQ(stage.missed(), 3);
}

TEST(FragmentTracker, ReadsFirstFragmentsInSegments) {
  FlowHasher hasher{{}};
  FragmentTracker tracker{kHz, *std::pmr::new_delete_resource()};
  tracker.adopt(hasher);
  FakeMbufs mbufs;
  PacketMeta meta{.mbuf = mbufs.make_segmented(fragments({})[0], 19)};
  hasher.run({&meta, 1});
  EXPECT_EQ(tracker.track({&meta, 1}, TscCycles{1})[0].hash, Stage{}.flow_hash(whole({})));
}

TEST(FragmentTracker, AtomicFragmentsPassAsWholePackets) {
  Stage stage;
  stage.send(Packet{}.ethernet().ipv6("::1", "::2").fragment6(0, false, 9).udp(1, 2).bytes());
  EXPECT_EQ(stage.came_out(), 1);
  EXPECT_EQ(stage.tracked() + stage.missed(), 0);
}

TEST(FragmentTracker, ReleaseAllLosesNothing) {
  Stage stage;
  for (std::uint16_t id = 0; id < 100; ++id) stage.send(fragments({.id = id})[1]);
  EXPECT_EQ(stage.release_all().size(), 100);
  EXPECT_EQ(stage.tracker().held(), 0);
  EXPECT_EQ(stage.missed(), 100);
}

TEST(FragmentTracker, AnotherHasherForgetsTheOldHashes) {
  Stage stage;
  const auto parts = fragments({});
  stage.send({parts[0], parts[1]});
  const FlowHasher toeplitz{{.kind = HasherConfig::kToeplitz}};
  stage.tracker().adopt(toeplitz);
  EXPECT_THAT(stage.send(parts[2]), IsEmpty());
  EXPECT_THAT(stage.release_all(), ElementsAre(2));
}

TEST(FragmentTracker, AFloodOfStraysLeavesKnownDatagramsAlone) {
  Stage stage;
  const auto parts = fragments({});
  stage.send(parts[0]);
  std::mt19937 random{1};
  for (int i = 0; i < 20000; ++i) {
    const auto source =
        "10." + std::to_string(random() % 256) + "." + std::to_string(random() % 256) + ".9";
    stage.send(fragments({.source = source, .id = static_cast<std::uint16_t>(random())})[1]);
    if (i % 10 == 0) stage.wait(kMs / 100);
  }
  const auto out = stage.send(parts[1]);
  EXPECT_EQ(stage.hash_of(out.back()), stage.flow_hash(whole({})));
  EXPECT_LE(stage.tracker().held(), FragmentTracker::kPackets);
}

/// Everything at once, with losses, copies and few ids: nothing is lost or doubled, and every
/// datagram's fragments have its flow's hash or the fragment key.
TEST(FragmentTracker, AccountsForEveryPacketOfAnyStream) {
  constexpr int kSeed = 20110823;
  std::mt19937 random{kSeed};
  Stage stage;
  std::vector<Bytes> pool;
  for (std::uint16_t id = 0; id < 400; ++id) {
    const Cut cut{.source_port = id % 50U, .id = static_cast<std::uint16_t>(id % 300)};
    for (auto& part : fragments(cut)) pool.push_back(std::move(part));
    pool.push_back(whole(cut));
  }
  for (int burst = 0; burst < 1000; ++burst) {
    std::vector<Bytes> packets;
    for (unsigned i = 0; i < random() % (kMaxBurst + 1); ++i) {
      packets.push_back(pool[random() % pool.size()]);
    }
    stage.send(packets);
    stage.wait(random() % (2 * kMs));
    ASSERT_EQ(stage.came_out() + stage.tracker().held(), stage.sent()) << "seed " << kSeed;
  }
  stage.release_all();
  EXPECT_EQ(stage.came_out(), stage.sent()) << "seed " << kSeed;
  EXPECT_GT(stage.tracked(), 0);
  EXPECT_GT(stage.missed(), 0);
}

}  // namespace
}  // namespace mqsteer::test
