#include "control/telemetry.h"

#include "handlers/rr/counters.h"
#include "null_box.h"
#include "support/deadline.h"

#include <mqsteer/descriptor.h>

#include <rte_eal.h>

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstring>
#include <future>
#include <nlohmann/json.hpp>

namespace mqsteer::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

constexpr std::size_t kDpdksLimit = 16384;

/// DPDK's answer, as dpdk-telemetry.py gets it.
/// Source: DPDK 22.11 doc/guides/howto/telemetry.rst
std::string ask(const std::string& command) {
  const Descriptor client{socket(AF_UNIX, SOCK_SEQPACKET, 0)};
  const std::string path = std::string{rte_eal_get_runtime_dir()} + "/dpdk_telemetry.v2";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return "";
  std::string reply(2 * kDpdksLimit, '\0');
  if (recv(client.get(), reply.data(), reply.size(), 0) <= 0) return "";  // the greeting
  if (send(client.get(), command.data(), command.size(), 0) <= 0) return "";
  pollfd ready{.fd = client.get(), .events = POLLIN, .revents = 0};
  if (poll(&ready, 1, 5000) != 1) return "no answer";
  const ssize_t length = recv(client.get(), reply.data(), reply.size(), 0);
  reply.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return reply;
}

/// The answer while the control thread, which is this one, serves.
std::string ask_serving(Telemetry& telemetry, const std::string& command) {
  auto reply = std::async(std::launch::async, [&] { return ask(command); });
  const bool done = eventually(milliseconds{8000}, [&] {
    telemetry.serve();
    return reply.wait_for(milliseconds{0}) == std::future_status::ready;
  });
  return done ? reply.get() : "";
}

Json value_of(Telemetry& telemetry, const std::string& command) {
  const Json reply = Json::parse(ask_serving(telemetry, command), nullptr, false);
  const std::string name = command.substr(0, command.find(','));
  return reply.is_object() && reply.contains(name) ? reply[name] : Json("malformed");
}

Telemetry telemetry_of(Snapshot snapshot) {
  return NullBox::need(Telemetry::start([snapshot = std::move(snapshot)] { return snapshot; }));
}

/// As many queues and workers as there can be, all counters as long as they get.
Snapshot largest() {
  Snapshot snapshot;
  PortFigures port{.name = std::string(31, 'n'), .device = std::string(300, 'd')};
  port.counters.rx_bytes = UINT64_MAX;
  for (std::uint16_t i = 0; i < kMaxWorkers; ++i) {
    port.queues.push_back({QueueId{i}, LcoreId{i}, UINT64_MAX, UINT64_MAX});
    WorkerFigures worker{.worker = WorkerId{i}, .lcore = LcoreId{i}, .packets = UINT64_MAX};
    worker.drops.fill(UINT64_MAX);
    for (const std::string_view name : kRrCountNames) worker.handler.push_back({name, UINT64_MAX});
    snapshot.workers.push_back(worker);
  }
  snapshot.ports.push_back(port);
  snapshot.totals.drops.fill(UINT64_MAX);
  return snapshot;
}

TEST(Telemetry, IsListedByDpdk) {
  auto telemetry = telemetry_of({});
  const std::string commands = ask("/");
  EXPECT_THAT(commands, HasSubstr("\"/mqsteer/totals\""));
  EXPECT_THAT(commands, HasSubstr("\"/mqsteer/port\""));
  EXPECT_THAT(commands, HasSubstr("\"/mqsteer/worker\""));
}

TEST(Telemetry, TotalsHaveEveryDropReason) {
  Snapshot snapshot;
  snapshot.totals.rx = 77;
  for (std::size_t i = 0; i < kDropReasons; ++i) snapshot.totals.drops[i] = 10 + i;
  auto telemetry = telemetry_of(snapshot);
  const Json totals = value_of(telemetry, "/mqsteer/totals");
  EXPECT_EQ(totals["rx"], 77);
  for (std::size_t i = 0; i < kDropReasons; ++i) {
    EXPECT_EQ(totals["drops_" + std::string{kDropReasonNames[i]}], 10 + i) << totals;
  }
}

TEST(Telemetry, PortsAndWorkersAreAskedForByNumber) {
  auto telemetry = telemetry_of(largest());
  const Json port = value_of(telemetry, "/mqsteer/port,0");
  EXPECT_EQ(port["rx_bytes"].get<std::uint64_t>(), UINT64_MAX);
  EXPECT_EQ(port["link"], "down");
  EXPECT_EQ(port["queue_lcore"].size(), kMaxWorkers);
  const Json worker = value_of(telemetry, "/mqsteer/worker,127");
  EXPECT_EQ(worker["worker"], 127);
  for (const std::string_view reason : kDropReasonNames) {
    EXPECT_EQ(worker["drops_" + std::string{reason}].get<std::uint64_t>(), UINT64_MAX) << reason;
  }
}

