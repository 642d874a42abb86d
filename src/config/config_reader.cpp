#include "config/config_reader.h"

#include "config/schema.h"
#include "config/schema_values.h"
#include "config/words.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace mqsteer {
namespace {

using schema::Key;
using schema::Section;
using schema::Value;

using Names = std::vector<std::string_view>;

std::string path_of(const std::string& section, std::string_view name) {
  const std::string key = printable(name);
  return section.empty() ? key : section + '.' + key;
}

template <class S>
Names names_of() {
  Names names;
  for (const Key<S>& key : schema::keys<S>()) names.push_back(key.name);
  return names;
}

/// `steering.mode` for a `mode` that stands in another section, or "". A key that ports or bridges
/// have too is more likely meant to be the one of the section that exists once.
std::string full_name(std::string_view name) {
  Config one_of_each;
  one_of_each.ports.resize(1);
  one_of_each.bridges.resize(1);
  std::string found;
  bool once = false;
  schema::for_each_key(one_of_each, [&](std::string path, const auto& key, const auto& /*s*/) {
    if (once || key.name != name) return;
    const std::size_t index = path.find("[0]");
    once = index == std::string::npos;
    if (!once) path.erase(index, 3);
    found = std::move(path);
  });
  return found;
}

class Reader {
 public:
  explicit Reader(const std::string& file) : loaded_{{}, KeyOrigins{file}} {}

  Expected<LoadedConfig> read(const YamlNode& root) {
    loaded_.origins.add_line("", root.line);
    if (auto read = read_map(root, "", top_level_names(),
                             [this](const YamlNode& child) { return read_top_level(child); });
        !read) {
      return tl::unexpected(read.error());
    }
    return std::move(loaded_);
  }

 private:
  using Done = Expected<void>;

  [[nodiscard]] tl::unexpected<Error> refuse(const std::string& path,
                                             const std::string& what) const {
    return fail(loaded_.origins.describe(path) + ": " + what);
  }

  /// Every child by `read`, after the checks that all maps have in common.
  Done read_map(const YamlNode& map, const std::string& path, const Names& names,
                const std::function<Done(const YamlNode&)>& read) {
    if (map.kind != YamlNode::Kind::kMap) {
      return refuse(path, "this is not a section with keys; allowed: " + join(names));
    }
    std::map<std::string_view, int> lines;
    for (const YamlNode& child : map.children) {
      const std::string child_path = path_of(path, child.key);
      loaded_.origins.add_line(child_path, child.line);
      if (std::ranges::find(names, child.key) == names.end()) {
        return refuse(child_path, "unknown key" + suggestion(path, child.key, names) +
                                      "; allowed: " + join(names));
      }
      const auto [first, is_new] = lines.try_emplace(child.key, child.line);
      if (!is_new) {
        return refuse(child_path, "given twice, first in line " + std::to_string(first->second) +
                                      "; allowed: once");
      }
      if (auto done = read(child); !done) return done;
    }
    return {};
  }

  static std::string suggestion(const std::string& section, const std::string& name,
                                const Names& names) {
    std::string meant{nearest_word(name, names)};
    const std::string elsewhere = full_name(name);
    if (!elsewhere.empty() && elsewhere != path_of(section, name)) meant = elsewhere;
    return meant.empty() ? "" : ", did you mean " + meant + "?";
  }

  Done read_top_level(const YamlNode& node) {
    Config& config = loaded_.config;
    if (node.key == schema::kPorts.name) return read_list(node, schema::kPorts, config.ports);
    if (node.key == schema::kBridge.name) return read_list(node, schema::kBridge, config.bridges);
    // A section of which every key is commented out is an empty one.
    const bool empty = node.kind == YamlNode::Kind::kNull;
    if (node.key == schema::kSteering.name) {
      return empty ? Done{} : read_section(node, node.key, config.steering);
    }
    if (node.key == schema::kRr.name) {
      return empty ? Done{} : read_section(node, node.key, config.rr);
    }
    if (node.key == schema::kCapture.name) {
      return empty ? Done{} : read_section(node, node.key, config.capture);
    }
    return read_key(node, node.key, config);
  }

  template <class S>
  Done read_list(const YamlNode& node, const Section& section, std::vector<S>& into) {
    if (node.kind == YamlNode::Kind::kNull) return {};
    if (node.kind != YamlNode::Kind::kList) {
      return refuse(node.key, "this is not a list; allowed: a list of sections with the keys " +
                                  join(names_of<S>()));
    }
    for (const YamlNode& item : node.children) {
      const std::string path = std::string{section.name} + '[' + std::to_string(into.size()) + ']';
      loaded_.origins.add_line(path, item.line);
      if (auto done = read_section(item, path, into.emplace_back()); !done) return done;
    }
    return {};
  }

  template <class S>
  Done read_section(const YamlNode& node, const std::string& path, S& into) {
    const auto read = [&](const YamlNode& child) {
      return read_key(child, path_of(path, child.key), into);
    };
    if (auto done = read_map(node, path, names_of<S>(), read); !done) return done;
    for (const Key<S>& key : schema::keys<S>()) {
      const bool given = std::ranges::any_of(
          node.children, [&key](const YamlNode& child) { return child.key == key.name; });
      if (key.note.required && !given) {
        return refuse(path_of(path, key.name), "this key is missing; allowed: " + key.allowed);
      }
    }
    return {};
  }

  template <class S>
  Done read_key(const YamlNode& node, const std::string& path, S& into) {
    const auto& keys = schema::keys<S>();
    const auto key = std::ranges::find(keys, node.key, &Key<S>::name);
    const auto value = value_of(node);
    if (!value) return refuse(path, value.error().message + "; allowed: " + key->allowed);
    const auto done = key->read(into, *key, *value);
    return done ? Done{} : refuse(path, done.error().message);
  }

  static Expected<Value> value_of(const YamlNode& node) {
    switch (node.kind) {
      case YamlNode::Kind::kNull:
        return fail("there is no value");
      case YamlNode::Kind::kMap:
        return fail("this is a section, a value is wanted");
      case YamlNode::Kind::kScalar:
        return Value{node.text, node.quoted, false, {}};
      case YamlNode::Kind::kList:
        break;
    }
    Value value{"", false, true, {}};
    for (const YamlNode& item : node.children) {
      if (item.kind != YamlNode::Kind::kScalar) return fail("a list within a list, or no value");
      value.items.push_back(item.text);
    }
    return value;
  }

  LoadedConfig loaded_;
};

}  // namespace

Names top_level_names() {
  Names names = names_of<Config>();
  for (const Section* section :
       {&schema::kPorts, &schema::kBridge, &schema::kSteering, &schema::kRr, &schema::kCapture}) {
    names.push_back(section->name);
  }
  return names;
}

Expected<LoadedConfig> read_config(const YamlNode& root, const std::string& file) {
  return Reader{file}.read(root);
}

}  // namespace mqsteer
