#include "eal/dpdk_log.h"

#include <rte_log.h>

#include <stdio.h>

#include <mutex>
#include <utility>
#include <vector>

namespace mqsteer {
namespace {

struct LogState {
  std::mutex mutex;
  std::function<void(std::string_view)> sink;
  std::string partial;  ///< of a line whose end has not come yet
  bool capturing = false;
  std::vector<std::string> captured;
};

/// Never destroyed: DPDK's threads may log while the process exits.
LogState& log_state() {
  static auto& state = *new LogState;
  return state;
}

void show(const LogState& state, const std::string& line) {
  if (state.sink) {
    state.sink(line);
  } else {
    static_cast<void>(fprintf(stderr, "dpdk: %s\n", line.c_str()));
  }
}

void end_line(LogState& state) {
  if (state.partial.empty()) return;
  if (state.capturing) {
    state.captured.push_back(std::move(state.partial));
  } else {
    show(state, state.partial);
  }
  state.partial.clear();
}

ssize_t write_log(void* /*cookie*/, const char* text, std::size_t bytes) {
  LogState& state = log_state();
  const std::scoped_lock lock{state.mutex};
  for (const char letter : std::string_view{text, bytes}) {
    if (letter == '\n') {
      end_line(state);
    } else {
      state.partial.push_back(letter);
    }
  }
  return static_cast<ssize_t>(bytes);
}

}  // namespace

void take_dpdk_log(std::function<void(std::string_view)> sink) {
  LogState& state = log_state();
  const std::scoped_lock lock{state.mutex};
  state.sink = std::move(sink);
  static FILE* const stream = [] {
    FILE* const opened = fopencookie(nullptr, "w", {nullptr, write_log, nullptr, nullptr});
    if (opened != nullptr) static_cast<void>(setvbuf(opened, nullptr, _IOLBF, BUFSIZ));
    return opened;
  }();
  static_cast<void>(rte_openlog_stream(stream));
}

DpdkLogCapture::DpdkLogCapture() {
  LogState& state = log_state();
  const std::scoped_lock lock{state.mutex};
  state.capturing = true;
  state.captured.clear();
}

DpdkLogCapture::~DpdkLogCapture() {
  LogState& state = log_state();
  const std::scoped_lock lock{state.mutex};
  state.capturing = false;
}

std::string DpdkLogCapture::first_line() const {
  LogState& state = log_state();
  const std::scoped_lock lock{state.mutex};
  return state.captured.empty() ? std::string{} : state.captured.front();
}

std::string with_dpdk_reason(std::string message, const DpdkLogCapture& capture) {
  const std::string reason = capture.first_line();
  return reason.empty() ? message : std::move(message) + " (" + reason + ")";
}

}  // namespace mqsteer
