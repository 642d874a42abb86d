#pragma once

#include <mqsteer/error.h>

#include <string>
#include <string_view>
#include <vector>

namespace mqsteer {

/// A YAML text as a tree with the line of every node: the plain part of YAML that a configuration
/// needs. Anchors, aliases, tags and further documents are refused.
struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  int line = 1;
  std::string key;  ///< in a map: what the node stands under
  std::string text;
  bool quoted = false;  ///< a text in quotes, or a block scalar
  std::vector<YamlNode> children;
};

/// The one document of `text`.
///
/// errors: `FILE:LINE: what is wrong`; an empty text (or only comments) is a kNull node
/// limits: 16 levels, 10,000 nodes; UTF-8 without control bytes; no tab in an indentation
/// throws: nothing of yaml-cpp's
[[nodiscard]] Expected<YamlNode> parse_yaml(std::string_view text, const std::string& file);

}  // namespace mqsteer
