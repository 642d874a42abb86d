#include "control/commands.h"

#include "config/config_file.h"
#include "config/validate.h"
#include "config/words.h"
#include "control/request.h"
#include "control/views.h"
#include "steering/bucket_index.h"

#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace mqsteer {
namespace {

using Handler = Expected<Json> (*)(ControlTarget&, const KeyValues&);

Expected<Json> port_show(ControlTarget& target, const KeyValues& /*keys*/) {
  return ports_view(target.snapshot(), target.plan(), target.port_notes());
}

Expected<Json> queue_show(ControlTarget& target, const KeyValues& /*keys*/) {
  return queues_view(target.snapshot(), target.plan());
}

Expected<Json> worker_show(ControlTarget& target, const KeyValues& /*keys*/) {
  return workers_view(target.snapshot());
}

std::string allowed_workers(const ControlTarget& target) {
  return "; allowed: 0-" + std::to_string(target.plan().lcores.size() - 1);
}

Expected<WorkerId> worker_of(const ControlTarget& target, const KeyValues& keys) {
  const std::string& text = keys.find("worker")->second;  // check_values saw it
  const auto number = parse_number(text);
  if (number && *number < target.plan().lcores.size()) {
    return WorkerId{static_cast<std::uint16_t>(*number)};
  }
  return fail("there is no worker " + in_quotes(text) + allowed_workers(target));
}

Expected<Json> worker_abandon(ControlTarget& target, const KeyValues& keys) {
  const auto worker = worker_of(target, keys);
  if (!worker) return tl::unexpected(worker.error());
  if (auto done = target.abandon(*worker); !done) return tl::unexpected(done.error());
  return Json{{"abandoned", worker->value()}};
}

Expected<Json> worker_restore(ControlTarget& target, const KeyValues& keys) {
  const auto worker = worker_of(target, keys);
  if (!worker) return tl::unexpected(worker.error());
  if (auto done = target.restore(*worker); !done) return tl::unexpected(done.error());
  return Json{{"restored", worker->value()}};
}

Expected<Json> plan_show(ControlTarget& target, const KeyValues& /*keys*/) {
  return plan_view(target.plan(), target.config().steering);
}

Expected<Json> config_show(ControlTarget& target, const KeyValues& /*keys*/) {
  return config_view(target.config());
}

Expected<Json> config_diff(ControlTarget& target, const KeyValues& /*keys*/) {
  const DaemonFacts& daemon = target.daemon();
  if (daemon.config_path.empty() || !daemon.read_file) {
    return fail("mqsteerd was started without a file, so there is nothing to compare with");
  }
  const auto file = daemon.read_file();
  if (!file) return tl::unexpected(file.error());
  Json view = {{"path", daemon.config_path}};
  view.update(config_diff_view(target.config(), *file));
  return view;
}

Expected<Json> stats_show(ControlTarget& target, const KeyValues& /*keys*/) {
  return stats_view(target.snapshot());
}

Expected<Json> steering_show(ControlTarget& target, const KeyValues& /*keys*/) {
  return steering_view(target.config(), target.snapshot(), target.rfs_figures());
}

/// New workers with the old weights are a mistake that the messages of validate() and of the
/// runtime would hide.
Expected<void> check_weights(const ControlTarget& target, const SteeringConfig& steering,
                             const KeyValues& keys) {
  const std::size_t workers =
      steering.workers.empty() ? target.plan().lcores.size() : steering.workers.size();
  if (steering.weights.empty() || steering.weights.size() == workers) return {};
  const std::string weights = std::to_string(steering.weights.size());
  return fail((keys.contains("weights")
                   ? "steering.weights: " + weights + " weights do not fit "
                   : "steering.weights: the " + weights + " weights set before do not fit ") +
              std::to_string(workers) +
              " workers; allowed: weights=equal, or a weight for each worker");
}

/// All keys into a copy first, so that a bad one leaves everything as it is.
Expected<Json> steering_set(ControlTarget& target, const KeyValues& keys) {
  Config wanted = target.config();
  for (const auto& [key, value] : keys) {
    if (auto set = set_key(wanted, "steering." + key, value); !set) {
      return tl::unexpected(set.error());
    }
  }
  const SteeringConfig& steering = wanted.steering;
  if (auto fit = check_weights(target, steering, keys); !fit) return tl::unexpected(fit.error());
  if (auto valid = validate(wanted); !valid) return tl::unexpected(valid.error());
  const bool new_table = !same_index(target.config().steering, steering);
  const auto moved = target.set_steering(steering);
  if (!moved) return tl::unexpected(moved.error());
  Json view = {{"changed_buckets", *moved}, {"new_table", new_table}};
  view.update(steering_view(target.config(), target.snapshot(), target.rfs_figures()));
  return view;
}

Expected<FlowTuple> flow_of(const KeyValues& keys) {
  const auto word = [&keys](const char* name) { return keys.find(name)->second; };  // check_keys()
  return FlowTuple::parse(word("protocol"), word("from"), word("to"));
}

Expected<Json> flow_explain(ControlTarget& target, const KeyValues& keys) {
  const auto flow = flow_of(keys);
  if (!flow) return tl::unexpected(flow.error());
  return explanation_view(target.explain(*flow), target.snapshot());
}

Expected<Json> flow_pin(ControlTarget& target, const KeyValues& keys) {
  const auto flow = flow_of(keys);
  if (!flow) return tl::unexpected(flow.error());
  WorkerId worker = target.explain(*flow).desired;
  if (keys.contains("worker")) {
    const auto wanted = worker_of(target, keys);
    if (!wanted) return tl::unexpected(wanted.error());
    worker = *wanted;
  }
  if (auto done = target.pin(*flow, worker); !done) return tl::unexpected(done.error());
  return Json{{"pinned", flow->text()}, {"worker", worker.value()}};
}

Expected<Json> flow_unpin(ControlTarget& target, const KeyValues& keys) {
  const auto flow = flow_of(keys);
  if (!flow) return tl::unexpected(flow.error());
  if (auto done = target.unpin(*flow); !done) return tl::unexpected(done.error());
  return Json{{"unpinned", flow->text()}, {"mode", name_of(target.config().steering.mode)}};
}

Expected<Json> flow_show(ControlTarget& target, const KeyValues& /*keys*/) {
  // A table that was made since may have had no place for a pin, and another worker may be live.
  std::vector<PinState> pins;
  for (const FlowPin& pin : target.pins()) {
    pins.push_back({pin, target.explain(pin.flow).why});
  }
  return flows_view(pins, target.rfs_figures());
}

Expected<Json> version(ControlTarget& target, const KeyValues& /*keys*/) {
  const DaemonFacts& daemon = target.daemon();
  const auto uptime = std::chrono::steady_clock::now() - daemon.started;
  return Json{{"version", daemon.version},
              {"instance", target.config().instance},
              {"pid", getpid()},
              {"uptime_s", std::chrono::duration_cast<std::chrono::seconds>(uptime).count()},
              {"config", daemon.config_path.empty() ? Json{} : Json(daemon.config_path)}};
}

Expected<Json> ping(ControlTarget& target, const KeyValues& /*keys*/) {
  return Json{{"pong", target.config().instance}};
}

struct Row {
  CommandId id;
  Handler handler;
};

/// Those of the command table that the daemon answers.
constexpr std::array kHandlers = {
    Row{CommandId::kConfigDiff, config_diff},
    Row{CommandId::kConfigShow, config_show},
    Row{CommandId::kFlowExplain, flow_explain},
    Row{CommandId::kFlowPin, flow_pin},
    Row{CommandId::kFlowUnpin, flow_unpin},
    Row{CommandId::kFlowShow, flow_show},
    Row{CommandId::kPing, ping},
    Row{CommandId::kPlanShow, plan_show},
    Row{CommandId::kPortShow, port_show},
    Row{CommandId::kQueueShow, queue_show},
    Row{CommandId::kStatsShow, stats_show},
    Row{CommandId::kSteeringSet, steering_set},
    Row{CommandId::kSteeringShow, steering_show},
    Row{CommandId::kVersion, version},
    Row{CommandId::kWorkerAbandon, worker_abandon},
    Row{CommandId::kWorkerRestore, worker_restore},
    Row{CommandId::kWorkerShow, worker_show},
};
static_assert(kHandlers.size() + 1 == static_cast<std::size_t>(CommandId::kCount),
              "every command but top, which mqsteerctl makes from stats show");

Handler handler_of(CommandId id) noexcept {
  for (const Row& row : kHandlers) {
    if (row.id == id) return row.handler;
  }
  return nullptr;
}

/// Whether the values are well formed; whether this box can do what they say is another matter.
Expected<void> check_values(const ControlTarget& target, const CommandSpec& spec,
                            const KeyValues& keys) {
  if (!spec.words.empty()) {
    if (auto flow = flow_of(keys); !flow) return tl::unexpected(flow.error());
  }
  if (spec.id == CommandId::kSteeringSet) {
    Config any = target.config();
    for (const auto& [key, value] : keys) {
      if (auto set = set_key(any, "steering." + key, value); !set) return set;
    }
    return {};
  }
  const auto worker = keys.find("worker");
  if (worker == keys.end() || parse_number(worker->second)) return {};
  return fail("worker: " + in_quotes(worker->second) + " is not a worker's number" +
              allowed_workers(target));
}

struct Failure {
  Error error;
  Fault fault;
};

tl::unexpected<Failure> malformed(const Error& error) {
  return tl::unexpected(Failure{error, Fault::kMalformed});
}

tl::expected<Json, Failure> run(ControlTarget& target, std::string_view line) {
  const auto request = parse_request(line);
  if (!request) return malformed(request.error());
  const auto spec = find_command(request->object, request->command);
  if (!spec) return malformed(spec.error());
  const KeyValues& keys = request->keys;
  if (auto checked = check_keys(**spec, keys); !checked) return malformed(checked.error());
  const Handler handler = handler_of((*spec)->id);
  if (handler == nullptr) {
    return malformed({0, (*spec)->name() + " is made by mqsteerctl, from stats show"});
  }
  if (auto checked = check_values(target, **spec, keys); !checked) {
    return malformed(checked.error());
  }
  auto view = handler(target, keys);
  if (!view) return tl::unexpected(Failure{view.error(), Fault::kRefused});
  return *view;
}

}  // namespace

std::string answer(ControlTarget& target, std::string_view line) {
  const auto view = run(target, line);
  if (!view) return error_line(view.error().error, view.error().fault);
  // Device and file names may hold any bytes; JSON may not.
  return view->dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mqsteer
