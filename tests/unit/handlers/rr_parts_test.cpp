// The pieces alone: checksum, SipHash, clock, settings, counters.

#include "config/validate.h"
#include "fake_outbox.h"
#include "handlers/rr/checksum.h"
#include "handlers/rr/clock.h"
#include "handlers/rr/counters.h"
#include "handlers/rr/responder.h"
#include "handlers/rr/settings.h"
#include "handlers/rr/shared.h"
#include "handlers/rr/siphash.h"
#include "handlers/rr/timer_queue.h"
#include "support/packet_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace mqsteer::test {
namespace {

std::uint16_t ours(std::span<const std::uint8_t> bytes) {
  rr::Checksum sum;
  sum.add(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
  return __builtin_bswap16(sum.value());
}

TEST(RrChecksum, ExampleOfRfc1071) {
  const Bytes example{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
  EXPECT_EQ(ours(example), 0xffff - 0xddf2);
}

TEST(RrChecksum, EqualsTheBytewiseDefinitionAtEveryLengthAndAlignment) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random{seed};
  Bytes bytes(1600);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  for (std::size_t at = 0; at < 8; ++at) {
    for (std::size_t size = 0; size < 1500; ++size) {
      const auto part = std::span{bytes}.subspan(at, size);
      ASSERT_EQ(ours(part), checksum_end(checksum_add(0, part))) << "seed " << seed;
    }
  }
}

TEST(RrChecksum, LargestSumsDoNotOverflow) {
  const Bytes ones(65534, 0xff);
  EXPECT_EQ(ours(ones), 0);
  EXPECT_EQ(ours(Bytes(65534, 0)), 0xffff);
}

TEST(RrSipHash, VectorsOfItsAuthors) {
  // Reference implementation, vectors.h: key 00..0f, input 00, 01, ... of 0, 8 and 16 bytes.
  const rr::SipKey key{0x0706050403020100U, 0x0f0e0d0c0b0a0908U};
  const std::vector<std::uint64_t> words{0x0706050403020100U, 0x0f0e0d0c0b0a0908U};
  const std::span all{words};
  EXPECT_EQ(rr::siphash(key, all.first(0)), 0x726fdb47dd0e0e31U);
  EXPECT_EQ(rr::siphash(key, all.first(1)), 0x93f5f5799a932462U);
  EXPECT_EQ(rr::siphash(key, all), 0x3f2acc7f57c29bdbU);
}

TEST(RrClock, TicksLastAtLeastAsLongAsAskedFor) {
  for (const std::uint64_t hz :
       {1'000'000ULL, 1'000'000'000ULL, 2'100'000'000ULL, 4'999'999'999ULL}) {
    const rr::TickClock clock{hz};
    for (const std::uint64_t ms : {1ULL, 200ULL, 60'000ULL}) {
      const rr::Tick start = clock.at(TscCycles{hz * 5});
      const auto before = clock.at(TscCycles{hz * 5 + (ms - 1) * hz / 1000});
      const auto behind = clock.at(TscCycles{hz * 5 + (ms + 2) * hz / 1000 + 2});
      EXPECT_FALSE(rr::is_due(start + clock.ticks(ms), before)) << hz << ' ' << ms;
      EXPECT_TRUE(rr::is_due(start + clock.ticks(ms), behind)) << hz << ' ' << ms;
    }
  }
}

TEST(RrCounters, EveryNameIsThereOnce) {
  const std::set<std::string_view> names{kRrCountNames.begin(), kRrCountNames.end()};
  EXPECT_EQ(names.size(), kRrCounts);
}

TEST(RrCounters, FiguresHaveEveryCounterAndTheConnections) {
  RrShared shared{{.connections = 8}, 2, 1'000'000'000, *std::pmr::new_delete_resource()};
  shared.own_counters(WorkerId{1}).add(RrCount::kTransactions, 7);
  shared.own_counters(WorkerId{1}).set_connections(3);
  const auto figures = shared.figures(WorkerId{1});
  EXPECT_EQ(figures.size(), kRrCounts + 1);
  EXPECT_THAT(figures, testing::Contains(testing::Pair("transactions", 7U)));
  EXPECT_THAT(figures, testing::Contains(testing::Pair("connections", 3U)));
}

/// Connections that all have asked at once and ask again whenever they are looked at.
class RrTimers {
 public:
  RrTimers(std::uint32_t connections, rr::Tick wait)
      : table_{connections, {1, 2}, *std::pmr::new_delete_resource()},
        queue_{connections, {wait, 3 * wait}, *std::pmr::new_delete_resource()},
        wait_{wait},
        looked_(connections) {
    for (std::uint64_t i = 0; i < connections; ++i) {
      const rr::Peer peer{.address = {i, 0}};
      rr::Connection& made = *table_.add(peer, table_.bucket_of(peer));
      made.deadline = wait;
      queue_.ask(made, table_.index_of(made), 0);
    }
  }
  void run_until(rr::Tick end) {
    for (rr::Tick now = 1; now <= end; ++now) {
      std::uint64_t looks = 0;
      queue_.run(table_, now, [&](rr::Connection& each) {
        const std::uint32_t index = table_.index_of(each);
        longest = std::max(longest, now - looked_[index]);
        looked_[index] = now;
        each.deadline = now + wait_;
        queue_.ask(each, index, now);
        ++looks;
      });
      most_looks = std::max(most_looks, looks);
    }
    for (const rr::Tick last : looked_) longest = std::max(longest, end - last);
  }
  rr::Tick longest = 0;          ///< between two looks at one connection
  std::uint64_t most_looks = 0;  ///< in one call

 private:
  rr::ConnectionTable table_;
  rr::TimerQueue queue_;
  rr::Tick wait_;
  std::vector<rr::Tick> looked_;
};

TEST(RrTimerQueue, LooksAtHundredsOfThousandsInTime) {
  RrTimers timers{250'000, 50};
  timers.run_until(400);
  EXPECT_LE(timers.longest, 50 + rr::TimerQueue::kShare);
}

TEST(RrTimerQueue, CallIsBoundedHoweverManyThereAre) {
  RrTimers timers{800'000, 50};
  timers.run_until(400);
  EXPECT_LE(timers.most_looks, rr::TimerQueue::kMostLooks);
  EXPECT_LE(timers.longest, 50 + 800'000 / rr::TimerQueue::kMostLooks);
}

/// When a connection with this deadline is looked at, ask() having been called at 0 and whenever
/// it was too early.
std::vector<rr::Tick> looks_of(rr::Tick deadline, rr::TimerQueue::Waits waits) {
  rr::ConnectionTable table{1, {1, 2}, *std::pmr::new_delete_resource()};
  rr::TimerQueue queue{1, waits, *std::pmr::new_delete_resource()};
  rr::Connection& connection = *table.add({}, table.bucket_of({}));
  connection.deadline = deadline;
  queue.ask(connection, 0, 0);
  std::vector<rr::Tick> looks;
  for (rr::Tick now = 0; now < 1'000; ++now) {
    queue.run(table, now, [&](rr::Connection& each) {
      looks.push_back(now);
      if (!rr::is_due(deadline, now)) queue.ask(each, 0, now);
    });
  }
  return looks;
}

TEST(RrTimerQueue, ATimerThatIsFarOffIsLookedAtSeldom) {
  EXPECT_THAT(looks_of(400, {50, 150}), testing::ElementsAre(150, 300, 350, 400));
}

TEST(RrTimerQueue, ATimerFiresAShortWaitLateAtMost) {
  for (rr::Tick deadline = 1; deadline < 700; ++deadline) {
    const rr::Tick fired = looks_of(deadline, {50, 150}).back();
    ASSERT_GE(fired, deadline);
    ASSERT_LE(fired, deadline + 50);
  }
}

Expected<RrSettings> settings_of(const RrConfig& config) {
  return rr_settings(config, PortId{1}, {2, 0, 0, 0, 0, 2}, 1500);
}

TEST(RrSettingsFromConfig, AddressesAreReadAndFiguresTaken) {
  const auto made = settings_of({.port = "x",
                                 .ipv4 = "10.1.2.3",
                                 .ipv6 = "fe80::5",
                                 .tcp_port = 80,
                                 .connections = 100,
                                 .work_ns = 300});
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->ipv4, (Ipv4Address{10, 1, 2, 3}));
  EXPECT_EQ(made->ipv6->front(), 0xfe);
  EXPECT_EQ(made->tcp_port, 80);
  EXPECT_EQ(made->connections, 100U);
  EXPECT_EQ(made->work_ns, 300U);
}

TEST(RrSettingsFromConfig, WhatCannotWorkIsRefusedByName) {
  using testing::HasSubstr;
  EXPECT_THAT(settings_of({}).error().message, HasSubstr("rr.ipv4"));
  EXPECT_THAT(settings_of({.ipv4 = "10.0.0"}).error().message,
              HasSubstr("10.0.0 is not an IPv4 address"));
  EXPECT_THAT(settings_of({.ipv4 = "224.0.0.1"}).error().message, HasSubstr("cannot be"));
  EXPECT_THAT(settings_of({.ipv6 = "10.0.0.1"}).error().message, HasSubstr("rr.ipv6"));
  EXPECT_THAT(settings_of({.ipv6 = "::1"}).error().message, HasSubstr("cannot be"));
  EXPECT_THAT(settings_of({.ipv4 = "10.0.0.1", .tcp_port = 0}).error().message,
              HasSubstr("tcp_port"));
  EXPECT_THAT(settings_of({.ipv4 = "10.0.0.1", .connections = 0}).error().message,
              HasSubstr("rr.connections"));
  EXPECT_THAT(settings_of({.ipv4 = "10.0.0.1", .work_ns = 1'000'001}).error().message,
              HasSubstr("rr.work_ns"));
}

/// What `mqsteerd --check` says of an address, and what its start says.
TEST(RrSettingsFromConfig, AddressesThatStartRefusesAreRefusedByTheCheckToo) {
  const auto verdicts = [](const RrConfig& rr) {
    Config config;
    config.ports = {{.name = "left", .device = "eth1"}};
    config.rr = rr;
    config.rr.port = "left";
    return std::pair{validate(config).has_value(), settings_of(rr).has_value()};
  };
  for (const char* text :
       {"127.0.0.1", "224.0.0.1", "255.255.255.255", "0.0.0.0", "0.1.2.3", "10.1"})
    EXPECT_EQ(verdicts({.ipv4 = text}), std::pair(false, false)) << text;
  for (const char* text : {"::", "::1", "ff02::1", "10.0.0.1", "fe80::1%lo"})
    EXPECT_EQ(verdicts({.ipv6 = text}), std::pair(false, false)) << text;
  for (const char* text : {"10.0.0.1", "1.0.0.0", "223.255.255.255"})
    EXPECT_EQ(verdicts({.ipv4 = text}), std::pair(true, true)) << text;
  for (const char* text : {"2001:db8::1", "fe80::1", "fd00::"})
    EXPECT_EQ(verdicts({.ipv6 = text}), std::pair(true, true)) << text;
}

/// Counts what is taken from it.
class CountingMemory final : public std::pmr::memory_resource {
 public:
  std::size_t taken = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    taken += bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

TEST(RrMemory, IsWhatThePlanPrints) {
  for (const std::uint32_t connections : {1U, 1000U, 65536U}) {
    CountingMemory memory;
    const RrSettings settings{.connections = connections};
    RrShared shared{settings, 2, 1'000'000'000, memory};
    const rr::Responder<FakeOutbox> one{shared, WorkerId{0}, memory};
    const rr::Responder<FakeOutbox> two{shared, WorkerId{1}, memory};
    const rr::Responder<FakeOutbox> none{shared, WorkerId{0xffff}, memory};
    EXPECT_EQ(memory.taken, rr_memory_bytes(settings, 2));
  }
}

}  // namespace
}  // namespace mqsteer::test
