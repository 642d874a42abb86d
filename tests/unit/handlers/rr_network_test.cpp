// Thousands of clients over a network that loses, repeats and swaps packets, in simulated time: all
// that is sent comes back in order, and nothing is left in the end.

#include "model_client.h"
#include "rr_box.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace mqsteer::test {
namespace {

struct Weather {
  double loss = 0;
  double repeat = 0;
  std::uint64_t most_delay_ms = 1;
  double astray = 0;  ///< packets that steering brings to another worker than usual
};

RrSettings settings_for_many() {
  auto settings = box_settings();
  settings.connections = 400;
  settings.idle_timeout_s = 120;
  return settings;
}

unsigned seed_of_run() {
  const char* given = std::getenv("MQSTEER_TEST_SEED");
  return given != nullptr ? static_cast<unsigned>(std::stoul(given)) : std::random_device{}();
}

class Network {
 public:
  Network(const Weather& weather, unsigned seed, std::uint16_t workers)
      : box{settings_for_many(), workers}, weather_{weather}, random_{seed} {
    for (auto& outbox : box.outboxes) {
      for (std::uint16_t i = 0; i < workers; ++i) outbox->owners.emplace_back(i);
    }
  }

  void add(ModelClient::Plan plan) {
    const std::uint16_t port = plan.port;
    const auto send = [this](const Tcp& tcp) { carry(frame_of(tcp), true); };
    auto [at, fresh] =
        clients_.emplace(port, ModelClient{plan, static_cast<std::uint32_t>(random_()), send});
    if (!fresh) throw std::logic_error{"a port is used twice at once"};
    at->second.start(ms_);
  }

  /// Runs until all clients have finished, however long that takes: thousands of round trips, each
  /// with its losses and timeouts. returns: false where for `limit_ms` nobody gets a byte or ends
  bool run(std::uint64_t limit_ms) {
    for (progress_at_ = ms_; ms_ < progress_at_ + limit_ms;) {
      step();
      if (clients_.empty() && under_way_.empty()) return true;
    }
    return false;
  }
  void step() {
    ++ms_;
    box.pass(1);
    take_sent();
    for (auto first = under_way_.begin(); first != under_way_.end() && first->first <= ms_;) {
      const Way way = std::move(first->second);
      first = under_way_.erase(first);
      way.to_server ? box.receive(way.frame, worker_of(way.frame)) : to_client(way.frame);
      take_sent();
    }
    if (ms_ % 10 == 0) tick_clients();
  }
  [[nodiscard]] std::size_t running() const { return clients_.size(); }
  std::mt19937& random() { return random_; }
  [[nodiscard]] bool is_used(std::uint16_t port) const { return clients_.contains(port); }

  RrBox box;
  std::uint64_t done = 0, vanished = 0, bytes = 0;
  std::vector<std::string> faults;

 private:
  struct Way {
    Bytes frame;
    bool to_server;
  };

  void carry(const Bytes& frame, bool to_server) {
    std::uniform_real_distribution<> chance;
    if (chance(random_) < weather_.loss) return;
    const int copies = chance(random_) < weather_.repeat ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      under_way_.emplace(ms_ + 1 + random_() % weather_.most_delay_ms, Way{frame, to_server});
    }
  }
  void take_sent() {
    while (auto frame = box.frame()) carry(*frame, false);
  }
  std::size_t worker_of(const Bytes& frame) {
    std::uniform_real_distribution<> chance;
    const std::size_t usual = (frame[frame[12] == 8 ? 35 : 55] / 7U) % box.outboxes.size();
    return chance(random_) < weather_.astray ? random_() % box.outboxes.size() : usual;
  }
  void to_client(const Bytes& frame) {
    const auto tcp = read_tcp(frame);
    ASSERT_TRUE(tcp) << "a frame with something wrong in it";
    const auto at = clients_.find(tcp->client_port);
    if (at == clients_.end() || at->second.plan().v6 != tcp->v6) return answer_for_nobody(*tcp);
    const std::uint32_t before = at->second.echoed();
    at->second.receive(*tcp, ms_, random_);
    if (at->second.echoed() != before) progress_at_ = ms_;
    end_if_over(at);
  }
  void answer_for_nobody(const Tcp& tcp) {
    if ((tcp.flags & RST) != 0 || silent_.contains(tcp.client_port)) return;
    Tcp rst = tcp;
    rst.flags = RST;
    rst.seq = tcp.ack;
    rst.options.clear();
    rst.text.clear();
    carry(frame_of(rst), true);
  }
  void tick_clients() {
    for (auto at = clients_.begin(); at != clients_.end();) {
      const auto next = std::next(at);
      at->second.tick(ms_, random_);
      end_if_over(at);
      at = next;
    }
  }
  void end_if_over(std::map<std::uint16_t, ModelClient>::iterator at) {
    const ModelClient& client = at->second;
    if (client.state() == ModelClient::State::kFailed) faults.push_back(client.fault());
    const bool over = client.state() == ModelClient::State::kGone ||
                      client.state() == ModelClient::State::kFailed;
    if (!over) return;
    progress_at_ = ms_;
    const bool vanishes =
        client.plan().vanish_at != ~0U && client.echoed() >= client.plan().vanish_at;
    if (vanishes) silent_[at->first] = true;
    vanished += vanishes;
    ++done;
    bytes += client.echoed();
    clients_.erase(at);
  }

