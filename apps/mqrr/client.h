#pragma once

#include "mqrr/histogram.h"
#include "mqrr/net.h"

#include <mqsteer/error.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mqsteer::rr_kernel {

/// A closed-loop client: each connection has one request outstanding, always.
struct ClientConfig {
  Endpoint server;
  unsigned connections = 1;
  unsigned threads = 1;    ///< no more than connections are used
  std::uint32_t size = 1;  ///< bytes of a request, and of its response
  double duration_s = 10;  ///< measured
  double warmup_s = 1;     ///< before that, not counted
  double connect_s = 30;   ///< all connections are open by then, or the run fails
  double stall_s = 5;      ///< without any response: the run ends
  /// Set from outside, by a signal say: the run ends now, with what was measured; or nullptr.
  const std::atomic<bool>* end_now = nullptr;
  std::function<void()> on_open = {};  ///< called once when all are open, before the warm-up
};

struct ClientResult {
  double seconds = 0;                 ///< really measured
  std::uint64_t transactions = 0;     ///< that ended in the measured time
  Histogram latency;                  ///< of those that began in it too, in ns
  std::vector<std::uint64_t> series;  ///< transactions by second; the last may be cut short
  unsigned lost = 0;                  ///< connections that ended before they should
  unsigned wrong = 0;                 ///< of those: for other bytes than the request's
  unsigned silent = 0;                ///< open at the end, no response for `stall_s`
  std::string trouble;  ///< why the run ended early or is not to be trusted; empty: fine

  [[nodiscard]] double per_second() const noexcept {
    return seconds == 0 ? 0 : static_cast<double>(transactions) / seconds;
  }
};

/// errors: what keeps the run from starting: no descriptors, no ports, no server. What happens
/// later is in the result's `trouble`
[[nodiscard]] Expected<ClientResult> run_client(const ClientConfig& config);

}  // namespace mqsteer::rr_kernel
