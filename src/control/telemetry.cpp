#include "control/telemetry.h"

#include <mqsteer/drop_reason.h>

#include <rte_telemetry.h>
#include <rte_version.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mqsteer {
namespace {

constexpr std::chrono::seconds kAnswerLimit{1};

/// What DPDK's threads and the control thread share. One a process and never freed, since DPDK
/// keeps its callbacks to the end and hands them nothing of ours.
struct Desk {
  std::mutex mutex;
  std::condition_variable served;
  int wake_fd = -1;  ///< -1: no Telemetry is there
  std::uint64_t asked = 0;
  std::uint64_t answered = 0;  ///< the value of `asked` when the snapshot was taken
  std::shared_ptr<const Snapshot> snapshot;
};

Desk& desk() {
  static Desk* const only = new Desk;
  return *only;
}

/// thread: DPDK's. Null where nobody answers in time.
std::shared_ptr<const Snapshot> fresh_snapshot() {
  Desk& d = desk();
  std::unique_lock lock{d.mutex};
  if (d.wake_fd < 0) return nullptr;
  const std::uint64_t ours = ++d.asked;
  const std::uint64_t one = 1;
  if (write(d.wake_fd, &one, sizeof(one)) < 0) return nullptr;
  const bool done =
      d.served.wait_for(lock, kAnswerLimit, [&] { return d.wake_fd < 0 || d.answered >= ours; });
  return done && d.wake_fd >= 0 ? d.snapshot : nullptr;
}

// DPDK 23.03 gave the calls for unsigned numbers new names, and deprecated the old ones.
void add(rte_tel_data* out, const std::string& name, std::uint64_t value) {
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
  rte_tel_data_add_dict_uint(out, name.c_str(), value);
#else
  rte_tel_data_add_dict_u64(out, name.c_str(), value);
#endif
}

void start_numbers(rte_tel_data* array) {
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
  rte_tel_data_start_array(array, RTE_TEL_UINT_VAL);
#else
  rte_tel_data_start_array(array, RTE_TEL_U64_VAL);
#endif
}

void add_number(rte_tel_data* array, std::uint64_t value) {
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
  rte_tel_data_add_array_uint(array, value);
#else
  rte_tel_data_add_array_u64(array, value);
#endif
}

/// Texts may be at most 127 bytes here; bytes that would break DPDK's JSON become '?'.
void add(rte_tel_data* out, const char* name, std::string text) {
  text.resize(std::min<std::size_t>(text.size(), RTE_TEL_MAX_STRING_LEN - 1));
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return c < 0x20 || c == 0x7f || c == '"' || c == '\\'; }, '?');
  rte_tel_data_add_dict_string(out, name, text.c_str());
}

void add_drops(rte_tel_data* out, const DropFigures& drops) {
  for (std::size_t i = 0; i < kDropReasons; ++i) {
    add(out, "drops_" + std::string{kDropReasonNames[i]}, drops[i]);
  }
}

/// "2", within `count`.
std::optional<std::size_t> index_of(const char* params, std::size_t count) {
  const std::string_view text = params == nullptr ? "" : params;
  std::size_t index = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), index);
  const bool whole = parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
  if (!whole || text.empty() || index >= count) return std::nullopt;
  return index;
}

int answer_totals(const char* /*cmd*/, const char* /*params*/, rte_tel_data* out) {
  const auto snapshot = fresh_snapshot();
  if (!snapshot) return -ETIMEDOUT;
  const TotalFigures& totals = snapshot->totals;
  rte_tel_data_start_dict(out);
  add(out, "ports", snapshot->ports.size());
  add(out, "workers", snapshot->workers.size());
  add(out, "rx", totals.rx);
  add(out, "originated", totals.originated);
  add(out, "copies", totals.copies);
  add(out, "tx", totals.tx);
  add(out, "consumed", totals.consumed);
  add(out, "in_flight", totals.in_flight);
  add(out, "balanced", snapshot->balanced);
  add(out, "fragments_tracked", snapshot->fragments.tracked);
  add(out, "fragments_missed", snapshot->fragments.missed);
  add(out, "fragments_held", snapshot->fragments.held);
  add_drops(out, totals.drops);
  return 0;
}

/// An array inside the answer, which is the most structure that DPDK's telemetry has.
template <class Figure>
void add_by_queue(rte_tel_data* out, const char* name, const PortFigures& port, Figure figure) {
  rte_tel_data* array = rte_tel_data_alloc();
  if (array == nullptr) return;
  start_numbers(array);
  for (const QueueFigures& queue : port.queues) add_number(array, figure(queue));
  if (rte_tel_data_add_dict_container(out, name, array, 0) != 0) rte_tel_data_free(array);
}

