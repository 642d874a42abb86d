#include "control/request.h"

#include "config/words.h"

#include <nlohmann/json.hpp>

namespace mqsteer {
namespace {

using Json = nlohmann::ordered_json;
/// Of what comes in: its objects are trees, so a line of many members cannot cost their square.
using Parsed = nlohmann::json;

constexpr std::string_view kForm =
    R"(; allowed: {"object": "port", "command": "show"}, with "keys": {"name": "value"})";

Error malformed(const std::string& what) {
  return {0, "request: " + what + std::string{kForm}};
}

/// A member that is text; missing: empty.
Expected<std::string> text_of(const Parsed& json, const char* name) {
  const auto member = json.find(name);
  if (member == json.end()) return std::string{};
  if (!member->is_string()) return tl::unexpected(malformed(std::string{name} + " is not text"));
  return member->get<std::string>();
}

Expected<KeyValues> keys_of(const Parsed& json) {
  KeyValues keys;
  const auto member = json.find("keys");
  if (member == json.end()) return keys;
  if (!member->is_object()) return tl::unexpected(malformed("keys is not an object"));
  for (const auto& [key, value] : member->items()) {
    if (value.is_string()) {
      keys[key] = value.get<std::string>();
    } else if (value.is_number() || value.is_boolean()) {
      keys[key] = value.dump();
    } else {
      return tl::unexpected(malformed("the value of " + in_quotes(key) + " is no text or number"));
    }
  }
  return keys;
}

}  // namespace

bool too_deep(std::string_view text) noexcept {
  std::size_t open = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      if (++open > kMaxNesting) return true;
    } else if ((c == '}' || c == ']') && open > 0) {
      --open;
    }
  }
  return false;
}

Expected<Request> parse_request(std::string_view line) {
  if (too_deep(line)) return tl::unexpected(malformed("brackets are nested too deep"));
  const Parsed json = Parsed::parse(line, nullptr, false);
  if (json.is_discarded()) return tl::unexpected(malformed("not JSON: " + in_quotes(line)));
  if (!json.is_object()) return tl::unexpected(malformed("not a JSON object: " + in_quotes(line)));
  for (const auto& [name, value] : json.items()) {
    if (name == "object" || name == "command" || name == "keys") continue;
    return tl::unexpected(malformed("unknown member " + in_quotes(name)));
  }
  auto object = text_of(json, "object");
  if (!object) return tl::unexpected(object.error());
  auto command = text_of(json, "command");
  if (!command) return tl::unexpected(command.error());
  auto keys = keys_of(json);
  if (!keys) return tl::unexpected(keys.error());
  return Request{std::move(*object), std::move(*command), std::move(*keys)};
}

std::string request_line(const Request& request) {
  Json json = {{"object", request.object}};
  if (!request.command.empty()) json["command"] = request.command;
  if (!request.keys.empty()) {
    Json keys = Json::object();
    for (const auto& [key, value] : request.keys) keys[key] = value;
    json["keys"] = std::move(keys);
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string error_line(const Error& error, Fault fault) {
  const Refusal refusal = refusal_of(error);
  Json json = {{"error", {{"what", refusal.what}, {"allowed", refusal.allowed}}}};
  if (fault == Fault::kMalformed) json["error"]["malformed"] = true;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mqsteer
