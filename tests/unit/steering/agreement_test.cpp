// The data path, `flow explain` and mqsim name the same worker for every flow, however many workers
// and RX queues there are.

#include "mqsim/simulation.h"
#include "packet/flow_tuple.h"
#include "steering/dispatcher.h"
#include "support/fake_mbufs.h"
#include "support/packet_builder.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace mqsteer::test {
namespace {

constexpr std::uint16_t kMost = 20;   ///< workers, and RX queues
constexpr std::uint32_t kReta = 128;  ///< of the NIC that has several RX queues
constexpr SteeringMode kModes[] = {SteeringMode::kRps, SteeringMode::kSoftRss, SteeringMode::kRfs};

struct Flow {
  FlowTuple tuple;
  Bytes frame;
};

/// Flows of both families and all kinds of addresses, and a packet of each.
std::vector<Flow> flows() {
  std::vector<Flow> all;
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned port = 1024 + 977 * i;
    const std::string number = std::to_string(1 + i * 3);
    const bool udp = i % 3 == 0;
    const bool ipv6 = i % 4 == 1;
    const std::string from = ipv6 ? "2001:db8::" + number : "10.0." + number + ".1";
    const std::string to = ipv6 ? "fd00::2" : "192.0.2.1";
    Packet packet = Packet{}.ethernet();
    ipv6 ? packet.ipv6(from, to) : packet.ipv4(from, to);
    udp ? packet.udp(port, 53) : packet.tcp(port, 443);
    const auto end = [ipv6](const std::string& address, unsigned with) {
      return (ipv6 ? '[' + address + ']' : address) + ':' + std::to_string(with);
    };
    const auto tuple =
        FlowTuple::parse(udp ? "udp" : "tcp", end(from, port), end(to, udp ? 53 : 443));
    all.push_back({tuple.value(), packet.payload(20).bytes()});
  }
  return all;
}

/// What one worker and queue count is about.
struct Case {
  SteeringMode mode = SteeringMode::kRps;
  std::uint16_t workers = 1;
  std::uint16_t queues = 1;

  [[nodiscard]] std::string text() const {
    return "mode " + std::to_string(static_cast<int>(mode)) + ", " + std::to_string(workers) +
           " workers, " + std::to_string(queues) + " RX queues";
  }
  /// The NIC's own spreading counts where it has several queues: rss_bits: auto.
  [[nodiscard]] std::uint32_t reta() const { return queues > 1 ? kReta : 0; }
};

/// As Runtime::make_table() makes it; eal_control holds that against mqsim's too.
std::unique_ptr<SteeringTable> table_of(const Case& of) {
  const bool soft_rss = of.mode == SteeringMode::kSoftRss;
  SteeringTable::Shape shape{.mode = of.mode, .bits = kRpsBucketBits};
  if (soft_rss) {
    shape.bits = 7;
    shape.shift = of.queues > 1 ? std::countr_zero(kReta) : 0;
  }
  if (of.mode == SteeringMode::kRfs) shape.rfs_flows = RfsTable::kMinFlows;
  auto table = std::make_unique<SteeringTable>(
      shape, HasherConfig{.kind = soft_rss ? HasherConfig::kToeplitz : HasherConfig::kFast});
  std::vector<WorkerId> workers;
  for (std::uint16_t i = 0; i < of.workers; ++i) workers.emplace_back(i);
  table->set_live(workers);
  table->want_all(spread(table->buckets(), workers, {}), true);
  return table;
}

sim::Options options_of(const Case& of, std::string file = {}) {
  return {.file = std::move(file),
          .mode = of.mode,
          .workers = of.workers,
          .rss_buckets = 128,
          .reta_entries = of.reta(),
          .rfs_flows = RfsTable::kMinFlows,
          .backlog = 1};
}

