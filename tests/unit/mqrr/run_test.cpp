// Clients and servers on loopback.

#include "mqrr/client.h"
#include "mqrr/client_thread.h"
#include "mqrr/report.h"
#include "mqrr/server.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

namespace mqsteer::rr_kernel {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Server> server_on(const std::string& address) {
  auto server = Server::start({.listen = *parse_endpoint(address, 0), .threads = 2});
  if (!server) throw std::runtime_error(server.error().text());
  return std::move(*server);
}

ClientConfig client_of(const std::string& address, std::uint16_t port, unsigned connections) {
  return {.server = *parse_endpoint(address, port),
          .connections = connections,
          .threads = 2,
          .duration_s = 0.3,
          .warmup_s = 0.05};
}

template <class Condition>
void wait_until(const Condition& condition) {
  const std::uint64_t limit = now_ns() + 10'000'000'000U;
  while (!condition() && now_ns() < limit) std::this_thread::yield();
}

/// A server that may do anything with each byte it gets. One thread, until destroyed.
class OddServer {
 public:
  explicit OddServer(std::function<void(int fd, char byte)> answer)
      : answer_{std::move(answer)}, listener_{::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)} {
    const auto any = parse_endpoint("127.0.0.1", 0);
    at_.bytes = sizeof at_.address;
    if (::bind(listener_.get(), any->raw(), any->bytes) != 0 || ::listen(listener_.get(), 8) != 0 ||
        ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at_.address), &at_.bytes) !=
            0) {
      throw std::runtime_error("no listener on loopback");
    }
    thread_ = std::thread{[this] { loop(); }};
  }
  OddServer(const OddServer&) = delete;
  OddServer& operator=(const OddServer&) = delete;
  OddServer(OddServer&&) = delete;
  OddServer& operator=(OddServer&&) = delete;
  ~OddServer() {
    stop_ = true;
    thread_.join();
  }
  [[nodiscard]] const Endpoint& at() const { return at_; }

 private:
  void loop() {
    std::vector<Descriptor> clients;
    while (!stop_) {
      Descriptor client{::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK)};
      if (client.valid()) clients.push_back(std::move(client));
      for (const Descriptor& each : clients) {
        char byte = 0;
        if (::recv(each.get(), &byte, 1, 0) == 1) answer_(each.get(), byte);
      }
    }
  }

  std::function<void(int, char)> answer_;
  Descriptor listener_;
  Endpoint at_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST(Mqrr, EveryConnectionGetsItsResponsesInBothFamilies) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    const auto server = server_on(address);
    for (const unsigned connections : {2U, 50U, 1000U}) {
      const auto result = run_client(client_of(address, server->port(), connections));
      ASSERT_TRUE(result) << result.error().text();
      EXPECT_EQ(result->trouble, "") << address << ", " << connections;
      EXPECT_GT(result->transactions, 0U);
      EXPECT_LE(result->latency.count(), result->transactions);
      EXPECT_GE(result->latency.count() + connections, result->transactions);
      EXPECT_EQ(std::accumulate(result->series.begin(), result->series.end(), std::uint64_t{0}),
                result->transactions);
    }
    EXPECT_EQ(server->figures().connections, 1052U);
  }
}

TEST(Mqrr, RequestsLargerThanASocketBufferComeBackWhole) {
  const auto server = server_on("127.0.0.1");
  ClientConfig config = client_of("127.0.0.1", server->port(), 4);
  config.size = 1'000'000;
  const auto result = run_client(config);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->trouble, "");
  EXPECT_GT(result->transactions, 0U);
  EXPECT_GE(server->figures().bytes, result->transactions * config.size);
}

TEST(Mqrr, AServerThatDiesIsReportedWithWhatWasMeasured) {
  auto server = server_on("127.0.0.1");
  ClientConfig config = client_of("127.0.0.1", server->port(), 8);
  config.duration_s = 5;
  config.warmup_s = 0;
  std::thread killer{[&] {
    wait_until([&] { return server->figures().bytes > 1000; });
    server.reset();
  }};
  const auto result = run_client(config);
  killer.join();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->lost, 8U);
  EXPECT_THAT(result->trouble, HasSubstr("8 of 8 connections were lost"));
  EXPECT_EQ(result->wrong, 0U);
  EXPECT_LT(result->seconds, 4.0) << "the rest is not waited for";
}

