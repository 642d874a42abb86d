#include "control/control_server.h"

#include "raw_client.h"
#include "serving.h"
#include "support/deadline.h"
#include "temporary_directory.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

namespace mqsteer::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string echo(std::string_view line) {
  return "<" + std::string{line} + ">";
}

class ControlServerTest : public ::testing::Test {
 protected:
  [[nodiscard]] ControlConfig config() const {
    return {.instance = "box", .runtime_directory = directory_.path()};
  }
  [[nodiscard]] std::string socket_path() const { return directory_.path() + "/box/control.sock"; }

  TemporaryDirectory directory_;
};

TEST_F(ControlServerTest, AnswersEveryLineInOrder) {
  const Serving serving{config(), echo};
  RawClient client{serving.path()};
  client.send("one\ntwo\r\n\nthree\n");
  EXPECT_EQ(client.line(), "<one>");
  EXPECT_EQ(client.line(), "<two>");
  EXPECT_EQ(client.line(), "<three>");
}

TEST_F(ControlServerTest, PutsALineTogetherFromSingleBytes) {
  const Serving serving{config(), echo};
  RawClient client{serving.path()};
  for (const char c : std::string_view{"slowly\n"}) client.send({&c, 1});
  EXPECT_EQ(client.line(), "<slowly>");
}

TEST_F(ControlServerTest, AnswersAClientThatSendsNoMore) {
  const Serving serving{config(), echo};
  RawClient client{serving.path()};
  client.send("a\nb\nhalf a line");
  shutdown(client.fd(), SHUT_WR);
  EXPECT_EQ(client.line(), "<a>");
  EXPECT_EQ(client.line(), "<b>");
  EXPECT_TRUE(client.closed_within(1000));
}

TEST_F(ControlServerTest, SocketIsForOwnerAndGroupAlone) {
  const mode_t before = umask(0);
  const Serving serving{config(), echo};
  umask(before);
  struct stat file {};
  ASSERT_EQ(stat(serving.path().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777U, 0660U);
}

TEST_F(ControlServerTest, RemovesItsFilesAtTheEnd) {
  { const Serving serving{config(), echo}; }
  EXPECT_FALSE(std::filesystem::exists(directory_.path() + "/box"));
}

TEST_F(ControlServerTest, ReplacesTheSocketOfADaemonThatCrashed) {
  std::filesystem::create_directory(directory_.path() + "/box");
  {
    const int crashed = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, socket_path().data(), socket_path().size());
    ASSERT_EQ(bind(crashed, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    close(crashed);
  }
  const Serving serving{config(), echo};
  RawClient client{serving.path()};
  client.send("new\n");
  EXPECT_EQ(client.line(), "<new>");
}

TEST_F(ControlServerTest, RefusesASocketThatSomebodyListensOn) {
  const Serving serving{config(), echo};
  const auto second = ControlServer::listen(config(), echo);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().text(), StartsWith("control socket: another process listens on "));
  EXPECT_TRUE(std::filesystem::exists(serving.path()));
}

TEST_F(ControlServerTest, LeavesAFileThatIsNoSocketAlone) {
  std::filesystem::create_directory(directory_.path() + "/box");
  std::ofstream{socket_path()} << "mine";
  const auto server = ControlServer::listen(config(), echo);
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().text(), HasSubstr("is there, but no socket"));
  EXPECT_TRUE(std::filesystem::exists(socket_path()));
}

TEST_F(ControlServerTest, NamesAPathThatIsTooLong) {
  const std::string deep = directory_.path() + '/' + std::string(120, 'd');
  const auto server = ControlServer::listen({.instance = "box", .runtime_directory = deep}, echo);
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().text(), HasSubstr("path is longer than 107 bytes"));
}

