#include "daemon.h"

#include "config/device_name.h"
#include "config/validate.h"
#include "handler_choice.h"
#include "port/kernel_interface.h"
#include "port/port.h"
#include "runtime/plan.h"

#include <mqsteer/log.h>

#include <signal.h>
#include <unistd.h>

#include <algorithm>

namespace mqsteer {
namespace {

constexpr std::size_t kBytesPerMb = std::size_t{1} << 20U;

void notice(const std::string& text) {
  log_line(LogLevel::kNotice, text);
}

Expected<std::vector<LcoreId>> lcores_for(const Config& config) {
  const auto machine = machine_facts();
  if (!machine) return tl::unexpected(machine.error());
  std::vector<LcoreId> lcores;
  for (const std::uint16_t cpu : lcores_of(config, *machine)) lcores.emplace_back(cpu);
  return lcores;
}

Expected<std::vector<PortCapabilities>> open_ports(const Config& config) {
  std::vector<PortCapabilities> ports;
  std::vector<Error> faults;  // of all ports, so that they can be mended in one go
  for (const PortConfig& port : config.ports) {
    auto opened = open_port(port);
    if (!opened) {
      faults.push_back(opened.error());
      continue;
    }
    notice(port.name == port.device ? opened->description : port.name + ": " + opened->description);
    ports.push_back(std::move(*opened));
  }
  if (faults.empty()) return ports;
  for (std::size_t i = 0; i + 1 < faults.size(); ++i) {
    log_line(LogLevel::kError, faults[i].text());
  }
  return tl::unexpected(faults.back());
}

/// What the kernel knows of the ports that are interfaces of its own.
std::vector<PortBound> bounds_of(const Config& config) {
  std::vector<PortBound> bounds;
  for (const PortConfig& port : config.ports) {
    PortBound bound;
    if (parse_device(port.device).value_or(DeviceKind::kVdev) == DeviceKind::kInterface) {
      if (const auto state = read_kernel_interface(port.device)) {
        bound = {.mtu = state->mtu, .channels = state->channels};
      }
    }
    if (port.mtu) bound.mtu = *port.mtu;
    bounds.push_back(bound);
  }
  return bounds;
}

Expected<Plan> plan_for(const Config& config, const std::vector<PortCapabilities>& ports,
                        const ChosenHandler& handler) {
  const auto lcores = lcores_for(config);
  if (!lcores) return tl::unexpected(lcores.error());
  PlanInput input{.config = config,
                  .lcores = *lcores,
                  .hands_over = handler.needs.hands_over,
                  .handler_bytes = handler.needs.bytes};
  for (std::size_t i = 0; i < ports.size(); ++i) {
    input.ports.push_back(facts_of(ports[i], config.ports[i]));
  }
  return make_plan(input);
}

std::uint64_t lost_at_stop(const TotalFigures& before, const TotalFigures& after) {
  constexpr auto kStalled = static_cast<std::size_t>(DropReason::kWorkerStalled);
  return after.drops[kStalled] - before.drops[kStalled];
}

void sum_up(const Snapshot& end) {
  const TotalFigures& totals = end.totals;
  for (const PortFigures& port : end.ports) {
    notice(port.name + ": rx " + std::to_string(port.counters.rx_packets) + ", missed " +
           std::to_string(port.counters.rx_missed) + ", no mbuf " +
           std::to_string(port.counters.rx_nombuf) + "; tx " +
           std::to_string(port.counters.tx_packets));
  }
  std::string drops;
  for (std::size_t r = 0; r < kDropReasons; ++r) {
    if (totals.drops[r] == 0) continue;
    drops += " " + std::string{name_of(static_cast<DropReason>(r))} + "=" +
             std::to_string(totals.drops[r]);
  }
  notice("total: rx " + std::to_string(totals.rx) + ", tx " + std::to_string(totals.tx) +
         ", consumed " + std::to_string(totals.consumed) + ", dropped " +
         std::to_string(totals.dropped()) + (drops.empty() ? "" : " (" + drops.substr(1) + ")"));
  if (totals.in_flight == 0 && totals.in() != totals.out()) {
    log_line(LogLevel::kError, "the accounts do not add up: in " + std::to_string(totals.in()) +
                                   ", out " + std::to_string(totals.out()) +
                                   "; this is a fault of mqsteer, please report it");
  }
}

}  // namespace

Expected<Eal> start_eal(const Config& config) {
  const auto lcores = lcores_for(config);
  if (!lcores) return tl::unexpected(lcores.error());
  EalConfig eal{.file_prefix = "mqsteer-" + config.instance};
  for (const LcoreId lcore : *lcores) eal.cpus.push_back(lcore.value());
  for (const PortConfig& port : config.ports) {
    if (parse_device(port.device).value_or(DeviceKind::kVdev) == DeviceKind::kPci) {
      eal.pci_devices.push_back(canonical_device(port.device));
    }
  }
  eal.hugepages = config.hugepages == Hugepages::kAuto;
  const std::size_t bytes =
      memory_bound_bytes(config, lcores->size(), bounds_of(config), handler_needs(config));
  eal.memory_mb = bytes / kBytesPerMb + 1;
  eal.log = [](std::string_view line) {
    log_line(LogLevel::kWarning, "dpdk: " + std::string{line});
  };
  const std::size_t free = free_hugepage_bytes();
  const std::size_t needed = eal.memory_mb * kBytesPerMb;
  if (eal.hugepages && free < needed && !eal.pci_devices.empty()) {
    return fail("hugepages: " + std::to_string(eal.memory_mb) + " MB are needed, " +
                std::to_string(free / kBytesPerMb) + " MB are free; sysctl -w vm.nr_hugepages=" +
                std::to_string(needed / (2 * kBytesPerMb) + 1) +
                " makes enough 2 MB pages, or lower steering.backlog_budget");
  }
  auto started = Eal::init(eal);
  if (!started) return started;
  notice("memory: up to " + std::to_string(eal.memory_mb) + " MB of " +
         (started->uses_hugepages() ? "hugepages"
          : eal.hugepages           ? "ordinary pages, since too few hugepages are free"
                                    : "ordinary pages"));
  return started;
}

Expected<std::unique_ptr<Runtime>> start_runtime(const Eal& eal, const Config& config) {
  auto ports = open_ports(config);
  if (!ports) return tl::unexpected(ports.error());
  const auto lcores = lcores_for(config);
  if (!lcores) return tl::unexpected(lcores.error());
  auto handler = choose_handler(config, *ports, static_cast<std::uint16_t>(lcores->size()));
  if (!handler) return tl::unexpected(handler.error());
  auto plan = plan_for(config, *ports, *handler);
  if (!plan) return tl::unexpected(plan.error());
  for (const std::string& note : plan->notes) log_line(LogLevel::kWarning, note);
  auto runtime = Runtime::start({.eal = &eal,
                                 .config = config,
                                 .plan = std::move(*plan),
                                 .ports = std::move(*ports),
                                 .loops = std::move(handler->loops),
                                 .figures = std::move(handler->figures),
                                 .checksums = handler->checksums});
  if (!runtime) return runtime;
  for (const auto& port : (*runtime)->ports()) {
    for (const std::string& note : port->notes()) log_line(LogLevel::kWarning, note);
  }
  return runtime;
}

Exit stop_and_sum_up(Runtime& runtime) {
  const TotalFigures before = runtime.snapshot().totals;
  if (auto stopped = runtime.stop(); !stopped) {
    log_line(LogLevel::kError,
             stopped.error().text() + "; what was changed on interfaces is undone by the next run");
    sum_up(runtime.snapshot());
    // The lcore may come back any time and use what destructors would free.
    ::_exit(static_cast<int>(Exit::kRefused));
  }
  const Snapshot end = runtime.snapshot();
  sum_up(end);
  return lost_at_stop(before, end.totals) == 0 ? Exit::kDone : Exit::kLost;
}

void block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

}  // namespace mqsteer
