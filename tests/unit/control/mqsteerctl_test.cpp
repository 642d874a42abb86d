#include "tool.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace mqsteer::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

TEST(Mqsteerctl, ShowsTextAndJsonOfOneAnswer) {
  const Tool tool;
  const Output text = tool.run("queue show");
  EXPECT_EQ(text.exit, 0);
  EXPECT_THAT(text.out, HasSubstr("right      0      3       1        2009      2010\n"));
  const Output json = tool.run("-j queue show");
  EXPECT_EQ(Json::parse(json.out)["queues"][1]["rx_packets"], 2009);
  EXPECT_EQ(json.out.find('\n'), json.out.size() - 1);
  const Output pretty = tool.run("queue show -p");
  EXPECT_EQ(Json::parse(pretty.out), Json::parse(json.out));
  EXPECT_THAT(pretty.out, StartsWith("{\n  \"queues\": [\n"));
}

TEST(Mqsteerctl, ChangesSteering) {
  Tool tool;
  const Output set = tool.run("steering set mode=none symmetric=off");
  EXPECT_EQ(set.exit, 0) << set.err;
  EXPECT_THAT(set.out, StartsWith("no buckets any more: a packet stays at "));
  const std::lock_guard lock{tool.mutex};
  EXPECT_EQ(tool.target.running.steering.mode, SteeringMode::kNone);
  EXPECT_FALSE(tool.target.running.steering.symmetric);
}

TEST(Mqsteerctl, NamesFlowsByPlainWordsOrByKeys) {
  Tool tool;
  const Output words = tool.run("flow explain udp '[fd00::1]:53' '[fd00::2]:5353'");
  EXPECT_EQ(words.exit, 0) << words.err;
  EXPECT_THAT(words.out, StartsWith("flow:    udp [fd00::1]:53 [fd00::2]:5353\n"));
  const Output keys = tool.run("flow explain udp to='[fd00::2]:5353' from='[fd00::1]:53'");
  EXPECT_EQ(keys.out, words.out) << keys.err;
  const Output pin = tool.run("flow pin tcp 10.0.0.1:1234 10.0.0.2:80 worker=0");
  EXPECT_EQ(pin.out, "tcp 10.0.0.1:1234 10.0.0.2:80 is pinned to worker 0\n");
  EXPECT_THAT(tool.run("flow show").out,
              HasSubstr("tcp 10.0.0.1:1234 10.0.0.2:80       0  waits for mode rfs\n"));
  const Output unpin = tool.run("flow unpin tcp 10.0.0.1:1234 10.0.0.2:80");
  EXPECT_THAT(unpin.out, StartsWith("tcp 10.0.0.1:1234 10.0.0.2:80 is pinned no more; mode rps "));
}

TEST(Mqsteerctl, SaysWhatIsWrongWithAFlow) {
  Tool tool;
  const Output portless = tool.run("flow explain tcp '[fd00::1]' '[fd00::2]:80'");
  EXPECT_EQ(portless.exit, 1);
  EXPECT_THAT(portless.err, StartsWith("mqsteerctl: '[fd00::1]' has no port"));
  EXPECT_THAT(portless.err, HasSubstr("; allowed: A.B.C.D:PORT or [IPV6]:PORT"));
  EXPECT_THAT(tool.run("flow pin ip 10.0.0.1:1 10.0.0.2:2").err, HasSubstr("is not a protocol"));
  EXPECT_THAT(tool.run("flow pin tcp 10.0.0.1:1 10.0.0.2:2 worker=2").err,
              HasSubstr("there is no worker '2'; allowed: 0-1"));
  const std::lock_guard lock{tool.mutex};
  EXPECT_TRUE(tool.target.pinned.empty());
}

TEST(Mqsteerctl, ARefusalIsExit2AMalformedValue1AndNeitherChangesAnything) {
  Tool tool;
  const Config before = tool.target.running;
  const Output bad = tool.run("steering set mode=none weights=7,x");
  EXPECT_EQ(bad.exit, 1) << "malformed for every box";
  EXPECT_THAT(bad.out, IsEmpty());
  EXPECT_EQ(bad.err,
            "mqsteerctl: steering.weights: 'x' is not a whole decimal number; allowed: equal, or "
            "a weight 1..1000 for each worker such as 3,1\n");
  const Output gone = tool.run("worker abandon worker=7");
  EXPECT_EQ(gone.exit, 2);
  EXPECT_EQ(gone.err, "mqsteerctl: there is no worker '7'; allowed: 0-1\n");
  const std::lock_guard lock{tool.mutex};
  EXPECT_EQ(tool.target.running, before);
}