TEST(Mqrr, APortWhereNobodyListensIsRefusedWithAHint) {
  std::uint16_t port = 0;
  {
    const auto server = server_on("127.0.0.1");
    port = server->port();
  }
  const auto result = run_client(client_of("127.0.0.1", port, 1));
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().text(), HasSubstr("is a server listening there?"));
  EXPECT_THAT(result.error().text(), HasSubstr("rr.connections")) << "a full rr box says the same";
}

TEST(Mqrr, AConnectionThatIsResetWhileItSendsIsLostOnce) {
  const OddServer server{[](int fd, char) {  // sends a reset
    const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
    ::connect(fd, &nobody, sizeof nobody);
  }};
  ClientConfig config = client_of("127.0.0.1", 1, 8);
  config.server = server.at();
  config.size = 1U << 20U;  // more than the sockets hold: it waits to send the rest
  config.duration_s = 10;
  const auto result = run_client(config);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->lost, 8U);
  EXPECT_THAT(result->trouble, HasSubstr("8 of 8 connections were lost"));
}

TEST(Mqrr, AResponseThatBeganInTheWarmUpIsATransactionWithoutALatency) {
  std::atomic<std::uint64_t> answers_from{0};
  const OddServer server{[&](int fd, char byte) {
    if (now_ns() > answers_from + 200'000'000) return;  // the second requests
    wait_until([&] { return now_ns() > answers_from; });
    ::send(fd, &byte, 1, MSG_NOSIGNAL);
  }};
  ClientConfig config = client_of("127.0.0.1", 1, 6);
  config.server = server.at();
  config.warmup_s = 0.3;
  config.duration_s = 1.5;
  config.on_open = [&] { answers_from = now_ns() + 500'000'000; };
  const auto result = run_client(config);
  ASSERT_TRUE(result);
  EXPECT_GE(result->transactions, 6U);
  EXPECT_EQ(result->latency.count() + 6, result->transactions);
  EXPECT_EQ(std::accumulate(result->series.begin(), result->series.end(), std::uint64_t{0}),
            result->transactions);
}

TEST(Mqrr, AServerThatSaysNothingIsAStall) {
  const OddServer silent{[](int, char) {}};
  ClientConfig config = client_of("127.0.0.1", 1, 2);
  config.server = silent.at();
  config.stall_s = 0.3;
  config.duration_s = 10;
  const auto result = run_client(config);
  ASSERT_TRUE(result);
  EXPECT_THAT(result->trouble, HasSubstr("no response on any connection for 0.3 s"));
  EXPECT_EQ(result->silent, 2U);
  EXPECT_EQ(result->transactions, 0U);
}

TEST(Mqrr, AnOnlyConnectionIsMeasuredStalledAndLostLikeMany) {
  auto server = server_on("127.0.0.1");
  ClientConfig config = client_of("127.0.0.1", server->port(), 1);
  config.threads = 1;
  const auto good = run_client(config);
  ASSERT_TRUE(good);
  EXPECT_EQ(good->trouble, "");
  EXPECT_GT(good->transactions, 100U);

  const std::uint64_t before = server->figures().bytes;
  std::thread killer{[&] {
    wait_until([&] { return server->figures().bytes > before + 1000; });
    server.reset();
  }};
  config.duration_s = 20;
  const auto killed = run_client(config);
  killer.join();
  ASSERT_TRUE(killed);
  EXPECT_THAT(killed->trouble, HasSubstr("1 of 1 connections were lost"));

  const OddServer silent{[](int, char) {}};
  config.server = silent.at();
  config.stall_s = 0.2;
  const auto stalled = run_client(config);
  ASSERT_TRUE(stalled);
  EXPECT_EQ(stalled->silent, 1U);
  EXPECT_LT(stalled->seconds, 10);
}

TEST(Mqrr, OneConnectionThatFallsSilentIsCountedAndTheOthersGoOn) {
  std::atomic<int> deaf{-1};  // the first connection heard of
  const OddServer server{[&](int fd, char byte) {
    int none = -1;
    deaf.compare_exchange_strong(none, fd);
    if (fd != deaf) ::send(fd, &byte, 1, MSG_NOSIGNAL);
  }};
  ClientConfig config = client_of("127.0.0.1", 1, 3);
  config.server = server.at();
  config.stall_s = 0.2;
  config.duration_s = 0.4;
  const auto result = run_client(config);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->trouble, "1 of 3 connections had no response for 0.2 s");
  EXPECT_GT(result->transactions, 10U);
}

