// Every capture of the collection through the dissector, the hasher and mqsim: no crash, no read
// behind a packet (each is copied to a heap block of its size, for the sanitizers), one answer
// whichever way a packet is looked at.

#include "mqsim/report.h"
#include "mqsim/simulation.h"
#include "packet/flow_hasher.h"
#include "steering/fragment_tracker.h"
#include "support/dissect_checked.h"
#include "support/fake_mbufs.h"

#include <rte_mbuf_core.h>

#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mqsteer::test {
namespace {

using Each = std::function<void(std::span<const std::uint8_t> packet)>;

std::vector<std::string> files() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(getenv("MQSTEER_PCAPS"))) {
    const auto extension = entry.path().extension();
    if (extension == ".tsv" || extension == ".md" || !entry.is_regular_file()) continue;
    all.push_back(entry.path());
  }
  return all;
}

/// returns: packets read, of whatever link type; -1: libpcap does not open the file
int read_packets(const std::string& file, const Each& each) {
  std::array<char, PCAP_ERRBUF_SIZE> reason{};
  pcap_t* pcap = pcap_open_offline(file.c_str(), reason.data());
  if (pcap == nullptr) return -1;
  int packets = 0;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  for (; pcap_next_ex(pcap, &header, &data) == 1; ++packets) each({data, header->caplen});
  pcap_close(pcap);
  return packets;
}

std::vector<HasherConfig> configs() {
  std::vector<HasherConfig> all;
  for (const auto kind : {HasherConfig::kFast, HasherConfig::kToeplitz}) {
    for (const bool symmetric : {true, false}) {
      for (const auto tunnels : {TunnelKey::kInner, TunnelKey::kOuter}) {
        all.push_back({.kind = kind, .symmetric = symmetric, .tunnels = tunnels});
      }
    }
  }
  return all;
}

/// The packet in two segments, cut at `cut`, must come out of the data path as explain() says.
void expect_path_agrees(const FlowHasher& hasher, std::span<const std::uint8_t> packet,
                        std::size_t cut) {
  cut = std::min(cut, packet.size());
  Bytes first{packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(cut)};
  Bytes second{packet.begin() + static_cast<std::ptrdiff_t>(cut), packet.end()};
  rte_mbuf tail{};
  tail.buf_addr = second.data();
  tail.data_len = static_cast<std::uint16_t>(second.size());
  rte_mbuf head{};
  head.buf_addr = first.data();
  head.data_len = static_cast<std::uint16_t>(first.size());
  head.pkt_len = static_cast<std::uint32_t>(packet.size());
  head.next = second.empty() ? nullptr : &tail;
  PacketMeta meta{.mbuf = &head};
  hasher.run({&meta, 1});
  const auto said = hasher.explain(reinterpret_cast<const std::byte*>(packet.data()), packet.size(),
                                   packet.size());
  EXPECT_EQ(meta.hash, said.hash);
  EXPECT_EQ(meta.kind, said.dissection.key.kind);
  EXPECT_EQ(meta.flags, said.dissection.flags);
  EXPECT_EQ(meta.l3, said.dissection.l3);
  EXPECT_EQ(meta.l4, said.dissection.l4);
}

TEST(Captures, EveryPacketIsReadWithinItsBounds) {
  constexpr int kCutPackets = 40;  // of each file, at every length to 128
  long long total = 0;
  for (const std::string& file : files()) {
    SCOPED_TRACE(file);
    int n = 0;
    read_packets(file, [&](std::span<const std::uint8_t> packet) {
      ++total;
      for (const KeyOptions& options : {KeyOptions{}, kWireOrder, kOuter}) {
        dissect_checked(packet, options);
        if (n >= kCutPackets) continue;
        for (std::size_t cut = 0; cut < std::min<std::size_t>(packet.size(), 128); ++cut) {
          dissect_checked(packet.first(cut), options);
        }
      }
      ++n;
    });
  }
  std::printf("%lld packets\n", total);
  EXPECT_GT(total, 0);
}

TEST(Captures, TheDataPathAgreesWithExplainWhateverTheSegments) {
  constexpr int kPackets = 300;  // of each file
  std::vector<FlowHasher> hashers;
  for (const HasherConfig& config : configs()) hashers.emplace_back(config);
  for (const std::string& file : files()) {
    SCOPED_TRACE(file);
    int n = 0;
    read_packets(file, [&](std::span<const std::uint8_t> packet) {
      if (packet.size() > 0xffff || ++n > kPackets) return;
      for (const FlowHasher& hasher : hashers) {
        for (const std::size_t cut :
             {SIZE_MAX, std::size_t{23}, std::size_t{50}, std::size_t{200}}) {
          expect_path_agrees(hasher, packet, cut);
        }
      }
    });
  }
}

/// The fragments of one capture through a tracker, a microsecond apart.
class Tracked {
 public:
  explicit Tracked(const FlowHasher& hasher) : hasher_{hasher} { tracker_.adopt(hasher); }

  void send(std::span<const std::uint8_t> packet) {
    PacketMeta meta{.mbuf = mbufs_.make(packet)};
    hasher_.run({&meta, 1});
    if (meta.kind == PacketKind::kFragment) ++fragments_;
    ++packets_;
    now_ += 1000;
    note(tracker_.track({&meta, 1}, TscCycles{now_}));
    note(tracker_.expire(TscCycles{now_}));
  }
  void end() { note(tracker_.release_all(TscCycles{now_})); }