TEST(Telemetry, WorkersHaveTheFiguresOfFlowsOrderAndHandlers) {
  Snapshot snapshot;
  snapshot.balanced = 12;
  snapshot.fragments = {.tracked = 1, .missed = 2, .held = 3};
  snapshot.workers.push_back({.wrong_worker = 4,
                              .handed_over = 5,
                              .taken_over = 6,
                              .originated = 7,
                              .order_checked = 8,
                              .reordered = 9,
                              .order_unjudged = 10,
                              .handler = {{"transactions", 11}}});
  auto telemetry = telemetry_of(snapshot);
  const Json totals = value_of(telemetry, "/mqsteer/totals");
  EXPECT_EQ(totals["balanced"], 12);
  EXPECT_EQ(totals["fragments_tracked"], 1);
  EXPECT_EQ(totals["fragments_missed"], 2);
  EXPECT_EQ(totals["fragments_held"], 3);
  const Json worker = value_of(telemetry, "/mqsteer/worker,0");
  EXPECT_EQ(worker["wrong_worker"], 4);
  EXPECT_EQ(worker["handed_over"], 5);
  EXPECT_EQ(worker["taken_over"], 6);
  EXPECT_EQ(worker["originated"], 7);
  EXPECT_EQ(worker["order_checked"], 8);
  EXPECT_EQ(worker["reordered"], 9);
  EXPECT_EQ(worker["order_unjudged"], 10);
  EXPECT_EQ(worker["handler_transactions"], 11);
}

TEST(Telemetry, LargestRepliesStayWithinDpdksLimit) {
  auto telemetry = telemetry_of(largest());
  for (const char* command : {"/mqsteer/totals", "/mqsteer/port,0", "/mqsteer/worker,0"}) {
    const std::string reply = ask_serving(telemetry, command);
    EXPECT_TRUE(Json::accept(reply)) << reply;
    EXPECT_LT(reply.size(), kDpdksLimit);
  }
}

TEST(Telemetry, WhatIsNotThereIsNull) {
  auto telemetry = telemetry_of(largest());
  for (const char* params : {"", ",", ",1", ",-1", ",x", ",0x0", ",0,1", ",18446744073709551616"}) {
    EXPECT_EQ(value_of(telemetry, std::string{"/mqsteer/port"} + params), Json{}) << params;
  }
  EXPECT_EQ(value_of(telemetry, "/mqsteer/worker,128"), Json{});
}

TEST(Telemetry, TextsThatWouldBreakDpdksJsonAreTamed) {
  Snapshot snapshot;
  snapshot.ports.push_back({.name = "left", .device = "net_pcap0,rx_pcap=\"a\\b\n.pcap"});
  auto telemetry = telemetry_of(snapshot);
  EXPECT_EQ(value_of(telemetry, "/mqsteer/port,0")["device"], "net_pcap0,rx_pcap=?a?b?.pcap");
}

TEST(Telemetry, AControlThreadThatDoesNotServeIsNotWaitedForLong) {
  auto telemetry = telemetry_of({});
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(ask("/mqsteer/totals"), R"({"/mqsteer/totals":null})");
  EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds{3000});
}

TEST(Telemetry, AnswersNullAtOnceWhereTheDaemonHasStopped) {
  { auto telemetry = telemetry_of({}); }
  EXPECT_EQ(ask("/mqsteer/totals"), R"({"/mqsteer/totals":null})");
}

TEST(Telemetry, ThereIsOneInAProcess) {
  auto first = telemetry_of({});
  const auto second = Telemetry::start([] { return Snapshot{}; });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().text(), "telemetry: there is one in this process already");
  const Telemetry moved{std::move(first)};
  EXPECT_GE(moved.fd(), 0);
}

TEST(Telemetry, ShowsTheRunningBox) {
  NullBox box;
  auto telemetry = NullBox::need(Telemetry::start([&box] { return box.runtime->snapshot(); }));
  EXPECT_TRUE(eventually(milliseconds{5000}, [&] {
    return value_of(telemetry, "/mqsteer/totals")["rx"].get<std::uint64_t>() > 1000;
  }));
  EXPECT_EQ(value_of(telemetry, "/mqsteer/port,1")["name"], "right");
}

}  // namespace
}  // namespace mqsteer::test
