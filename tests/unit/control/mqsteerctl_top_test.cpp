#include "support/deadline.h"
#include "tool.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace mqsteer::test {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::ordered_json;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

/// `top` in the background, its output in files.
class Watching {
 public:
  Watching(const Tool& tool, const std::string& arguments) : tool_{tool} {
    const std::string command = "exec " MQSTEERCTL " --socket " + tool.socket() + ' ' + arguments +
                                " >" + tool.path("top") + " 2>" + tool.path("top.err");
    child_ = fork();
    if (child_ == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
  Watching(Watching&&) = delete;
  Watching& operator=(Watching&&) = delete;
  ~Watching() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
  }

  void interrupt() const { kill(child_, SIGINT); }
  [[nodiscard]] bool has_shown(std::size_t tables) const {
    return eventually(seconds{10}, [&] { return count_of(out(), "WORKER") >= tables; });
  }
  /// The exit code; -1 where it does not end in five seconds.
  [[nodiscard]] int exit() {
    int status = 0;
    if (!eventually(seconds{5}, [&] { return waitpid(child_, &status, WNOHANG) == child_; })) {
      return -1;
    }
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] std::string out() const { return tool_.read("top"); }
  [[nodiscard]] std::string err() const { return tool_.read("top.err"); }

 private:
  const Tool& tool_;
  pid_t child_;
};

TEST(Top, ShowsPlainTablesOneBelowTheOther) {
  const Tool tool;
  const Output top = tool.run("top interval_ms=100 count=3");
  EXPECT_EQ(top.exit, 0) << top.err;
  EXPECT_EQ(count_of(top.out, "PORT   QUEUE"), 3U);
  EXPECT_THAT(top.out, Not(HasSubstr("\x1b[")));
}

TEST(Top, RefreshesOneTableOnATerminal) {
  const Tool tool;
  const std::string inner =
      MQSTEERCTL " --socket " + tool.socket() + " top interval_ms=100 count=2";
  const std::string command = "TERM=xterm timeout 10 script -qec '" + inner +
                              "' /dev/null </dev/null >" + tool.path("terminal") + " 2>&1";
  if (std::system("command -v script >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs script(1)";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 0);
  EXPECT_EQ(count_of(tool.read("terminal"), "\x1b[H\x1b[2J"), 2U);
}

TEST(Top, GivesOneJsonObjectAnInterval) {
  const Tool tool;
  const Output top = tool.run("-j top interval_ms=100 count=2");
  EXPECT_EQ(top.exit, 0);
  std::istringstream lines{top.out};
  int objects = 0;
  for (std::string line; std::getline(lines, line); ++objects) {
    EXPECT_GE(Json::parse(line)["interval_ms"], 90);
  }
  EXPECT_EQ(objects, 2);
}

TEST(Top, RatesAreThoseOfTheInterval) {
  Tool tool;
  Watching top{tool, "-j top interval_ms=200 count=40"};
  ASSERT_TRUE(eventually(seconds{10}, [&] { return !top.out().empty(); }));
  {
    const std::lock_guard lock{tool.mutex};
    tool.target.figures.workers[0].packets += 1000;
  }
  EXPECT_TRUE(eventually(seconds{10}, [&] {
    std::istringstream lines{top.out()};
    for (std::string line; std::getline(lines, line) && !lines.eof();) {
      const Json rates = Json::parse(line);
      const double packets =
          rates["workers"][0]["pps"].get<double>() * rates["interval_ms"].get<double>() / 1000;
      if (packets > 980 && packets < 1020) return true;
    }
    return false;
  }));
}

TEST(Top, ADaemonThatGoesIsOneClearLineAndExit2) {
  Tool tool;
  Watching top{tool, "top interval_ms=60000"};
  ASSERT_TRUE(eventually(seconds{10}, [&] { return tool.clients() == 1; }));
  tool.stop_daemon();
  EXPECT_EQ(top.exit(), 2);
  EXPECT_EQ(top.err(),
            "mqsteerctl: mqsteerd has gone: it closed the connection at " + tool.socket() + "\n");
}

TEST(Top, EndsCleanlyWhenInterrupted) {
  const Tool tool;
  Watching top{tool, "top interval_ms=100"};
  ASSERT_TRUE(top.has_shown(2));
  top.interrupt();
  EXPECT_EQ(top.exit(), 0);
  EXPECT_THAT(top.err(), IsEmpty());
}

}  // namespace
}  // namespace mqsteer::test