TEST_F(ControlServerTest, SurvivesGarbage) {
  const Serving serving{config(), echo};
  constexpr unsigned kSeed = 20111130;
  SCOPED_TRACE(kSeed);
  std::mt19937 random{kSeed};
  for (int i = 0; i < 50; ++i) {
    std::string bytes(random() % 20000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const RawClient client{serving.path()};
    client.send(bytes);
  }
  // The fifty may not all be closed yet, and one client too many is told so.
  EXPECT_TRUE(test::eventually(std::chrono::milliseconds{5'000}, [&] {
    RawClient client{serving.path()};
    client.send("still there\n");
    return client.line() == "<still there>";
  }));
}

TEST_F(ControlServerTest, HandsOverNulBytes) {
  const Serving serving{config(),
                        [](std::string_view line) { return std::to_string(line.size()); }};
  RawClient client{serving.path()};
  client.send(std::string_view{"a\0b\0\0\n", 6});
  EXPECT_EQ(client.line(), "5");
}

TEST_F(ControlServerTest, TellsAndClosesWhoSendsALineWithoutEnd) {
  const Serving serving{config(), echo};
  RawClient client{serving.path()};
  client.send(std::string(200'000, 'x'));
  EXPECT_EQ(client.line(),
            R"({"error":{"what":"request: the line is longer than 65536 bytes","allowed":""}})");
  EXPECT_TRUE(client.closed_within(1000));
}

TEST_F(ControlServerTest, TakesALineOfExactlyTheLongestLength) {
  const Serving serving{config(),
                        [](std::string_view line) { return std::to_string(line.size()); }};
  RawClient client{serving.path()};
  client.send(std::string(65536, 'x') + '\n');
  EXPECT_EQ(client.line(), "65536");
}

TEST_F(ControlServerTest, ClosesAHalfLineThatIsNeverFinished) {
  ControlConfig quick = config();
  quick.half_line_limit = milliseconds{60};
  const Serving serving{quick, echo};
  RawClient client{serving.path()};
  client.send("half");
  EXPECT_EQ(client.line(), R"({"error":{"what":"request: the line was not finished within 60 ms",)"
                           R"("allowed":""}})");
  EXPECT_TRUE(client.closed_within(1000));
}

TEST_F(ControlServerTest, ClosesASilentClient) {
  ControlConfig quick = config();
  quick.silence_limit = quick.half_line_limit = milliseconds{60};
  const Serving serving{quick, echo};
  const RawClient client{serving.path()};
  EXPECT_TRUE(client.closed_within(1000));
}

TEST_F(ControlServerTest, RefusesOneClientTooMany) {
  ControlConfig few = config();
  few.max_clients = 2;
  const Serving serving{few, echo};
  const RawClient first{serving.path()};
  RawClient second{serving.path()};
  RawClient third{serving.path()};
  EXPECT_THAT(third.line(), HasSubstr("the daemon has 2 control connections, its most"));
  EXPECT_TRUE(third.closed_within(1000));
  second.send("still served\n");
  EXPECT_EQ(second.line(), "<still served>");
}

TEST_F(ControlServerTest, AThousandConnectionsNeitherStallNorStayOpen) {
  const Serving serving{config(), echo};
  {
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 1000; ++i) {
      clients.push_back(std::make_unique<RawClient>(serving.path()));
      ASSERT_TRUE(clients.back()->connected()) << i;
      clients.back()->send("hello\n");
    }
    EXPECT_EQ(clients.front()->line(), "<hello>");
    EXPECT_THAT(clients.back()->line(), HasSubstr("its most"));
    EXPECT_LE(serving.clients(), 32U);
  }
  EXPECT_TRUE(eventually(milliseconds{2000}, [&] { return serving.clients() == 0; }));
  RawClient client{serving.path()};
  client.send("after\n");
  EXPECT_EQ(client.line(), "<after>");
  EXPECT_LT(serving.longest(), milliseconds{100});
}

TEST_F(ControlServerTest, DropsWhoDoesNotReadAndServesTheOthers) {
  ControlConfig quick = config();
  quick.slow_reader_limit = milliseconds{60};
  const std::string large(1 << 20, 'r');
  const Serving serving{quick, [&](std::string_view) { return large; }};
  const RawClient slow{serving.path()};
  slow.send("a\n");
  RawClient reader{serving.path()};
  ASSERT_TRUE(eventually(milliseconds{2000}, [&] { return serving.clients() == 2; }));
  EXPECT_TRUE(eventually(milliseconds{2000}, [&] { return serving.clients() == 1; }));
  reader.send("b\n");
  EXPECT_EQ(reader.line(), large);
}

TEST_F(ControlServerTest, OneGreedyClientDoesNotStarveAnother) {
  const Serving serving{config(), echo};
  const RawClient greedy{serving.path()};
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += "x\n";
  greedy.send(many);
  RawClient modest{serving.path()};
  const auto began = std::chrono::steady_clock::now();
  modest.send("mine\n");
  EXPECT_EQ(modest.line(), "<mine>");
  EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds{500});
}

TEST_F(ControlServerTest, RecoversWhenFileDescriptorsRanOut) {
  ControlConfig quick = config();
  quick.half_line_limit = milliseconds{100};  // the timer that accepts again is half of it
  auto server = ControlServer::listen(quick, echo);
  ASSERT_TRUE(server);
  RawClient client{server->path()};
  client.send("hello\n");
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  server->serve();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(server->clients(), 0U);
  pollfd ready{.fd = server->fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ready, 1, 0), 0) << "it would spin";
  EXPECT_TRUE(eventually(milliseconds{2000}, [&] {
    server->serve();
    return server->clients() == 1;
  }));
  server->serve();
  EXPECT_EQ(client.line(), "<hello>");
}

TEST_F(ControlServerTest, AnIdleServerWakesNobody) {
  auto server = ControlServer::listen(config(), echo);
  ASSERT_TRUE(server);
  {
    const RawClient client{server->path()};
    server->serve();
  }
  ASSERT_TRUE(eventually(milliseconds{1000}, [&] {
    server->serve();
    return server->clients() == 0;
  }));
  pollfd ready{.fd = server->fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ready, 1, 1200), 0) << "the timer still runs";
}

}  // namespace
}  // namespace mqsteer::test
