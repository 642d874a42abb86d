#include "top.h"

#include "config/words.h"
#include "control/rates.h"
#include "control/request.h"
#include "output.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace mqsteer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kLeastIntervalMs = 100;
/// Well within the silence that the daemon bears (ControlConfig::silence_limit).
constexpr std::uint64_t kMostIntervalMs = 60'000;
constexpr std::uint64_t kDefaultIntervalMs = 1000;

volatile sig_atomic_t g_interrupted = 0;

/// Without SA_RESTART, so that the wait for the next table ends at once.
void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_interrupted = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

struct Range {
  const char* key;
  std::uint64_t least;
  std::uint64_t most;
};

Expected<std::uint64_t> number_key(const KeyValues& keys, const Range& range,
                                   std::uint64_t otherwise) {
  const auto at = keys.find(range.key);
  if (at == keys.end()) return otherwise;
  const auto number = parse_number(at->second);
  if (number && *number >= range.least && *number <= range.most) return *number;
  return fail(std::string{"top: "} + range.key + ": " + in_quotes(at->second) +
              " is not in the range; allowed: " + std::to_string(range.least) + ".." +
              std::to_string(range.most));
}

std::string clock_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  std::array<char, 32> text{};
  localtime_r(&now, &local);
  std::strftime(text.data(), text.size(), "%H:%M:%S", &local);
  return text.data();
}

class Top {
 public:
  Top(const Invocation& invocation, ControlClient client)
      : invocation_{invocation},
        client_{std::move(client)},
        paint_{paint_for(invocation.colour)},
        redraw_{invocation.format == Format::kText && on_terminal()} {}

  Outcome<void> run(std::chrono::milliseconds interval, std::uint64_t count) {
    auto before = ask();
    if (!before) return tl::unexpected(before.error());
    auto next = Clock::now();
    for (std::uint64_t shown = 0; shown < count;) {
      next = std::max(next + interval, Clock::now());  // an interval missed is not made up for
      const bool waited = client_.wait_until(next);
      if (g_interrupted != 0) return {};
      auto after = ask();  // where the daemon has gone, this says so
      if (!after) return tl::unexpected(after.error());
      if (!waited) continue;
      const auto rates = rates_between(*before, *after);
      if (!rates) return tl::unexpected(Failure{rates.error()});
      if (auto printed = show(*rates, shown++ == 0); !printed) {
        return tl::unexpected(Failure{printed.error()});
      }
      before = std::move(after);
    }
    return {};
  }

 private:
  Outcome<Json> ask() {
    const auto line = client_.ask(request_line({"stats", "show", {}}));
    if (!line) return tl::unexpected(Failure{line.error()});
    return parse_answer(*line);
  }

  Expected<void> show(const Json& rates, bool first) {
    if (invocation_.format != Format::kText) return print(json_text(rates, invocation_.format));
    auto table = rates_text(rates, paint_);
    if (!table) return tl::unexpected(table.error());
    const std::string title = "mqsteer, instance " + invocation_.client.instance + ", " +
                              clock_text() + ", over " + rates.at("interval_ms").dump() + " ms\n\n";
    if (redraw_) return print("\x1b[H\x1b[2J" + title + *table);
    return print((first ? "" : "\n") + title + *table);
  }

  const Invocation& invocation_;
  ControlClient client_;
  Paint paint_;
  bool redraw_;
};

}  // namespace

Outcome<void> run_top(const Invocation& invocation) {
  const auto interval = number_key(
      invocation.keys, {"interval_ms", kLeastIntervalMs, kMostIntervalMs}, kDefaultIntervalMs);
  if (!interval) return tl::unexpected(Failure{interval.error(), Exit::kUsage});
  constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();
  const auto count = number_key(invocation.keys, {"count", 1, 1'000'000'000}, kForever);
  if (!count) return tl::unexpected(Failure{count.error(), Exit::kUsage});
  catch_interrupts();
  auto client = ControlClient::connect(invocation.client);
  if (!client) return tl::unexpected(Failure{client.error()});
  Top top{invocation, std::move(*client)};
  return top.run(std::chrono::milliseconds{*interval}, *count);
}

}  // namespace mqsteer
