#include "mqrr/client.h"

#include "mqrr/client_thread.h"
#include "mqrr/report.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

namespace mqsteer::rr_kernel {
namespace {

std::uint64_t ns_of(double seconds) {
  return static_cast<std::uint64_t>(seconds * 1e9);
}

/// The threads of a run, from the first connection to the last response.
class Threads {
 public:
  explicit Threads(const ClientConfig& config) : config_{config} {
    config_.threads = std::min(config.threads, config.connections);
    run_.config = &config_;
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  Threads(Threads&&) = delete;
  Threads& operator=(Threads&&) = delete;
  ~Threads() { join(); }

  void start() {
    for (unsigned i = 0; i < config_.threads; ++i) {
      const unsigned share = config_.connections / config_.threads +
                             (i < config_.connections % config_.threads ? 1 : 0);
      workers_.push_back(std::make_unique<ClientThread>(run_, share));
    }
    for (auto& worker : workers_) {
      threads_.emplace_back([this, &worker] {
        worker->loop();
        ended_.fetch_add(1, std::memory_order_release);
      });
    }
  }

  /// errors: not all connections came about
  Expected<void> wait_connected() {
    const std::uint64_t limit = now_ns() + ns_of(config_.connect_s);
    while (run_.connected.load(std::memory_order_relaxed) < config_.connections) {
      if (ended() != 0 || interrupted() || now_ns() > limit) break;
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    const unsigned connected = run_.connected.load(std::memory_order_relaxed);
    if (connected == config_.connections) return {};
    join();
    if (auto opened = check_opened(); !opened) return opened;
    if (interrupted()) return fail("interrupted before all connections were open");
    return fail(std::to_string(connected) + " of " + std::to_string(config_.connections) +
                " connections to " + config_.server.text() + " came about in " +
                seconds_text(config_.connect_s) + "; does the server answer? (ping, --connect)");
  }

  /// Once the threads have ended. errors: a connection was turned away, perhaps after it counted as
  /// open, and before its first request
  [[nodiscard]] Expected<void> check_opened() const {
    for (const auto& worker : workers_) {
      if (!worker->failure.empty()) return fail(worker->failure);
    }
    return {};
  }

  /// returns: why it ended early; empty: it did not
  std::string measure() {
    const std::uint64_t from = now_ns() + ns_of(config_.warmup_s);
    const std::uint64_t to = from + ns_of(config_.duration_s);
    run_.heard.store(now_ns(), std::memory_order_relaxed);
    run_.measure_to.store(to, std::memory_order_relaxed);
    run_.measure_from.store(from, std::memory_order_release);
    std::string trouble;
    std::uint64_t now = now_ns();
    for (; now < to && ended() < config_.threads; now = now_ns()) {
      if (interrupted()) {
        trouble = "interrupted";
        break;
      }
      if (now - std::min(now, run_.heard.load(std::memory_order_relaxed)) >
          ns_of(config_.stall_s)) {
        run_.stalled = true;
        trouble = "no response on any connection for " + seconds_text(config_.stall_s) +
                  "; the server or the way to it has stalled";
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    seconds_ = now <= from ? 0 : static_cast<double>(std::min(now, to) - from) / 1e9;
    join();
    return trouble;
  }

  ClientResult result(std::string trouble) {
    ClientResult result{.seconds = seconds_, .trouble = std::move(trouble)};
    std::string why;
    for (const auto& worker : workers_) {
      result.latency.merge(worker->latency);
      result.transactions += worker->transactions;
      result.lost += worker->lost;
      result.wrong += worker->wrong;
      result.silent += worker->silent;
      if (why.empty()) why = worker->lost_why;
      if (worker->series.size() > result.series.size()) result.series.resize(worker->series.size());
      for (std::size_t i = 0; i < worker->series.size(); ++i) result.series[i] += worker->series[i];
    }
    if (result.trouble.empty() && result.lost != 0) {
      result.trouble = std::to_string(result.lost) + " of " + std::to_string(config_.connections) +
                       " connections were lost (" + why + ")";
    }
    if (result.trouble.empty() && result.silent != 0) {
      result.trouble = std::to_string(result.silent) + " of " +
                       std::to_string(config_.connections) + " connections had no response for " +
                       seconds_text(config_.stall_s);
    }
    return result;
  }

 private:
  [[nodiscard]] bool interrupted() const {
    return config_.end_now != nullptr && config_.end_now->load(std::memory_order_relaxed);
  }
  [[nodiscard]] unsigned ended() const { return ended_.load(std::memory_order_acquire); }
  void join() {
    run_.stop.store(true, std::memory_order_seq_cst);
    for (const auto& worker : workers_) worker->wake();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  ClientConfig config_;
  Run run_;
  std::vector<std::unique_ptr<ClientThread>> workers_;
  std::vector<std::thread> threads_;
  std::atomic<unsigned> ended_{0};
  double seconds_ = 0;
};

}  // namespace

Expected<ClientResult> run_client(const ClientConfig& config) {
  constexpr std::uint64_t kOtherDescriptors = 64;  // beside an epoll instance a thread
  const std::uint64_t needed =
      kOtherDescriptors + config.connections + std::min(config.threads, config.connections);
  if (auto allowed = allow_descriptors(needed); !allowed) {
    return tl::unexpected(allowed.error());
  }
  Threads threads{config};
  threads.start();
  if (auto connected = threads.wait_connected(); !connected) {
    return tl::unexpected(connected.error());
  }
  if (config.on_open) config.on_open();
  std::string trouble = threads.measure();
  if (auto opened = threads.check_opened(); !opened) return tl::unexpected(opened.error());
  return threads.result(std::move(trouble));
}

}  // namespace mqsteer::rr_kernel
