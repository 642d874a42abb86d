#include "config/changes.h"

#include "config/schema.h"

#include <algorithm>
#include <type_traits>

namespace mqsteer {
namespace {

using schema::Key;

template <class S>
void compare(const std::string& prefix, const S& from, const S& to,
             std::vector<ConfigChange>& changes) {
  for (const Key<S>& key : schema::keys<S>()) {
    std::string before = key.write(from, key);
    std::string after = key.write(to, key);
    if (before == after) continue;
    changes.push_back(
        {prefix + std::string{key.name}, std::move(before), std::move(after), key.note.live});
  }
}

template <class S>
std::string names_of(const std::vector<S>& items) {
  std::string text;
  for (const S& item : items) text += (text.empty() ? "" : ", ") + item.name;
  return text.empty() ? "none" : text;
}

template <class S>
void compare_list(const std::string& section, const std::vector<S>& from, const std::vector<S>& to,
                  std::vector<ConfigChange>& changes) {
  if (names_of(from) != names_of(to)) {
    changes.push_back({section, names_of(from), names_of(to), false});
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto before = std::ranges::find(from, to[i].name, &S::name);
    if (before == from.end()) continue;
    compare(section + '[' + std::to_string(i) + "].", *before, to[i], changes);
  }
}

template <class S>
void copy_live(S& into, const S& wanted) {
  for (const Key<S>& key : schema::keys<S>()) {
    if (key.note.live) key.copy(into, wanted);
  }
}

}  // namespace

std::vector<ConfigChange> changes_between(const Config& from, const Config& to) {
  std::vector<ConfigChange> changes;
  compare("", from, to, changes);
  compare_list("ports", from.ports, to.ports, changes);
  compare_list("bridge", from.bridges, to.bridges, changes);
  compare("steering.", from.steering, to.steering, changes);
  compare("rr.", from.rr, to.rr, changes);
  compare("capture.", from.capture, to.capture, changes);
  return changes;
}

SplitChanges split_changes(const Config& running, const Config& wanted) {
  SplitChanges split{{}, {}, running};
  for (ConfigChange& change : changes_between(running, wanted)) {
    (change.live ? split.live : split.restart).push_back(std::move(change));
  }
  copy_live(split.applied, wanted);
  copy_live(split.applied.steering, wanted.steering);
  return split;
}

std::vector<std::string> diff_configs(const Config& running, const Config& file) {
  std::vector<std::string> lines;
  for (const ConfigChange& change : changes_between(running, file)) lines.push_back(change.text());
  return lines;
}

}  // namespace mqsteer