/// Some flows are consumed somewhere, some are pinned, and one consumer has gone.
void consume(const SteeringTable& table, const std::vector<Flow>& flows, std::uint16_t workers) {
  for (std::size_t i = 0; i < flows.size(); i += 2) {
    const std::uint32_t hash = flows[i].tuple.explain(table.hasher()).hash;
    const WorkerId worker{static_cast<std::uint16_t>(i * 7 % workers)};
    if (i % 8 == 0) {
      ASSERT_TRUE(table.rfs()->pin(hash, worker));
    } else {
      table.rfs()->record(hash, i % 8 == 2 ? WorkerId{kMaxWorkers - 1} : worker);
    }
  }
}

/// What the RX lcores' hasher makes of the flows' packets.
std::vector<PacketMeta> received(const FlowHasher& hasher, const std::vector<Flow>& flows,
                                 FakeMbufs& mbufs) {
  std::vector<PacketMeta> burst;
  for (const Flow& flow : flows) burst.push_back({.mbuf = mbufs.make(flow.frame)});
  for (std::size_t at = 0; at < burst.size(); at += kMaxBurst) {
    hasher.run(std::span{burst}.subspan(at, std::min<std::size_t>(kMaxBurst, burst.size() - at)));
  }
  return burst;
}

/// An RX lcore and its backlogs, whose workers finish everything at once.
class RxLcore {
 public:
  explicit RxLcore(std::uint16_t workers) {
    std::vector<Backlog*> pointers;
    for (std::uint16_t i = 0; i < workers; ++i) {
      backlogs_.push_back(
          std::make_unique<Backlog>(Backlog::Shape{.slots = 64}, *std::pmr::new_delete_resource()));
      pointers.push_back(backlogs_.back().get());
    }
    dispatcher_ = std::make_unique<Dispatcher<>>(Dispatcher<>::Config{.backlogs = pointers},
                                                 *std::pmr::new_delete_resource());
  }

  void adopt(const SteeringTable& table) { dispatcher_->adopt(table); }

  /// The worker that gets this packet; kMaxWorkers: nobody does.
  std::uint16_t worker_of(const PacketMeta& packet) {
    dispatcher_->dispatch({&packet, 1});
    dispatcher_->flush(true);
    for (std::uint16_t i = 0; i < backlogs_.size(); ++i) {
      if (backlogs_[i]->look() == 0) continue;
      static_cast<void>(backlogs_[i]->take(1));
      backlogs_[i]->finish();
      return i;
    }
    return kMaxWorkers;
  }

 private:
  std::vector<std::unique_ptr<Backlog>> backlogs_;
  std::unique_ptr<Dispatcher<>> dispatcher_;
};

/// Whether all name the same worker for each flow, on every RX queue.
void expect_agreement(const Case& of, const std::vector<Flow>& flows,
                      const std::vector<PacketMeta>& packets,
                      std::vector<std::unique_ptr<RxLcore>>& lcores) {
  SCOPED_TRACE(of.text());
  const auto table = table_of(of);
  const auto simulated = sim::table_of(options_of(of));
  if (of.mode == SteeringMode::kRfs) {
    consume(*table, flows, of.workers);
    consume(*simulated, flows, of.workers);
  }
  for (std::uint16_t queue = 0; queue < of.queues; ++queue) lcores[queue]->adopt(*table);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const std::uint32_t hash = flows[i].tuple.explain(table->hasher()).hash;
    const std::uint16_t explained = table->desired_of(hash).worker();
    ASSERT_LT(explained, of.workers);
    EXPECT_EQ(packets[i].hash, hash) << flows[i].tuple.text();
    EXPECT_EQ(simulated->desired_of(hash).worker(), explained) << flows[i].tuple.text();
    EXPECT_EQ(simulated->bucket_of(hash), table->bucket_of(hash)) << flows[i].tuple.text();
    for (std::uint16_t queue = 0; queue < of.queues; ++queue) {
      EXPECT_EQ(lcores[queue]->worker_of(packets[i]), explained) << flows[i].tuple.text();
    }
  }
}

