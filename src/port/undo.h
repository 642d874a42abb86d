#pragma once

#include "port/peer.h"

#include <mqsteer/error.h>

#include <string>
#include <vector>

namespace mqsteer {

/// What was changed on kernel interfaces for a port, so that it can be put back: when the port
/// stops or, where the process was killed, when the next one that used the interface stops. Kept
/// in a file of /run/mqsteer/interfaces, named after network namespace and interface number,
/// written before each change.
class Undo {
 public:
  /// One thing to put back.
  struct Step {
    enum class Kind : char { kFeatureOn = 'f', kMtu = 'm', kDown = 'd' };
    Kind kind = Kind::kFeatureOn;
    NamespacePlace place;
    std::string interface;
    std::string value;  ///< the feature's name, or the MTU
    [[nodiscard]] bool same_as(const Step& other) const;
  };

  /// Reads what an earlier process left to be put back, if any.
  explicit Undo(const LinkInfo& interface);
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  Undo(Undo&&) = delete;
  Undo& operator=(Undo&&) = delete;
  ~Undo();  ///< run()

  /// To be called before the change. The first step of a kind for an interface wins, since it has
  /// the state before all changes.
  void remember(Step step);
  /// Puts everything back, last first, and removes the file.
  void run() noexcept;

  [[nodiscard]] const std::vector<Step>& steps() const noexcept { return steps_; }

 private:
  void write() const;

  std::string path_;
  std::string owner_;  ///< the file's first line: whose it is, since numbers are used again
  std::vector<Step> steps_;
};

/// Sets or clears IFF_* flags of an interface; SIOCSIFMTU.
[[nodiscard]] Expected<void> set_interface_up(const std::string& interface, bool up);
[[nodiscard]] Expected<void> set_interface_mtu(const std::string& interface, unsigned mtu);

}  // namespace mqsteer