TEST(Mqrr, OtherBytesThanTheRequestsCostTheConnection) {
  const OddServer server{[](int fd, char byte) {
    const char other = static_cast<char>(byte ^ 0x40);
    ::send(fd, &other, 1, MSG_NOSIGNAL);
  }};
  ClientConfig config = client_of("127.0.0.1", 1, 5);
  config.server = server.at();
  const auto result = run_client(config);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->wrong, 5U);
  EXPECT_THAT(result->trouble, HasSubstr("5 of 5 connections were lost (the response had other"));
  EXPECT_EQ(result->transactions, 0U);
}

TEST(Mqrr, AResponseThatIsTooLongCostsTheConnection) {
  const OddServer server{[](int fd, char byte) {
    const std::array<char, 2> twice{byte, byte};
    ::send(fd, twice.data(), twice.size(), MSG_NOSIGNAL);
  }};
  ClientConfig config = client_of("127.0.0.1", 1, 2);
  config.server = server.at();
  const auto result = run_client(config);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->wrong, 2U);
}

TEST(Mqrr, EndedFromOutsideItHasWhatWasMeasured) {
  const auto server = server_on("127.0.0.1");
  std::atomic<bool> end_now{false};
  ClientConfig config = client_of("127.0.0.1", server->port(), 4);
  config.warmup_s = 0;
  config.duration_s = 60;
  config.end_now = &end_now;
  std::thread ender{[&] {
    wait_until([&] { return server->figures().bytes > 1000; });
    end_now = true;
  }};
  const auto result = run_client(config);
  ender.join();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->trouble, "interrupted");
  EXPECT_GT(result->transactions, 500U);
  EXPECT_LT(result->seconds, 30);
}

TEST(Mqrr, WhatIsBeyondAHalfCloseIsStillEchoed) {
  const auto server = server_on("127.0.0.1");
  Descriptor client{::socket(AF_INET, SOCK_STREAM, 0)};
  const Endpoint at = *parse_endpoint("127.0.0.1", server->port());
  ASSERT_EQ(::connect(client.get(), at.raw(), at.bytes), 0);
  const timeval patience{10, 0};
  ::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const std::string sent(100'000, 'x');
  ASSERT_EQ(::send(client.get(), sent.data(), sent.size(), 0), static_cast<ssize_t>(sent.size()));
  ASSERT_EQ(::shutdown(client.get(), SHUT_WR), 0);
  std::string got(2 * sent.size(), ' ');
  const ssize_t count = ::recv(client.get(), got.data(), got.size(), MSG_WAITALL);
  got.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  EXPECT_EQ(got, sent) << "whole, and then the end";
}

TEST(Mqrr, MoreConnectionsThanDescriptorsAreRefusedWithTheLimit) {
  const auto result = run_client(client_of("127.0.0.1", 1, 1'000'000'000));
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().text(), HasSubstr("file descriptors: 1000000066 are needed"));
}

TEST(Mqrr, EveryThreadNeedsADescriptorOfItsOwn) {
  ClientConfig config = client_of("127.0.0.1", 1, 1'000'000'000);
  config.threads = 200;
  const auto result = run_client(config);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().text(), HasSubstr("1000000264 are needed"));
}

TEST(Mqrr, AThreadWithoutADescriptorForEpollSaysSo) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const ClientConfig config = client_of("127.0.0.1", 1, 1);
  rr_kernel::Run run;
  run.config = &config;
  const ClientThread thread{run, 1};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(thread.failure, "opening an epoll instance: Too many open files");
}

TEST(Mqrr, APortThatAnotherServerHasIsRefused) {
  const auto server = server_on("127.0.0.1");
  const auto second = Server::start({.listen = *parse_endpoint("127.0.0.1", server->port())});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().text(), HasSubstr("another program has this port"));
}

TEST(Mqrr, JsonHasEveryFigureOnOneLine) {
  ClientConfig config = client_of("::1", 7, 3);
  ClientResult result{.seconds = 2, .transactions = 10, .series = {4, 6}, .trouble = "x"};
  for (int i = 1; i <= 10; ++i) result.latency.add(static_cast<std::uint64_t>(i) * 100'000);
  const std::string line = json_report(config, result);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json.at("server"), "[::1]:7");
  EXPECT_EQ(json.at("tps"), 5.0);
  EXPECT_NEAR(json.at("latency_us").at("p50").get<double>(), 500, 5);
  EXPECT_EQ(json.at("latency_us").at("max"), 1000.0);
  EXPECT_EQ(json.at("series"), (nlohmann::json{4, 6}));
  EXPECT_EQ(json.at("trouble"), "x");
}

}  // namespace
}  // namespace mqsteer::rr_kernel