  Weather weather_;
  std::mt19937 random_;
  std::uint64_t ms_ = 0;
  std::uint64_t progress_at_ = 0;
  std::multimap<std::uint64_t, Way> under_way_;
  std::map<std::uint16_t, ModelClient> clients_;
  std::map<std::uint16_t, bool> silent_;  ///< ports behind which nobody answers any more
};

ModelClient::Plan any_plan(std::mt19937& random, std::uint16_t port) {
  const auto below = [&random](unsigned limit) { return static_cast<unsigned>(random()) % limit; };
  ModelClient::Plan plan{.v6 = below(4) == 0, .port = port};
  const bool one_at_a_time = below(2) == 0;
  plan.bytes = 1 + below(one_at_a_time || below(3) != 0 ? 40 : 10000);
  plan.ahead = one_at_a_time ? 1 : 1 + below(8000);
  plan.most = static_cast<std::uint16_t>(below(2) == 0 ? 1440 : 64 + below(1000));
  plan.window = static_cast<std::uint16_t>(below(4) == 0 ? 1 + below(200) : 0xffff);
  plan.half_close = below(2) == 0;
  if (below(25) == 0) plan.vanish_at = 1 + below(plan.bytes);
  if (below(25) == 0) plan.abort_at = 1 + below(plan.bytes);
  return plan;
}

/// total clients, at most `at_once` of them at the same time; their ports are used again.
void run_many(Network& network, int total, std::size_t at_once) {
  std::uint16_t port = 1000;
  for (int started = 0, steps = 0; started < total && steps < 2'000'000; ++steps) {
    if (network.running() < at_once) {
      port = static_cast<std::uint16_t>(port == 1999 ? 1000 : port + 1);
      if (!network.is_used(port)) network.add(any_plan(network.random(), port)), ++started;
    }
    if (network.running() == at_once || steps % 2 == 0) network.step();
  }
  EXPECT_TRUE(network.run(300'000)) << network.running() << " clients do not come to an end";
}

void expect_nothing_left(Network& network) {
  for (int i = 0; i < 400'000 && network.box.connections() > 0; ++i) network.step();
  EXPECT_EQ(network.box.connections(), 0U);
  EXPECT_EQ(network.box.shared.owners().count(), 0U);
  for (std::size_t worker = 0; worker < network.box.handlers.size(); ++worker) {
    EXPECT_EQ(network.box.engine(worker).echoes().free_buffers(), settings_for_many().buffers());
    EXPECT_EQ(network.box.engine(worker).table().size(), 0U);
  }
  const RrBox& box = network.box;
  EXPECT_EQ(box.count(RrCount::kConnectionsOpened), box.count(RrCount::kConnectionsClosed) +
                                                        box.count(RrCount::kConnectionsReset) +
                                                        box.count(RrCount::kConnectionsTimedOut));
}

TEST(RrNetwork, FairWeather) {
  const unsigned seed = seed_of_run();
  SCOPED_TRACE("MQSTEER_TEST_SEED=" + std::to_string(seed));
  Network network{{}, seed, 2};
  run_many(network, 2000, 300);
  expect_nothing_left(network);
  EXPECT_EQ(network.done, 2000U);
  EXPECT_TRUE(network.faults.empty()) << network.faults.size() << ", first: " << network.faults[0];
  EXPECT_EQ(network.box.count(RrCount::kOutOfOrder), 0U);
}

TEST(RrNetwork, LossRepetitionAndDisorder) {
  const unsigned seed = seed_of_run();
  SCOPED_TRACE("MQSTEER_TEST_SEED=" + std::to_string(seed));
  Network network{{.loss = 0.05, .repeat = 0.05, .most_delay_ms = 20, .astray = 0.2}, seed, 3};
  run_many(network, 2000, 300);
  expect_nothing_left(network);
  EXPECT_EQ(network.done, 2000U);
  EXPECT_TRUE(network.faults.empty()) << network.faults.size() << ", first: " << network.faults[0];
  EXPECT_GT(network.vanished, 0U);
  EXPECT_GT(network.box.count(RrCount::kRetransmits), 100U);
  EXPECT_GT(network.box.count(RrCount::kOutOfOrder), 100U);
  EXPECT_GT(network.box.count(RrCount::kOldDuplicates), 100U);
}

TEST(RrNetwork, EveryThirdPacketLost) {
  const unsigned seed = seed_of_run();
  SCOPED_TRACE("MQSTEER_TEST_SEED=" + std::to_string(seed));
  Network network{{.loss = 0.33, .most_delay_ms = 5}, seed, 2};
  run_many(network, 300, 100);
  expect_nothing_left(network);
  EXPECT_EQ(network.done, 300U);
  for (const std::string& fault : network.faults) {
    EXPECT_EQ(fault, "reset") << "given up after too many losses, or nothing";
  }
}

}  // namespace
}  // namespace mqsteer::test
