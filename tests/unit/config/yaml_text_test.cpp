#include "unit/config/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

namespace mqsteer {
namespace {

using testing::StartsWith;

constexpr const char* kTopLevel =
    "instance, lcores, idle, idle_max_sleep_us, hugepages, ports, bridge, steering, rr, capture";

struct Case {
  std::string text;
  std::string message;
};

TEST(YamlText, WhatIsNoConfigurationIsSaidInOneLine) {
  const Case cases[] = {
      {"", std::string{"f.yaml:1: the file is empty; allowed: "} + kTopLevel},
      {"# nothing\n---\n", std::string{"f.yaml:1: the file is empty; allowed: "} + kTopLevel},
      {"hello\n", std::string{"f.yaml:1: this is not a section with keys; allowed: "} + kTopLevel},
      {"\n- a\n", std::string{"f.yaml:2: this is not a section with keys; allowed: "} + kTopLevel},
      {"a: 1\n\x7f"
       "ELF\n",
       "f.yaml:2: the byte \\x7f is no text; allowed: a YAML file in UTF-8"},
      {std::string{"a: 1\n\0", 6},
       "f.yaml:2: the byte \\x00 is no text; allowed: a YAML file in UTF-8"},
      {"\xff\xfe"
       "a",
       "f.yaml:1: the byte \\xff is no text; allowed: a YAML file in UTF-8"},
      {"a: \xc0\x80", "f.yaml:1: the byte \\xc0 is no text; allowed: a YAML file in UTF-8"},
      {"a: \xed\xa0\x80", "f.yaml:1: the byte \\xed is no text; allowed: a YAML file in UTF-8"},
      {"a: \xe2\x82", "f.yaml:1: the byte \\xe2 is no text; allowed: a YAML file in UTF-8"},
      {"steering:\n\tmode: rps\n", "f.yaml:2: a tab in the indentation; allowed: spaces"},
      {"steering:\n  mode: rps\n idle: poll\n", "f.yaml:3: this is not YAML: end of map not found"},
      {"ports: [{name: a\n",
       "f.yaml:1: no key where one must be, or an open bracket; allowed: key: value"},
      {"? [a]\n: b\n",
       "f.yaml:1: no key where one must be, or an open bracket; allowed: key: value"},
      {"a: 1\n---\nb: 1\n", "f.yaml:2: a second document; allowed: one document a file"},
      {"a: &x 1\n", "f.yaml:1: a YAML anchor (&name); allowed: plain values"},
      {"a: &x [1]\nb: [*x, *x]\n", "f.yaml:1: a YAML anchor (&name); allowed: plain values"},
      {"instance: !!str a\n", "f.yaml:1: a YAML tag (!name); allowed: plain values"},
      {"steering: !map {mode: rps}\n", "f.yaml:1: a YAML tag (!name); allowed: plain values"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(verdict(c.text), c.message) << c.text;
  }
}

TEST(YamlText, WindowsLinesAndAByteOrderMarkAreHarmless) {
  EXPECT_EQ(verdict("\xef\xbb\xbfports:\r\n  - {name: left, device: eth1}\r\n"), "accepted");
}

TEST(YamlText, NestingAndNumberOfValuesAreBounded) {
  std::string deep;
  for (std::size_t i = 0; i < 100; ++i) deep.append(i, ' ').append("a:\n");
  EXPECT_EQ(verdict(deep), "f.yaml:17: nested deeper than 16 levels; allowed: fewer");
  std::string wide = "a:\n";
  for (int i = 0; i < 20'000; ++i) wide += "- 1\n";
  EXPECT_EQ(verdict(wide), "f.yaml:10000: more than 10000 values; allowed: fewer");
}

TEST(YamlText, AnAliasBombIsRefusedAtItsFirstAnchor) {
  std::string bomb = "a: &a [x, x]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    const std::string last(1, static_cast<char>(c - 1));
    bomb += std::string(1, c) + ": &" + c + " [*" + last + ", *" + last + "]\n";
  }
  EXPECT_EQ(verdict(bomb), "f.yaml:1: a YAML anchor (&name); allowed: plain values");
}

/// Every broken variant of a good file ends in one line about that file.
TEST(YamlText, BrokenFilesNeverThrow) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random{seed};
  const std::string good = to_yaml(unusual());
  const std::string marks = "{}[]:,-#&*!|>'\"%@`?\n \t~\x80";
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (unsigned change = 0; change <= random() % 4; ++change) {
      text[random() % text.size()] = marks[random() % marks.size()];
    }
    if (round % 3 == 0) text.resize(random() % text.size());
    const std::string line = verdict(text);
    if (line == "accepted") continue;
    ++refused;
    EXPECT_THAT(line, StartsWith("f.yaml:"));
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
  EXPECT_GT(refused, 1000);
}

class Files : public testing::Test {
 public:
  Files(const Files&) = delete;
  Files(Files&&) = delete;
  Files& operator=(const Files&) = delete;
  Files& operator=(Files&&) = delete;
  Files() {
    char pattern[] = "/tmp/mqsteer-config-XXXXXX";
    directory_ = mkdtemp(pattern);
  }
  ~Files() override { std::filesystem::remove_all(directory_); }

 protected:
  [[nodiscard]] std::string write(const std::string& text) const {
    std::string path = directory_ + "/c.yaml";
    std::ofstream{path} << text;
    return path;
  }
  static std::string load(const std::string& path) {
    const auto loaded = load_config(path);
    return loaded ? "accepted" : loaded.error().text();
  }

  std::string directory_;
};

TEST_F(Files, AGoodFileIsReadWhole) {
  const auto loaded = load_config(write(to_yaml(unusual())));
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_EQ(loaded->config, unusual());
}

TEST_F(Files, AMissingFileNamesTheErrno) {
  const std::string path = directory_ + "/none.yaml";
  EXPECT_EQ(load(path), path + ": cannot open the configuration: No such file or directory");
}

TEST_F(Files, ADirectoryIsSaidToBeOne) {
  EXPECT_EQ(load(directory_), directory_ + ": this is a directory; allowed: a YAML file");
}

TEST_F(Files, APipeDoesNotBlock) {
  const std::string path = directory_ + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(load(path), path + ": this is no file; allowed: a YAML file");
}

TEST_F(Files, AFileOfMoreThanAMebibyteIsRefused) {
  const std::string path = write(two_ports + std::string(kMaxConfigBytes, '#'));
  EXPECT_EQ(load(path), path + ": the file is too large; allowed: at most 1048576 bytes");
  const std::string fits = two_ports + std::string(kMaxConfigBytes - two_ports.size(), '#');
  EXPECT_EQ(load(write(fits)), "accepted");
}

TEST_F(Files, AFileThatMayNotBeReadNamesTheErrno) {
  namespace fs = std::filesystem;
  const std::string path = write(two_ports);
  fs::permissions(path, fs::perms::none);
  fs::permissions(directory_, fs::perms{0755});
  const bool was_root = ::geteuid() == 0;
  ASSERT_TRUE(!was_root || ::seteuid(65534) == 0);  // root may read everything
  const std::string line = load(path);
  ASSERT_TRUE(!was_root || ::seteuid(0) == 0);
  EXPECT_EQ(line, path + ": cannot open the configuration: Permission denied");
}

}  // namespace
}  // namespace mqsteer
