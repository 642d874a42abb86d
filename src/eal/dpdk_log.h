#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace mqsteer {

/// Takes over DPDK's log from here on: each line goes to `sink`, or to standard error where that is
/// empty. To be called before rte_eal_init, which would otherwise add syslog.
void take_dpdk_log(std::function<void(std::string_view)> sink);

/// While one of these lives, what DPDK logs is kept, not shown: an attempt that fails says so in
/// one line of our own, with the reason inside. One at a time in a process.
/// thread: the lines of all threads are kept
class DpdkLogCapture {
 public:
  DpdkLogCapture();
  DpdkLogCapture(const DpdkLogCapture&) = delete;
  DpdkLogCapture& operator=(const DpdkLogCapture&) = delete;
  DpdkLogCapture(DpdkLogCapture&&) = delete;
  DpdkLogCapture& operator=(DpdkLogCapture&&) = delete;
  ~DpdkLogCapture();

  /// The first line kept, which names the cause (those that follow are its consequences); empty
  /// where there was none.
  [[nodiscard]] std::string first_line() const;
};

/// `message`, with DPDK's own first line in brackets where there is one.
[[nodiscard]] std::string with_dpdk_reason(std::string message, const DpdkLogCapture& capture);

}  // namespace mqsteer
