#pragma once

#include "runtime/flow_explanation.h"
#include "runtime/plan.h"
#include "runtime/snapshot.h"

#include <mqsteer/config.h>
#include <mqsteer/error.h>
#include <mqsteer/id.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mqsteer {

/// What the daemon knows of itself.
struct DaemonFacts {
  std::string version;
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  std::string config_path;  ///< empty: started without a file
  /// Reads the file again, as a reload would, command line options applied; for `config diff`.
  std::function<Expected<Config>()> read_file;
};

/// What the commands look at and change. RuntimeTarget is the real one.
///
/// thread: the control thread
class ControlTarget {
 public:
  ControlTarget() = default;
  ControlTarget(const ControlTarget&) = delete;
  ControlTarget& operator=(const ControlTarget&) = delete;
  ControlTarget(ControlTarget&&) = delete;
  ControlTarget& operator=(ControlTarget&&) = delete;
  virtual ~ControlTarget() = default;

  [[nodiscard]] virtual const DaemonFacts& daemon() const = 0;
  [[nodiscard]] virtual Snapshot snapshot() = 0;
  [[nodiscard]] virtual const Plan& plan() const = 0;
  [[nodiscard]] virtual const Config& config() const = 0;
  /// By port, in the configuration's order: what was cut down or found at start.
  [[nodiscard]] virtual std::vector<std::vector<std::string>> port_notes() const = 0;

  /// These three change nothing where they fail.
  [[nodiscard]] virtual Expected<std::uint32_t> set_steering(const SteeringConfig& wanted) = 0;
  [[nodiscard]] virtual Expected<void> abandon(WorkerId worker) = 0;
  [[nodiscard]] virtual Expected<void> restore(WorkerId worker) = 0;

  [[nodiscard]] virtual FlowExplanation explain(const FlowTuple& flow) const = 0;
  [[nodiscard]] virtual Expected<void> pin(const FlowTuple& flow, WorkerId worker) = 0;
  [[nodiscard]] virtual Expected<void> unpin(const FlowTuple& flow) = 0;
  [[nodiscard]] virtual std::vector<FlowPin> pins() const = 0;
  [[nodiscard]] virtual RfsFigures rfs_figures() const = 0;
};

/// Answers one line of the control socket: a JSON object
/// `{"object": "steering", "command": "set", "keys": {"mode": "rps"}}` (command and keys may be
/// missing where the command table has none) with one JSON object, on one line, without line end:
/// the command's, or `{"error": {"what", "allowed"}}`, with `"malformed": true` where the line is
/// wrong for every box. Takes any bytes.
[[nodiscard]] std::string answer(ControlTarget& target, std::string_view line);

}  // namespace mqsteer
