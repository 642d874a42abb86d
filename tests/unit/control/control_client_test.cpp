#include "control/control_client.h"

#include "serving.h"
#include "temporary_directory.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <vector>

namespace mqsteer::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ControlClientTest : public ::testing::Test {
 protected:
  [[nodiscard]] ClientConfig config(const std::string& instance = "box") const {
    return {
        .instance = instance, .runtime_directory = directory_.path(), .limit = milliseconds{200}};
  }
  [[nodiscard]] ControlConfig server(const std::string& instance = "box") const {
    return {.instance = instance, .runtime_directory = directory_.path()};
  }
  /// What connecting says.
  [[nodiscard]] static std::string fault_of(const ClientConfig& config) {
    const auto client = ControlClient::connect(config);
    return client ? "" : client.error().text();
  }
  /// A socket that is bound, and listens where `backlog` is not negative, but accepts nobody.
  [[nodiscard]] Descriptor bound(int backlog) const {
    std::filesystem::create_directory(directory_.path() + "/box");
    const std::string path = config().path();
    Descriptor socket_fd{socket(AF_UNIX, SOCK_STREAM, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(bind(socket_fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    if (backlog >= 0) {
      EXPECT_EQ(listen(socket_fd.get(), backlog), 0);
    }
    return socket_fd;
  }

  TemporaryDirectory directory_;
};

TEST_F(ControlClientTest, AsksAndGetsTheAnswer) {
  const Serving serving{server(), [](std::string_view line) { return "re: " + std::string{line}; }};
  auto client = ControlClient::connect(config());
  ASSERT_TRUE(client) << client.error().text();
  EXPECT_EQ(client->ask("one").value_or(""), "re: one");
  EXPECT_EQ(client->ask("two").value_or(""), "re: two");
}

TEST_F(ControlClientTest, TakesAnswersLargerThanTheSocketsBuffer) {
  const std::string large(3'000'000, 'r');
  const Serving serving{server(), [&](std::string_view) { return large; }};
  auto client = ControlClient::connect(config());
  ASSERT_TRUE(client);
  EXPECT_EQ(client->ask("x").value_or(""), large);
}

TEST_F(ControlClientTest, SaysThatNoDaemonRuns) {
  EXPECT_EQ(fault_of(config()), "instance box is not running: there is no socket " +
                                    config().path() + "; start mqsteerd first");
}

TEST_F(ControlClientTest, NamesTheInstancesThatRunInstead) {
  const Serving one{server("one"), [](std::string_view) { return ""; }};
  const Serving two{server("two"), [](std::string_view) { return ""; }};
  EXPECT_EQ(fault_of(config()), "instance box is not running: there is no socket " +
                                    config().path() + "; allowed: -i with one that runs: one, two");
}

TEST_F(ControlClientTest, SaysThatACrashedDaemonsSocketHasNobody) {
  const Descriptor crashed = bound(-1);
  EXPECT_EQ(fault_of(config()),
            "mqsteerd is not running: nobody answers at " + config().path() + "; start it first");
}

TEST_F(ControlClientTest, SaysThatPermissionIsMissing) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  const Serving serving{server(), [](std::string_view) { return ""; }};
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0755});
  int out[2];
  ASSERT_EQ(pipe(out), 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool dropped = setgid(65534) == 0 && setuid(65534) == 0;
    const std::string fault = dropped ? fault_of(config()) : "setuid failed";
    _exit(write(out[1], fault.data(), fault.size()) < 0 ? 1 : 0);
  }
  close(out[1]);
  std::string fault(1000, '\0');
  fault.resize(static_cast<std::size_t>(std::max<ssize_t>(read(out[0], fault.data(), 1000), 0)));
  close(out[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(fault, "no permission for " + config().path() +
                       "; run mqsteerctl as root or in the group that owns it");
}

TEST_F(ControlClientTest, GivesUpOnADaemonThatDoesNotAnswer) {
  const Descriptor silent = bound(4);
  auto client = ControlClient::connect(config());
  ASSERT_TRUE(client) << client.error().text();
  const auto began = std::chrono::steady_clock::now();
  const auto answer = client->ask("hello");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().text(),
            "mqsteerd does not answer: nothing from " + config().path() + " within 200 ms");
  EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds{1500});
}

TEST_F(ControlClientTest, GivesUpConnectingToAFullQueue) {
  const Descriptor full = bound(0);
  std::vector<ControlClient> waiting;
  std::string fault;
  for (int i = 0; i < 10 && fault.empty(); ++i) {
    auto client = ControlClient::connect(config());
    if (client) {
      waiting.push_back(std::move(*client));
    } else {
      fault = client.error().text();
    }
  }
  EXPECT_EQ(fault,
            "mqsteerd does not answer: no connection to " + config().path() + " within 200 ms");
}

TEST_F(ControlClientTest, SaysThatTheDaemonHasGone) {
  Serving serving{server(), [](std::string_view) { return "x"; }};
  const std::string path = serving.path();
  auto client = ControlClient::connect(config());
  ASSERT_TRUE(client);
  ASSERT_TRUE(client->ask("x"));
  serving.end();
  EXPECT_FALSE(client->wait_until(std::chrono::steady_clock::now() + std::chrono::seconds{5}));
  const auto answer = client->ask("x");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().text(), "mqsteerd has gone: it closed the connection at " + path);
}

TEST_F(ControlClientTest, PassesOnWhyItWasRefused) {
  ControlConfig few = server();
  few.max_clients = 1;
  const Serving serving{few, [](std::string_view) { return "x"; }};
  auto first = ControlClient::connect(config());
  ASSERT_TRUE(first);
  ASSERT_TRUE(first->ask("x"));
  auto second = ControlClient::connect(config());
  ASSERT_TRUE(second);
  EXPECT_THAT(second->ask("x").value_or("nothing"), HasSubstr("1 control connections, its most"));
}

TEST_F(ControlClientTest, LetsTimePass) {
  const Serving serving{server(), [](std::string_view) { return "x"; }};
  auto client = ControlClient::connect(config());
  ASSERT_TRUE(client);
  const auto until = std::chrono::steady_clock::now() + milliseconds{30};
  EXPECT_TRUE(client->wait_until(until));
  EXPECT_GE(std::chrono::steady_clock::now(), until);
}

}  // namespace
}  // namespace mqsteer::test
