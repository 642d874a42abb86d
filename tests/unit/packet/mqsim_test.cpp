// mqsim over captures made here: its lines, its counts, and what it says of files it cannot read.

#include "support/packet_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace mqsteer::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

class Mqsim : public testing::Test {
 protected:
  struct Result {
    int exit = -1;
    std::string out, err;
  };

  Mqsim() {
    std::string name = (std::filesystem::temp_directory_path() / "mqsim_test_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Mqsim() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  /// A classic pcap file in host byte order.
  std::string capture(const std::vector<Packet>& packets, std::uint32_t link = 1) {
    std::ofstream file{path("packets.pcap"), std::ios::binary};
    const auto word = [&file](std::uint32_t value) {
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
    };
    for (const std::uint32_t value : {0xa1b2c3d4U, 0x00040002U, 0U, 0U, 65535U, link}) word(value);
    for (const Packet& packet : packets) {
      const Bytes bytes = packet.bytes();
      const auto size = static_cast<std::uint32_t>(bytes.size());
      for (const std::uint32_t value : {1U, 0U, size, size}) word(value);
      file.write(reinterpret_cast<const char*>(bytes.data()), size);
    }
    return path("packets.pcap");
  }

  [[nodiscard]] Result run(const std::string& arguments) const {
    const std::string command =
        std::string{MQSIM_PATH} + " " + arguments + " >" + path("out") + " 2>" + path("err");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text(path("out")), text(path("err"))};
  }

 private:
  static std::string text(const std::string& file) {
    std::stringstream all;
    all << std::ifstream{file}.rdbuf();
    return all.str();
  }
  std::filesystem::path folder_;
};

std::vector<Packet> three() {
  return {Packet{}.ethernet().ipv4("10.0.0.2", "10.0.0.1").tcp(40000, 80),
          Packet{}.ethernet().ipv4("10.0.0.1", "10.0.0.2").tcp(80, 40000),
          Packet{}.ethernet().ipv6("::2", "::1").udp(1, 2)};
}

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> all;
  std::stringstream stream{line};
  for (std::string field; std::getline(stream, field, '\t');) all.push_back(field);
  return all;
}

TEST_F(Mqsim, PrintsALineAPacket) {
  const Result result = run("--mode rps --workers 4 --per-packet " + capture(three()));
  EXPECT_EQ(result.exit, 0) << result.err;
  std::stringstream out{result.out};
  std::vector<std::string> lines;
  for (std::string line; std::getline(out, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "n\tkind\tkey\thash\tbucket\tworker");
  const auto there = fields(lines[1]);
  const auto back = fields(lines[2]);
  ASSERT_EQ(there.size(), 6U);
  EXPECT_EQ(there[0] + there[1] + there[2], "1tcp10.0.0.1:80 10.0.0.2:40000");
  EXPECT_THAT(there[3], testing::MatchesRegex("[0-9a-f]{8}"));
  EXPECT_EQ(std::stoul(there[4]), std::stoul(there[3], nullptr, 16) >> 20U) << "the top 12 bits";
  EXPECT_EQ(std::vector(there.begin() + 1, there.end()), std::vector(back.begin() + 1, back.end()));
  EXPECT_THAT(lines[3], testing::StartsWith("3\tudp\t[::1]:2 [::2]:1\t"));
}

TEST_F(Mqsim, SoftRssIsToeplitzByMicrosoftsKeyAndTheLowBits) {
  const auto file =
      capture({Packet{}.ethernet().ipv4("66.9.149.187", "161.142.100.80").tcp(2794, 1766)});
  const Result result =
      run("--mode soft-rss --symmetric off --buckets 256 --workers 4 --per-packet " + file);
  EXPECT_THAT(result.out, EndsWith("\t51ccc178\t120\t1\n")) << "0x78 of 256 buckets, 64 a worker";
}

TEST_F(Mqsim, SoftRssTakesTheBitsAboveThoseOfANicWithSeveralQueues) {
  const auto file =
      capture({Packet{}.ethernet().ipv4("66.9.149.187", "161.142.100.80").tcp(2794, 1766)});
  const Result result = run(
      "--mode soft-rss --symmetric off --buckets 256 --reta 128 --workers 4 --per-packet " + file);
  EXPECT_THAT(result.out, EndsWith("\t51ccc178\t130\t2\n")) << "0x51ccc178 >> 7 ends in 0x82";
}

TEST_F(Mqsim, SumsUpAsJson) {
  const Result result = run("--mode rps --workers 3 -j " + capture(three()));
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["packets"], 3);
  EXPECT_EQ(json["flows"], 2);
  EXPECT_EQ(json["kinds"], (nlohmann::json{{"tcp", 2}, {"udp", 1}}));
  int packets = 0;
  for (const auto& worker : json["workers"]) packets += worker["packets"].get<int>();
  EXPECT_EQ(packets, 3);
  EXPECT_EQ(json["workers"].size(), 3U);
}

TEST_F(Mqsim, SaysThatFewFlowsCannotSpread) {
  const Result result = run("--mode rps --workers 3 " + capture(three()));
  EXPECT_THAT(result.out, HasSubstr("2 flows cannot spread over 3 workers"));
}

TEST_F(Mqsim, RefusesFilesThatItCannotSteer) {
  const auto expect_refused = [this](const std::string& file, const std::string& why) {
    const Result result = run("--mode rps --workers 2 " + file);
    EXPECT_EQ(result.exit, 2);
    EXPECT_THAT(result.err, testing::AllOf(HasSubstr(why), HasSubstr(file)));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
    EXPECT_THAT(result.out, IsEmpty());
  };
  expect_refused(path("missing"), "No such file");
  expect_refused(capture({}, 113), "only Ethernet");
  std::ofstream{path("text")} << "this is no capture file at all";
  expect_refused(path("text"), "a pcap or pcapng file is wanted");
}

