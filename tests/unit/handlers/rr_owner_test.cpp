// Several workers: who owns a connection, and how packets find it.

#include "handlers/rr/owner_table.h"
#include "rr_box.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

namespace mqsteer::test {
namespace {

using rr::OwnerTable;
using Claim = OwnerTable::Claim;

constexpr rr::SipKey kKey{0x243f6a8885a308d3, 0x13198a2e03707344};  // digits of pi

class RrOwnerTable : public testing::Test {
 protected:
  OwnerTable table{1000, kKey, *std::pmr::new_delete_resource()};
  static constexpr WorkerId kA{0};
  static constexpr WorkerId kB{1};
};

TEST_F(RrOwnerTable, HashIsOwnedFromItsFirstClaimToItsLastRelease) {
  for (const std::uint32_t hash : {0U, 1U, 0xffffffffU, 0x12345678U}) {
    EXPECT_EQ(table.find(hash), std::nullopt);
    EXPECT_EQ(table.claim(hash, kB), Claim::kOurs);
    EXPECT_EQ(table.claim(hash, kB), Claim::kOurs);
    EXPECT_EQ(table.claim(hash, kA), Claim::kAnother);
    EXPECT_EQ(table.find(hash), kB);
    table.release(hash, kB);
    EXPECT_EQ(table.find(hash), kB);
    table.release(hash, kB);
    EXPECT_EQ(table.find(hash), std::nullopt);
  }
}

TEST_F(RrOwnerTable, WorkerZeroAndTheLastOneCanOwn) {
  EXPECT_EQ(table.claim(7, kA), Claim::kOurs);
  EXPECT_EQ(table.claim(8, WorkerId{kMaxWorkers - 1}), Claim::kOurs);
  EXPECT_EQ(table.find(7), kA);
  EXPECT_EQ(table.find(8), WorkerId{kMaxWorkers - 1});
}

TEST_F(RrOwnerTable, ConnectionsOfOneHashAreLimited) {
  for (std::uint32_t i = 0; i < OwnerTable::kMostConnections; ++i) {
    ASSERT_EQ(table.claim(5, kA), Claim::kOurs);
  }
  EXPECT_EQ(table.claim(5, kA), Claim::kFull);
  EXPECT_EQ(table.find(5), kA);
  table.release(5, kA);
  EXPECT_EQ(table.claim(5, kA), Claim::kOurs);
}

TEST_F(RrOwnerTable, AsManyRandomHashesAsAskedForAllFindAPlace) {
  std::mt19937 random{1};
  for (const std::uint64_t connections : {64ULL, 1000ULL, 100'000ULL, 1'000'000ULL}) {
    OwnerTable big{connections, kKey, *std::pmr::new_delete_resource()};
    for (std::uint64_t i = 0; i < connections; ++i) {
      ASSERT_EQ(big.claim(static_cast<std::uint32_t>(random()), kA), Claim::kOurs) << i;
    }
  }
}

TEST_F(RrOwnerTable, FullSetRefusesAndTheOthersStay) {
  OwnerTable small{1, kKey, *std::pmr::new_delete_resource()};
  std::vector<std::uint32_t> held;
  std::uint32_t hash = 0;
  while (small.claim(hash, kA) == Claim::kOurs) held.push_back(hash++);
  EXPECT_GE(held.size(), 8U);
  for (const std::uint32_t each : held) EXPECT_EQ(small.find(each), kA);
  EXPECT_EQ(small.find(hash), std::nullopt);
  for (const std::uint32_t each : held) small.release(each, kA);
  EXPECT_EQ(small.count(), 0U);
}

TEST_F(RrOwnerTable, HashesThatLeaveAVictimNoPlaceInOneRunDoNotInAnother) {
  OwnerTable known{1000, kKey, *std::pmr::new_delete_resource()};
  OwnerTable next_run{
      1000, {0xa4093822299f31d0, 0x082efa98ec4e6c89}, *std::pmr::new_delete_resource()};
  std::mt19937 random{1};
  std::uint32_t hash = 0;
  while (known.claim(hash, kA) == Claim::kOurs) {
    std::ignore = next_run.claim(hash, kA);
    hash = static_cast<std::uint32_t>(random());
  }
  EXPECT_EQ(known.claim(hash, kA), Claim::kFull);
  EXPECT_EQ(next_run.claim(hash, kA), Claim::kOurs);
}

/// Two workers claim and release the same few hashes, at the same time. Never do both own one.
TEST_F(RrOwnerTable, TwoWorkersNeverOwnOneHash) {
  constexpr std::uint32_t kHashes = 4;
  constexpr int kRounds = 200'000;
  OwnerTable small{4, kKey, *std::pmr::new_delete_resource()};
  std::array<std::atomic<int>, kHashes> owners{};
  std::atomic<int> both{0};
  std::array<std::uint64_t, 2> claimed{};
  const auto work = [&](std::uint16_t number) {
    std::mt19937 random{number};
    for (int i = 0; i < kRounds; ++i) {
      const auto hash = static_cast<std::uint32_t>(random() % kHashes);
      if (small.claim(hash, WorkerId{number}) != Claim::kOurs) continue;
      ++claimed[number];
      if (owners[hash].fetch_add(1) != 0) ++both;
      owners[hash].fetch_sub(1);
      small.release(hash, WorkerId{number});
    }
  };
  std::thread other{work, std::uint16_t{1}};
  work(0);
  other.join();
  EXPECT_EQ(both, 0);
  EXPECT_GT(claimed[0], 0U);
  EXPECT_GT(claimed[1], 0U);
  EXPECT_EQ(small.count(), 0U);
}

/// Another thread's claims and releases around it do not hide a hash that is owned all the time.
TEST_F(RrOwnerTable, OwnedHashIsFoundWhateverHappensBesideIt) {
  OwnerTable small{4, kKey, *std::pmr::new_delete_resource()};
  ASSERT_EQ(small.claim(99, kA), Claim::kOurs);
  std::atomic<bool> stop{false};
  std::thread other{[&] {
    std::mt19937 random{7};
    while (!stop.load(std::memory_order_relaxed)) {
      const auto hash = static_cast<std::uint32_t>(random() % 12);
      if (small.claim(hash, kB) == Claim::kOurs) small.release(hash, kB);
    }
  }};
  int lost = 0;
  for (int i = 0; i < 500'000; ++i) lost += small.find(99) != kA;
  stop = true;
  other.join();
  EXPECT_EQ(lost, 0);
}

class RrWorkers : public testing::Test {
 protected:
  RrBox box{box_settings(), 3};
  ScriptedClient client{box};
  /// New flows go to these workers, whoever gets their SYN.
  void let_own(const std::vector<std::uint16_t>& workers) {
    for (auto& outbox : box.outboxes) {
      outbox->owners.clear();
      for (const auto worker : workers) outbox->owners.emplace_back(worker);
    }
  }
  [[nodiscard]] std::uint32_t connections_of(std::uint16_t worker) const {
    return box.shared.counters(WorkerId{worker}).connections();
  }
};

TEST_F(RrWorkers, SynGoesToTheNextOwnerAndAllElseFollowsIt) {
  let_own({2});
  client.connect();
  for (int i = 0; i < 10; ++i) {
    client.send("x");
    EXPECT_EQ(client.heard().text, text_of("x"));
  }
  EXPECT_EQ(connections_of(2), 1U);
  EXPECT_EQ(box.outbox(0).handed, 12U) << "one hop a packet: SYN, ACK, requests";
  EXPECT_EQ(box.outbox(0).transmitted, 0U);
  EXPECT_EQ(box.outbox(2).recorded.size(), 10U) << "the owner says where it consumes";
  EXPECT_TRUE(box.outbox(0).recorded.empty());
  client.close();
  EXPECT_EQ(box.shared.owners().count(), 0U);
}

TEST_F(RrWorkers, PacketsThatSteeringBringsToTheOwnerMakeNoHop) {
  let_own({1});
  const Tcp syn = client.segment(SYN);
  ++client.seq;
  box.receive(syn, 1);
  client.heard();
  box.receive(client.segment(ACK), 1);
  box.receive(client.segment(ACK, text_of("x")), 1);
  EXPECT_EQ(client.heard().text, text_of("x"));
  EXPECT_EQ(box.outbox(1).handed, 0U);
}

TEST_F(RrWorkers, FlowsAreSharedOutInTurn) {
  let_own({0, 1, 2});
  for (std::uint16_t i = 0; i < 30; ++i) {
    ScriptedClient each{box, false, static_cast<std::uint16_t>(5000 + i)};
    each.connect();
  }
  for (std::uint16_t worker = 0; worker < 3; ++worker) EXPECT_EQ(connections_of(worker), 10U);
}

TEST_F(RrWorkers, SynRepeatedWhileTheFirstIsOnItsWayMakesOneConnection) {
  let_own({1, 2});
  const Bytes syn = frame_of(client.segment(SYN));
  ++client.seq;
  box.run(box.packet_of(syn), 0);  // on its way to worker 1
  box.run(box.packet_of(syn), 0);  // nobody owns the flow yet: to worker 2
  box.settle();
  EXPECT_EQ(box.connections(), 1U);
  const Tcp answer = client.heard();
  while (auto other = box.reply()) EXPECT_EQ(other->seq, answer.seq);
  client.send(ACK);
  client.send("x");
  EXPECT_EQ(client.heard().text, text_of("x"));
  EXPECT_EQ(box.shared.owners().count(), 1U);
}

TEST_F(RrWorkers, FlowsOfOneHashHaveOneOwner) {
  let_own({1, 2, 0});
  ScriptedClient other{box, false, 40001};
  std::uint32_t hash = 0;
  const auto deliver = [&](const Tcp& tcp) {
    auto packet = box.packet_of(frame_of(tcp));
    packet.hash = hash;
    box.run(packet, 0);
    box.settle();
  };
  hash = 4711;
  for (ScriptedClient* each : {&client, &other}) {
    deliver(each->segment(SYN));
    ++each->seq;
    each->heard();
    deliver(each->segment(ACK));
  }
  EXPECT_EQ(connections_of(1), 2U);
  EXPECT_EQ(box.shared.owners().count(), 1U);
  deliver(client.segment(RST));
  deliver(other.segment(ACK | PSH, text_of("still")));
  EXPECT_EQ(other.heard().text, text_of("still"));
  ++other.seq, other.seq += 4;
  deliver(other.segment(RST));
  EXPECT_EQ(box.shared.owners().count(), 0U);
}

TEST_F(RrWorkers, NewSynOfTheSameEndsRacesWithTheCloseAndWins) {
  let_own({1});
  client.connect();
  client.send(FIN | ACK);
  client.heard();
  // The last ACK and the next SYN are both on their way to worker 1, which closes first.
  box.run(box.packet_of(frame_of(client.segment(ACK))), 0);
  client.seq += 90'000;
  const Tcp syn = client.segment(SYN);
  ++client.seq;
  box.run(box.packet_of(frame_of(syn)), 0);
  box.settle();
  EXPECT_EQ(client.heard().flags, unsigned{SYN | ACK});
  client.send(ACK);
  client.send("x");
  EXPECT_EQ(client.heard().text, text_of("x"));
  EXPECT_EQ(connections_of(1), 1U);
}

TEST_F(RrWorkers, PacketHandedToAWorkerThatYieldedGoesOnToTheOwner) {
  let_own({2});
  client.connect();
  auto packet = box.packet_of(frame_of(client.segment(ACK | PSH, text_of("x"))));
  box.outbox(0).handed_over.push_back({WorkerId{1}, packet});  // as if 1 had seemed to be the owner
  box.settle();
  EXPECT_EQ(client.heard().text, text_of("x"));
  EXPECT_EQ(box.count(RrCount::kResetsSent), 0U);
}

TEST_F(RrWorkers, PacketOfNoConnectionIsResetWhereItCame) {
  box.receive(client.segment(ACK, text_of("x")), 1);
  EXPECT_EQ(box.reply()->flags, unsigned{RST});
  EXPECT_EQ(box.outbox(1).transmitted, 1U);
  EXPECT_EQ(box.outbox(1).handed, 0U);
}

TEST_F(RrWorkers, NeighboursAreAnsweredByWhoeverIsAsked) {
  let_own({2});
  const Bytes ping =
      Packet{}.ethernet(kClientMac, kServerMac).ipv4("10.0.0.2", kServer4).icmp(8, 0).bytes();
  box.receive(ping, 1);
  EXPECT_TRUE(box.frame());
  EXPECT_EQ(box.outbox(1).transmitted, 1U);
}

TEST_F(RrWorkers, SynThatIsRefusedLeavesNoOwnerBehind) {
  let_own({1});
  for (std::uint16_t i = 0; i < 64; ++i) {
    ScriptedClient each{box, false, static_cast<std::uint16_t>(100 + i)};
    each.connect();
  }
  client.send(SYN);
  EXPECT_TRUE(box.silent());
  EXPECT_EQ(box.count(RrCount::kConnectionsRefused), 1U);
  EXPECT_EQ(box.shared.owners().count(), 64U);
}

TEST_F(RrWorkers, BurstOfManyPacketsIsAnsweredInOrder) {
  std::vector<PacketMeta> burst;
  client.connect();
  for (char letter = 'a'; letter <= 'p'; ++letter) {
    burst.push_back(box.packet_of(
        frame_of(client.segment(ACK | PSH, Bytes(1, static_cast<std::uint8_t>(letter))))));
    ++client.seq;
  }
  box.run_burst(burst);
  for (char letter = 'a'; letter <= 'p'; ++letter) {
    EXPECT_EQ(client.heard().text, Bytes(1, static_cast<std::uint8_t>(letter)));
  }
}

}  // namespace
}  // namespace mqsteer::test