int answer_port(const char* /*cmd*/, const char* params, rte_tel_data* out) {
  const auto snapshot = fresh_snapshot();
  if (!snapshot) return -ETIMEDOUT;
  const auto index = index_of(params, snapshot->ports.size());
  if (!index) return -EINVAL;
  const PortFigures& port = snapshot->ports[*index];
  rte_tel_data_start_dict(out);
  add(out, "name", port.name);
  add(out, "device", port.device);
  add(out, "driver", port.driver);
  add(out, "link", std::string{port.link_up ? "up" : "down"});
  add(out, "rx_packets", port.counters.rx_packets);
  add(out, "rx_bytes", port.counters.rx_bytes);
  add(out, "rx_missed", port.counters.rx_missed);
  add(out, "rx_nombuf", port.counters.rx_nombuf);
  add(out, "rx_errors", port.counters.rx_errors);
  add(out, "tx_packets", port.counters.tx_packets);
  add(out, "tx_bytes", port.counters.tx_bytes);
  add(out, "tx_errors", port.counters.tx_errors);
  add_by_queue(out, "queue_lcore", port, [](const auto& queue) { return queue.lcore.value(); });
  add_by_queue(out, "queue_rx_packets", port, [](const auto& queue) { return queue.rx_packets; });
  return 0;
}

int answer_worker(const char* /*cmd*/, const char* params, rte_tel_data* out) {
  const auto snapshot = fresh_snapshot();
  if (!snapshot) return -ETIMEDOUT;
  const auto index = index_of(params, snapshot->workers.size());
  if (!index) return -EINVAL;
  const WorkerFigures& worker = snapshot->workers[*index];
  rte_tel_data_start_dict(out);
  add(out, "worker", worker.worker.value());
  add(out, "lcore", worker.lcore.value());
  add(out, "listed", std::uint64_t{worker.listed});
  add(out, "abandoned", std::uint64_t{worker.abandoned});
  add(out, "buckets", worker.buckets);
  add(out, "packets", worker.packets);
  add(out, "backlog", worker.backlog);
  add(out, "moves", worker.moves);
  add(out, "moves_held", worker.moves_held);
  add(out, "wrong_worker", worker.wrong_worker);
  add(out, "handed_over", worker.handed_over);
  add(out, "taken_over", worker.taken_over);
  add(out, "originated", worker.originated);
  add(out, "order_checked", worker.order_checked);
  add(out, "reordered", worker.reordered);
  add(out, "order_unjudged", worker.order_unjudged);
  add(out, "tx", worker.tx);
  add(out, "consumed", worker.consumed);
  add(out, "pause_frames", worker.pause_frames);
  add(out, "busy_cycles", worker.busy_cycles);
  add(out, "idle_cycles", worker.idle_cycles);
  add_drops(out, worker.drops);
  for (const NamedFigure& figure : worker.handler) {
    add(out, "handler_" + std::string{figure.name}, figure.value);
  }
  return 0;
}

/// Once a process; DPDK refuses a name that it has.
int register_commands() {
  static const int result = [] {
    const int totals = rte_telemetry_register_cmd("/mqsteer/totals", answer_totals,
                                                  "The accounts of all packets. No parameters");
    const int port = rte_telemetry_register_cmd(
        "/mqsteer/port", answer_port, "A port's counters. Parameters: number of the port, from 0");
    const int worker =
        rte_telemetry_register_cmd("/mqsteer/worker", answer_worker,
                                   "A worker's counters. Parameters: number of the worker, from 0");
    return std::min({totals, port, worker});
  }();
  return result;
}

}  // namespace

Expected<Telemetry> Telemetry::start(std::function<Snapshot()> take) {
  if (const int result = register_commands(); result < 0) {
    return fail(-result, "telemetry: register /mqsteer/…");
  }
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) return fail(errno, "telemetry: eventfd");
  const std::lock_guard lock{desk().mutex};
  if (desk().wake_fd >= 0) {
    close(fd);
    return fail("telemetry: there is one in this process already");
  }
  desk().wake_fd = fd;
  return Telemetry{fd, std::move(take)};
}

void Telemetry::serve() {
  std::uint64_t value = 0;
  if (fd_ < 0 || read(fd_, &value, sizeof(value)) < 0) return;
  Desk& d = desk();
  std::uint64_t asked = 0;
  {
    const std::lock_guard lock{d.mutex};
    asked = d.asked;
  }
  auto snapshot = std::make_shared<const Snapshot>(take_());
  {
    const std::lock_guard lock{d.mutex};
    d.snapshot = std::move(snapshot);
    d.answered = asked;
  }
  d.served.notify_all();
}

Telemetry::Telemetry(int fd, std::function<Snapshot()> take) noexcept
    : fd_{fd}, take_{std::move(take)} {}

Telemetry::Telemetry(Telemetry&& other) noexcept
    : fd_{std::exchange(other.fd_, -1)}, take_{std::move(other.take_)} {}

Telemetry& Telemetry::operator=(Telemetry&& other) noexcept {
  if (this != &other) {
    stop();
    fd_ = std::exchange(other.fd_, -1);
    take_ = std::move(other.take_);
  }
  return *this;
}

Telemetry::~Telemetry() {
  stop();
}

void Telemetry::stop() noexcept {
  if (fd_ < 0) return;
  {
    const std::lock_guard lock{desk().mutex};
    desk().wake_fd = -1;
    desk().snapshot = nullptr;
  }
  desk().served.notify_all();
  close(std::exchange(fd_, -1));
}

}  // namespace mqsteer