  [[nodiscard]] std::uint64_t packets() const { return packets_; }
  [[nodiscard]] std::uint64_t came_out() const { return hashes_.size(); }
  [[nodiscard]] std::uint64_t fragments() const { return fragments_; }
  [[nodiscard]] std::uint64_t tracked() const { return tracker_.counters().tracked.read(); }
  [[nodiscard]] std::uint64_t missed() const { return tracker_.counters().missed.read(); }

  /// Datagrams whose fragments went by more than one hash; an id used again is one such.
  [[nodiscard]] std::size_t torn() const {
    std::vector<std::pair<Datagram, std::uint32_t>> seen;
    std::size_t count = 0;
    for (const auto& [mbuf, hash] : hashes_) {
      const auto part = hasher_.fragment_of(*mbuf);
      if (!part) continue;
      const auto same = std::ranges::find_if(
          seen, [&part](const auto& entry) { return entry.first == part->datagram; });
      if (same == seen.end()) {
        seen.emplace_back(part->datagram, hash);
      } else if (same->second != hash) {
        ++count;
      }
    }
    return count;
  }

 private:
  void note(std::span<const PacketMeta> packets) {
    for (const PacketMeta& packet : packets) {
      EXPECT_TRUE(hashes_.emplace(packet.mbuf, packet.hash).second);
    }
  }

  const FlowHasher& hasher_;
  FragmentTracker tracker_{1'000'000'000, *std::pmr::new_delete_resource()};
  FakeMbufs mbufs_;
  std::map<const rte_mbuf*, std::uint32_t> hashes_;
  std::uint64_t packets_ = 0;
  std::uint64_t fragments_ = 0;
  std::uint64_t now_ = 1;
};

TEST(Captures, EveryFragmentIsTrackedOrMissedAndComesOut) {
  const FlowHasher hasher{{}};
  std::uint64_t fragments = 0;
  for (const std::string& file : files()) {
    SCOPED_TRACE(file);
    Tracked tracked{hasher};
    read_packets(file, [&](std::span<const std::uint8_t> packet) {
      if (packet.size() <= 0xffff) tracked.send(packet);
    });
    tracked.end();
    EXPECT_EQ(tracked.came_out(), tracked.packets());
    EXPECT_EQ(tracked.tracked() + tracked.missed(), tracked.fragments());
    fragments += tracked.fragments();
    if (tracked.fragments() != 0) {
      std::printf("%s: %llu fragments, %llu missed\n", file.c_str(),
                  static_cast<unsigned long long>(tracked.fragments()),
                  static_cast<unsigned long long>(tracked.missed()));
    }
  }
  EXPECT_GT(fragments, 0U);
}

/// Forwards and backwards: the last fragment first.
TEST(Captures, FragmentsOfOneDatagramStayTogetherInEitherOrder) {
  const FlowHasher hasher{{}};
  for (const std::string& file : files()) {
    if (file.find("/frag-ipv4/pcpp__ip-frag.pcap") == std::string::npos) continue;
    std::vector<Bytes> packets;
    read_packets(file, [&packets](std::span<const std::uint8_t> packet) {
      packets.emplace_back(packet.begin(), packet.end());
    });
    for (int way = 0; way < 2; ++way) {
      Tracked tracked{hasher};
      for (const Bytes& packet : packets) tracked.send(packet);
      tracked.end();
      EXPECT_GT(tracked.tracked(), 1000U);
      EXPECT_EQ(tracked.torn(), 0U);
      std::ranges::reverse(packets);
    }
    return;
  }
  GTEST_SKIP() << "no such capture";
}

TEST(Captures, MqsimCountsEveryPacketOrSaysWhyNot) {
  for (const std::string& file : files()) {
    SCOPED_TRACE(file);
    const int packets = read_packets(file, [](auto) {});
    std::uint64_t lines = 0;
    const sim::Options options{.file = file, .workers = 3};
    const auto summary = sim::simulate(options, [&lines](const sim::Verdict& verdict) {
      EXPECT_EQ(verdict.n, ++lines);
      EXPECT_LT(verdict.worker.value(), 3);
      EXPECT_FALSE(per_packet_line(verdict).empty());
    });
    if (summary) {
      EXPECT_EQ(summary->packets, static_cast<std::uint64_t>(packets));
      EXPECT_EQ(lines, summary->packets);
      EXPECT_FALSE(to_text(options, *summary).empty());
      EXPECT_FALSE(to_json(options, *summary).empty());
    } else {
      EXPECT_NE(summary.error().message.find(file), std::string::npos);
      EXPECT_EQ(summary.error().message.find('\n'), std::string::npos);
    }
  }
}

TEST(Captures, FilesThatReadersMustRefuseAreRefused) {
  int refused = 0;
  for (const std::string& file : files()) {
    if (file.find("/bad-file/") == std::string::npos) continue;
    EXPECT_FALSE(sim::simulate({.file = file}, {}).has_value()) << file;
    ++refused;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace mqsteer::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* folder = getenv("MQSTEER_PCAPS");
  if (folder == nullptr || !std::filesystem::is_directory(folder)) {
    std::printf("skipped: MQSTEER_PCAPS names no folder of captures (%s)\n",
                folder == nullptr ? "unset" : folder);
    return 77;
  }
  return RUN_ALL_TESTS();
}
