#include "config/key_origins.h"

#include <utility>

namespace mqsteer {
namespace {

/// `ports[1].device` -> `ports[1]` -> `ports` -> ``
std::string_view section_of(std::string_view key) {
  const std::size_t end = key.find_last_of(".[");
  return end == std::string_view::npos ? std::string_view{} : key.substr(0, end);
}

}  // namespace

void KeyOrigins::add_line(std::string key, int line) {
  origins_[std::move(key)] = Origin{line, ""};
}

void KeyOrigins::add_option(std::string key, std::string option) {
  origins_[std::move(key)] = Origin{0, std::move(option)};
}

const KeyOrigins::Origin* KeyOrigins::find(std::string_view key) const {
  while (true) {
    const auto found = origins_.find(key);
    if (found != origins_.end()) return &found->second;
    if (key.empty()) return nullptr;
    key = section_of(key);
  }
}

std::string KeyOrigins::describe(std::string_view key) const {
  const Origin* origin = find(key);
  if (origin != nullptr && !origin->option.empty()) return origin->option;
  std::string text = file_;
  if (!text.empty() && origin != nullptr) text += ':' + std::to_string(origin->line);
  if (!text.empty() && !key.empty()) text += ": ";
  return text += key;
}

}  // namespace mqsteer
