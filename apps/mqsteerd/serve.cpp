// The control thread's loop.

#include "config/changes.h"
#include "config/validate.h"
#include "control/commands.h"
#include "control/control_server.h"
#include "control/runtime_target.h"
#include "control/telemetry.h"
#include "daemon.h"

#include <mqsteer/descriptor.h>
#include <mqsteer/log.h>

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace mqsteer {
namespace {

constexpr long kTickNs = 100'000'000;    ///< links are read ten times a second
constexpr unsigned kTicksPerWatch = 10;  ///< lcores are looked at once a second

Descriptor signal_descriptor() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
  return Descriptor{::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
}

/// A timer that runs out every so often; 0: never, until set_timer().
void set_timer(const Descriptor& timer, long ns) {
  const itimerspec every{{0, ns}, {0, ns}};
  ::timerfd_settime(timer.get(), 0, &every, nullptr);
}

Descriptor timer_descriptor(long ns) {
  Descriptor timer{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
  set_timer(timer, ns);
  return timer;
}

/// Whether the timer has run out since the last call.
bool ran_out(const Descriptor& timer) {
  std::uint64_t times = 0;
  return ::read(timer.get(), &times, sizeof times) == sizeof times;
}

/// Holds the balancer's rounds while there is something to balance; a timer that runs all the time
/// would wake an idle box for nothing.
class BalanceTimer {
 public:
  [[nodiscard]] int fd() const noexcept { return timer_.get(); }
  void serve(Runtime& runtime) {
    if (runtime.balances() != running_) {
      running_ = !running_;
      set_timer(timer_, running_ ? static_cast<long>(Runtime::kBalanceEvery.count()) : 0);
    }
    if (ran_out(timer_)) runtime.balance();
  }

 private:
  Descriptor timer_ = timer_descriptor(0);
  bool running_ = false;
};

/// Reads the configuration again, applies what can change live, and names what cannot.
void reload(Runtime& runtime, const Options& options) {
  const auto wanted = load(options);
  if (!wanted) {
    log_line(LogLevel::kError, "reload: " + wanted.error().text() + "; nothing was changed");
    return;
  }
  const SplitChanges changes = split_changes(runtime.config(), wanted->config);
  for (const ConfigChange& change : changes.restart) {
    log_line(LogLevel::kWarning, "reload: " + change.text() + ": takes effect after a restart");
  }
  if (auto set = runtime.set_steering(changes.applied.steering); !set) {
    log_line(LogLevel::kError, "reload: " + set.error().text());
    return;
  }
  runtime.set_idle(changes.applied.idle, changes.applied.idle_max_sleep_us);
  for (const ConfigChange& change : changes.live) {
    log_line(LogLevel::kNotice, "reload: " + change.text());
  }
  log_line(LogLevel::kNotice, "reload: done, " + std::to_string(changes.live.size()) +
                                  " changes applied, " + std::to_string(changes.restart.size()) +
                                  " wait for a restart");
}

/// Says once when an lcore stops turning, and once when it turns again.
class Watchdog {
 public:
  Watchdog(const Plan& plan, const std::string& instance)
      : plan_{plan},
        control_{instance == Config{}.instance ? "mqsteerctl" : "mqsteerctl -i " + instance},
        stalled_(plan.lcores.size()) {}

  void look(const std::vector<std::size_t>& stalled) {
    std::vector<bool> now(stalled_.size());
    for (const std::size_t index : stalled) now[index] = true;
    for (std::size_t i = 0; i < now.size(); ++i) {
      const std::string name = "worker " + std::to_string(plan_.lcores[i].worker.value()) +
                               " (lcore " + std::to_string(plan_.lcores[i].lcore.value()) + ")";
      if (now[i] && !stalled_[i]) {
        log_line(LogLevel::kError, name + " has not turned for a second; " + control_ +
                                       " worker abandon worker=" + std::to_string(i) +
                                       " relieves it");
      } else if (!now[i] && stalled_[i]) {
        log_line(LogLevel::kNotice, name + " turns again");
      }
    }
    stalled_ = now;
  }

 private:
  const Plan& plan_;
  std::string control_;  ///< the command that reaches this instance
  std::vector<bool> stalled_;
};

/// Whether a signal asks for the end; SIGHUP is acted upon.
bool stop_asked(const Descriptor& signals, Runtime& runtime, const Options& options) {
  signalfd_siginfo info;
  while (::read(signals.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGHUP) return true;
    reload(runtime, options);
  }
  return false;
}

void watch_links(Runtime& runtime) {
  for (const std::string& change : runtime.poll_links()) {
    log_line(LogLevel::kNotice, change);
  }
}

}  // namespace

Expected<void> serve(Runtime& runtime, const Options& options) {
  const auto read_file = [&options]() -> Expected<Config> {
    auto loaded = load(options);
    if (!loaded) return tl::unexpected(loaded.error());
    return loaded->config;
  };
  RuntimeTarget target{
      runtime,
      {.version = MQSTEER_VERSION, .config_path = options.config_path, .read_file = read_file}};
  auto server = ControlServer::listen({.instance = runtime.config().instance},
                                      [&](std::string_view line) { return answer(target, line); });
  if (!server) return tl::unexpected(server.error());
  auto telemetry = Telemetry::start([&runtime] { return runtime.snapshot(); });
  if (!telemetry) return tl::unexpected(telemetry.error());

  const Descriptor signals = signal_descriptor();
  const Descriptor ticks = timer_descriptor(kTickNs);
  BalanceTimer balance;
  const Descriptor poll{::epoll_create1(EPOLL_CLOEXEC)};
  for (const int fd : {signals.get(), ticks.get(), balance.fd(), server->fd(), telemetry->fd()}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    if (::epoll_ctl(poll.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      return fail(errno, "watching the control thread's descriptors");
    }
  }
  log_line(LogLevel::kNotice, "ready: control socket " + server->path());
  Watchdog watchdog{runtime.plan(), runtime.config().instance};
  for (unsigned tick = 0;;) {
    balance.serve(runtime);
    std::array<epoll_event, 5> events;
    const int count = ::epoll_wait(poll.get(), events.data(), events.size(), -1);
    if (count < 0 && errno != EINTR) return fail(errno, "waiting for work on the control thread");
    if (stop_asked(signals, runtime, options)) return {};
    server->serve();
    telemetry->serve();
    if (!ran_out(ticks)) continue;
    watch_links(runtime);
    if (++tick % kTicksPerWatch == 0) watchdog.look(runtime.stalled_lcores());
  }
}

}  // namespace mqsteer