TEST(Mqsteerctl, WrongUsageIsExit1AndOneLine) {
  const Tool tool;
  for (const char* arguments : {"",
                                "prot show",
                                "port",
                                "port sohw",
                                "port show now",
                                "steering set",
                                "steering set rps",
                                "steering set mood=rps",
                                "steering set mode=rps mode=rps",
                                "worker abandon",
                                "-x port show",
                                "--color purple port show",
                                "top count=0",
                                "top interval_ms=99",
                                "top interval_ms=1e3",
                                "-i ../etc port show",
                                "-i '' port show",
                                "--completion fish",
                                "-h prot",
                                "flow explain",
                                "flow explain tcp 10.0.0.1:1",
                                "flow unpin tcp 10.0.0.1:1 10.0.0.2:2 worker=1",
                                "flow pin tcp 10.0.0.1:1 10.0.0.2:2 10.0.0.3:3",
                                "flow explain tcp 10.0.0.1:1 10.0.0.2:2 extra",
                                "flow explain icmp 10.0.0.1:1 10.0.0.2:2",
                                "flow pin tcp 10.0.0.1:1 10.0.0.2:2 worker=",
                                "worker abandon worker=one",
                                "steering set mode=fast",
                                "flow explain tcp from=1 from=2"}) {
    const Output wrong = tool.run(arguments);
    EXPECT_EQ(wrong.exit, 1) << arguments;
    EXPECT_THAT(wrong.out, IsEmpty()) << arguments;
    EXPECT_THAT(wrong.err, StartsWith("mqsteerctl: ")) << arguments;
    EXPECT_EQ(std::count(wrong.err.begin(), wrong.err.end(), '\n'), 1) << wrong.err;
  }
}

TEST(Mqsteerctl, ErrorsAreJsonWhereJsonIsAskedFor) {
  Tool tool;
  const Output usage = tool.run("prot -j show");
  EXPECT_EQ(usage.exit, 1);
  EXPECT_THAT(usage.err, IsEmpty());
  EXPECT_EQ(Json::parse(usage.out)["error"]["what"], "'prot' is not an object, perhaps port");
  const Output option = tool.run("-x --json port show");
  EXPECT_TRUE(Json::parse(option.out).contains("error"));
  const Output refused = tool.run("-p worker restore worker=9");
  EXPECT_EQ(refused.exit, 2);
  EXPECT_EQ(Json::parse(refused.out)["error"]["allowed"], "0-1");
  tool.stop_daemon();
  const Output gone = tool.run("-j stats show");
  EXPECT_EQ(gone.exit, 2);
  EXPECT_THAT(Json::parse(gone.out)["error"]["what"].get<std::string>(),
              HasSubstr("is not running"));
}

TEST(Mqsteerctl, NoDaemonIsOneClearLineAndExit2) {
  Tool tool;
  tool.stop_daemon();
  const Output none = tool.run("stats show");
  EXPECT_EQ(none.exit, 2);
  EXPECT_EQ(none.err, "mqsteerctl: mqsteerd is not running there: there is no socket " +
                          tool.socket() + "; start mqsteerd first\n");
}

TEST(Mqsteerctl, AnotherProgramsAnswerIsNotBelieved) {
  const TemporaryDirectory directory;
  const Tool tool;
  for (const char* reply : {"hello", "[]", "{\"error\":7}", "{}"}) {
    const Serving other{{.instance = "other", .runtime_directory = directory.path()},
                        [&](std::string_view) { return reply; }};
    const Output odd = tool.run("--socket " + other.path() + " stats show");
    EXPECT_EQ(odd.exit, 2) << reply;
    EXPECT_THAT(odd.err, HasSubstr("answer is not understood")) << reply;
  }
}

TEST(Mqsteerctl, ColoursOnlyWhereTheyAreWanted) {
  const Tool tool;
  EXPECT_THAT(tool.run("port show").out, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(tool.run("--color never port show").out, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(tool.run("--color always port show").out, HasSubstr("\x1b[32mup"));
}

TEST(Mqsteerctl, HelpAndVersionNeedNoDaemon) {
  Tool tool;
  tool.stop_daemon();
  EXPECT_THAT(tool.run("-V").out, StartsWith("mqsteerctl 0."));
  const Output help = tool.run("--help");
  EXPECT_EQ(help.exit, 0);
  EXPECT_THAT(help.out, HasSubstr("\n  steering set      change steering"));
  EXPECT_THAT(tool.run("worker -h").out, Not(HasSubstr("steering set")));
}

TEST(Mqsteerctl, AFullDiskIsNoticed) {
  const Tool tool;
  const std::string command =
      "timeout 10 " MQSTEERCTL " --socket " + tool.socket() + " port show >/dev/full 2>/dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
}

TEST(Mqsteerctl, PingMeasures) {
  const Tool tool;
  EXPECT_THAT(tool.run("ping").out, StartsWith("instance box answers in "));
  EXPECT_GT(Json::parse(tool.run("-j ping").out)["ms"].get<double>(), 0);
}

}  // namespace
}  // namespace mqsteer::test
