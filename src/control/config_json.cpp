#include "config/config_file.h"
#include "control/views.h"

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <nlohmann/json.hpp>

namespace mqsteer {
namespace {

/// Plain scalars of our own YAML: whole numbers, true and false, texts.
Json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted
  if (text == "true" || text == "false") return text == "true";
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec == std::errc{} && parsed.ptr == end) return number;
  return text;
}

Json to_json(const YAML::Node& node) {
  if (node.IsMap()) {
    Json map = Json::object();
    for (const auto& member : node) map[member.first.Scalar()] = to_json(member.second);
    return map;
  }
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const auto& item : node) list.push_back(to_json(item));
    return list;
  }
  return node.IsScalar() ? scalar(node) : Json{};
}

}  // namespace

Json config_view(const Config& config) {
  const std::string yaml = to_yaml(config);
  return {{"config", to_json(YAML::Load(yaml))}, {"yaml", yaml}};
}

}  // namespace mqsteer
