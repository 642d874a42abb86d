// Clients and servers on loopback.

#include "mqrr/client.h"
#include "mqrr/report.h"
#include "mqrr/server.h"

#include <gmock/gmock.h>

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

TEST(Mqrr, EveryConnectionGetsItsResponsesInBothFamilies) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    const auto server = server_on(address);
    for (const unsigned connections : {2U, 50U, 1000U}) {
      const auto result = run_client(client_of(address, server->port(), connections));
      ASSERT_TRUE(result) << result.error().text();
      EXPECT_EQ(result->trouble, "") << address << ", " << connections;
      EXPECT_GT(result->transactions, 0U);
      EXPECT_EQ(result->latency.count(), result->transactions);
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
  std::thread killer{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{300});
    server.reset();
  }};
  const auto result = run_client(config);
  killer.join();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->lost, 8U);
  EXPECT_THAT(result->trouble, HasSubstr("8 of 8 connections were lost"));
  EXPECT_GT(result->transactions, 0U);
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
}

TEST(Mqrr, AServerThatSaysNothingIsAStall) {
  auto silent = tcp_socket(AF_INET);  // accepts in the kernel and never reads
  ASSERT_TRUE(silent);
  const auto any = parse_endpoint("127.0.0.1", 0);
  ASSERT_EQ(::bind(silent->get(), any->raw(), any->bytes), 0);
  ASSERT_EQ(::listen(silent->get(), 8), 0);
  Endpoint at;
  at.bytes = sizeof at.address;
  ::getsockname(silent->get(), reinterpret_cast<sockaddr*>(&at.address), &at.bytes);
  ClientConfig config = client_of("127.0.0.1", 1, 2);
  config.server = at;
  config.stall_s = 0.3;
  config.duration_s = 10;
  const auto result = run_client(config);
  ASSERT_TRUE(result);
  EXPECT_THAT(result->trouble, HasSubstr("no response on any connection for 0.3 s"));
  EXPECT_EQ(result->transactions, 0U);
}

TEST(Mqrr, MoreConnectionsThanDescriptorsAreRefusedWithTheLimit) {
  const auto result = run_client(client_of("127.0.0.1", 1, 1'000'000'000));
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().text(), HasSubstr("file descriptors: 1000000064 are needed"));
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
