#pragma once

#include <mqsteer/config.h>

#include <string>
#include <vector>

namespace mqsteer {

/// One key that differs between two configurations.
struct ConfigChange {
  std::string key;   ///< `steering.mode`; `ports` and `bridge` where their names differ
  std::string from;  ///< as in the file
  std::string to;
  bool live = false;  ///< can be applied while traffic flows

  /// `steering.mode: rps -> soft-rss`
  [[nodiscard]] std::string text() const { return key + ": " + from + " -> " + to; }
};

/// In the order of the file. Ports and bridges are compared by name; the number in a key is the
/// place in `to`.
[[nodiscard]] std::vector<ConfigChange> changes_between(const Config& from, const Config& to);

/// What a reload can do at once, and what waits for a restart.
struct SplitChanges {
  std::vector<ConfigChange> live;
  std::vector<ConfigChange> restart;
  Config applied;  ///< the running configuration with the live changes alone; validate() it, since
                   ///< a change it relied on may be one that waits (workers of new lcores)
};

[[nodiscard]] SplitChanges split_changes(const Config& running, const Config& wanted);

/// changes_between() as lines.
[[nodiscard]] std::vector<std::string> diff_configs(const Config& running, const Config& file);

}  // namespace mqsteer
