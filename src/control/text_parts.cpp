#include "control/text_parts.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace mqsteer {

std::string decimal(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string percent(double share) {
  return decimal(share * 100, 1) + '%';
}

std::string plain(const Json& value) {
  if (value.is_string()) return tame(value.get<std::string>());
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  return value.dump();
}

const Json& list(const Json& object, const char* name) {
  const Json& member = object.at(name);
  (void)member.get_ref<const Json::array_t&>();  // throws where it is none
  return member;
}

Cell cell(const Json& object, const char* name) {
  return {plain(object.at(name))};
}

Cell bad(const Json& object, const char* name) {
  Cell made = cell(object, name);
  if (made.text != "0") made.colour = Colour::kRed;
  return made;
}

Cell link_cell(const Json& port) {
  const bool up = port.at("link") == "up";
  return {up ? "up" : "down", up ? Colour::kGreen : Colour::kRed};
}

Cell state_cell(const Json& worker) {
  const std::string state = plain(worker.at("state"));
  return {state, state == "listed" ? Colour::kGreen : Colour::kYellow};
}

std::string fragments_text(const Json& counts) {
  return "fragments: " + plain(counts.at("tracked")) + " went with their flow, " +
         plain(counts.at("missed")) + " by their addresses; " + plain(counts.at("held")) +
         " had to wait\n";
}

std::uint64_t sum_of(const Json& drops) {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : drops.items()) sum += count.get<std::uint64_t>();
  return sum;
}

}  // namespace mqsteer
