#pragma once

#include <map>
#include <string>
#include <string_view>

namespace mqsteer {

/// Where each value of a Config came from, so that whoever finds it wrong can name the place.
///
/// A key is a path: `instance`, `ports[1].rx_queues`, `bridge[0].ports`, `steering.mode`.
class KeyOrigins {
 public:
  KeyOrigins() = default;
  explicit KeyOrigins(std::string file) : file_{std::move(file)} {}

  /// line: from 1
  void add_line(std::string key, int line);

  /// option: as the user typed it, for example `--lcores`; replaces what was known of the key
  void add_option(std::string key, std::string option);

  /// The start of a message about `key`: `FILE:LINE: KEY`, or `--OPTION`, or `KEY` when nothing is
  /// known. A key that was not written stands at the line of the section it belongs to.
  [[nodiscard]] std::string describe(std::string_view key) const;

 private:
  struct Origin {
    int line = 0;
    std::string option;
  };

  [[nodiscard]] const Origin* find(std::string_view key) const;

  std::string file_;
  std::map<std::string, Origin, std::less<>> origins_;
};

}  // namespace mqsteer