TEST_F(Mqsim, SaysHowManyPacketsItReadBeforeAFileBrokeOff) {
  const std::string file = capture(three());
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 10);
  const Result result = run("--mode rps --workers 2 " + file);
  EXPECT_EQ(result.exit, 2);
  EXPECT_THAT(result.err, HasSubstr("2 packets were read, then: truncated dump file"));
}

TEST_F(Mqsim, TakesOneTo128WorkersAndNoOther) {
  const std::string file = capture(three());
  EXPECT_EQ(run("--mode rps --workers 1 " + file).exit, 0);
  EXPECT_EQ(run("--mode soft-rss --workers 128 " + file).exit, 0);
  for (const char* wrong : {"0", "129", "-1", "x", "65537"}) {
    const Result result = run("--mode rps --workers " + std::string{wrong} + " " + file);
    EXPECT_EQ(result.exit, 1) << wrong;
    EXPECT_THAT(result.err, HasSubstr("--workers")) << wrong;
  }
}

/// `each` packets of every one of `flows` UDP flows, in turn.
std::vector<Packet> in_turn(unsigned flows, unsigned each) {
  std::vector<Packet> all;
  for (unsigned i = 0; i < flows * each; ++i) {
    all.push_back(Packet{}.ethernet().ipv4("10.0.0.1", "10.0.0.2").udp(1000 + i % flows, 9));
  }
  return all;
}

class MqsimRfs : public Mqsim {
 protected:
  nlohmann::json rfs(const std::string& options, const std::string& file) {
    const Result result = run("--mode rfs -j " + options + " " + file);
    EXPECT_EQ(result.exit, 0) << result.err;
    return nlohmann::json::parse(result.out).at("rfs");
  }
};

TEST_F(MqsimRfs, FlowsWhoseConsumersHoldStillHopOnceAtMost) {
  const auto figures = rfs("--workers 4 --backlog 1", capture(in_turn(40, 50)));
  EXPECT_GT(figures.at("hops_under_rps"), 1000) << "three in four are at another worker";
  EXPECT_LE(figures.at("hops"), 40);
  EXPECT_EQ(figures.at("hops"), figures.at("moves"));
  EXPECT_EQ(figures.at("hops_saved"),
            figures.at("hops_under_rps").get<int>() - figures.at("hops").get<int>());
}

TEST_F(MqsimRfs, PacketsOnTheWayKeepTheirFlowWhereItIs) {
  const std::string file = capture(in_turn(10, 200));
  const auto idle = rfs("--workers 4 --backlog 1 --consumers-move 20", file);
  const auto loaded = rfs("--workers 4 --backlog 64 --consumers-move 20", file);
  EXPECT_EQ(idle.at("moves_held"), 0);
  EXPECT_GT(loaded.at("moves_held"), 1000);
  EXPECT_LT(loaded.at("moves"), idle.at("moves"));
  EXPECT_EQ(idle.at("consumer_moves"), 100);
  // Each packet whose consumer has just moved on hops, no other.
  EXPECT_LE(idle.at("hops"), 100 + 10);
}

TEST_F(MqsimRfs, OneWorkerNeverHops) {
  const auto figures = rfs("--workers 1 --consumers-move 1", capture(in_turn(10, 20)));
  EXPECT_EQ(figures.at("hops"), 0);
  EXPECT_EQ(figures.at("hops_under_rps"), 0);
}

TEST_F(MqsimRfs, FirstPacketsGoAsUnderRps) {
  const std::string file = capture(in_turn(30, 1));
  const auto rows = [this, &file](const std::string& mode) {
    return run("--mode " + mode + " --workers 5 --per-packet " + file).out;
  };
  EXPECT_EQ(rows("rfs"), rows("rps"));
}

TEST_F(MqsimRfs, TheTextSaysWhatWasSaved) {
  const Result result = run("--mode rfs --workers 3 " + capture(in_turn(5, 20)));
  for (const char* line : {"hops under rps", "hops under rfs", "hops saved", "moves held"}) {
    EXPECT_THAT(result.out, HasSubstr(line));
  }
}

TEST_F(Mqsim, UsageErrorsAreOneLine) {
  for (const char* wrong :
       {"", "--mode none --workers 1 f", "--mode rps f", "--mode rps --workers 1",
        "--mode rps --workers 1 --buckets 128 f", "--mode soft-rss --workers 1 --buckets 100 f",
        "--mode rps --workers 1 --symmetric 1 f", "--mode rps --workers 1 --consumers-move 9 f",
        "--mode rfs --workers 1 --backlog 0 f", "--mode rfs --workers 1 --buckets 128 f",
        "--mode rps --workers 1 --reta 128 f", "--mode soft-rss --workers 1 --reta 65536 f",
        "--nonsense"}) {
    const Result result = run(wrong);
    EXPECT_EQ(result.exit, 1) << wrong;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_EQ(run("--help").exit, 0);
}

TEST_F(Mqsim, SaysThatItCannotWrite) {
  const std::string file = capture(three());
  const std::string command = std::string{MQSIM_PATH} + " --mode rps --workers 1 " + file;
  const int status = std::system((command + " >/dev/full 2>/dev/null").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

}  // namespace
}  // namespace mqsteer::test