TEST(Agreement, OfDataPathExplainAndMqsimForAllCountsOfWorkersAndQueues) {
  const auto all = flows();
  for (const SteeringMode mode : kModes) {
    FakeMbufs mbufs;
    const auto packets = received(table_of({.mode = mode})->hasher(), all, mbufs);
    for (std::uint16_t workers = 1; workers <= kMost; ++workers) {
      std::vector<std::unique_ptr<RxLcore>> lcores;
      for (std::uint16_t i = 0; i < kMost; ++i)
        lcores.push_back(std::make_unique<RxLcore>(workers));
      for (std::uint16_t queues = 1; queues <= kMost; ++queues) {
        expect_agreement({mode, workers, queues}, all, packets, lcores);
        if (HasFailure()) return;  // the rest would say the same a thousand times
      }
    }
  }
}

/// A capture file with a packet of each flow.
class Capture {
 public:
  explicit Capture(const std::vector<Flow>& flows) {
    std::string name =
        (std::filesystem::temp_directory_path() / "mqsteer_agreement_XXXXXX").string();
    ::close(::mkstemp(name.data()));
    path_ = name;
    std::ofstream file{path_, std::ios::binary};
    const auto word = [&file](std::uint32_t value) {
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
    };
    // Source: draft-ietf-opsawg-pcap, "General File Structure"
    for (const std::uint32_t value : {0xa1b2c3d4U, 0x00040002U, 0U, 0U, 65535U, 1U}) word(value);
    for (const Flow& flow : flows) {
      const auto size = static_cast<std::uint32_t>(flow.frame.size());
      for (const std::uint32_t value : {1U, 0U, size, size}) word(value);
      file.write(reinterpret_cast<const char*>(flow.frame.data()), size);
    }
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  Capture(Capture&&) = delete;
  Capture& operator=(Capture&&) = delete;
  ~Capture() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Agreement, OfExplainAndMqsimOverACaptureFile) {
  const auto all = flows();
  const Capture capture{all};
  for (const SteeringMode mode : kModes) {
    for (std::uint16_t workers = 1; workers <= kMost; ++workers) {
      for (const std::uint16_t queues : {std::uint16_t{1}, kMost}) {
        const Case of{mode, workers, queues};
        SCOPED_TRACE(of.text());
        const auto table = table_of(of);
        std::size_t at = 0;
        const auto summary =
            sim::simulate(options_of(of, capture.path()), [&](const sim::Verdict& verdict) {
              const auto explained = all[at++].tuple.explain(table->hasher());
              EXPECT_EQ(verdict.hash, explained.hash);
              EXPECT_EQ(verdict.bucket, table->bucket_of(explained.hash));
              EXPECT_EQ(verdict.worker.value(), table->desired_of(explained.hash).worker());
            });
        ASSERT_TRUE(summary) << summary.error().text();
        ASSERT_EQ(summary->packets, all.size());
      }
    }
  }
}

TEST(Agreement, EveryWorkerGetsFlowsOfThese) {
  for (const SteeringMode mode : kModes) {
    const auto table = table_of({.mode = mode, .workers = 8});
    std::vector<bool> hit(8);
    for (const Flow& flow : flows()) {
      hit[table->desired_of(flow.tuple.explain(table->hasher()).hash).worker()] = true;
    }
    EXPECT_THAT(hit, ::testing::Each(true)) << "or the tests above would say little";
  }
}

TEST(SoftRssShift, LeavesTheNicItsBitsAndNeverMoreThanThereAre) {
  EXPECT_EQ(soft_rss_shift(0, 7), 0U);
  EXPECT_EQ(soft_rss_shift(1, 7), 0U);
  EXPECT_EQ(soft_rss_shift(128, 7), 7U);
  EXPECT_EQ(soft_rss_shift(512, 16), 9U);
  EXPECT_EQ(soft_rss_shift(65535, 7), 15U);
  EXPECT_EQ(soft_rss_shift(1U << 20U, 16), 16U);
}

}  // namespace
}  // namespace mqsteer::test
