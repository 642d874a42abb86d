#include "output.h"

#include "config/words.h"
#include "control/request.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace mqsteer {
namespace {

Failure not_understood(const std::string& why) {
  return {{0, "the daemon's answer is not understood (" + why +
                  "); is it mqsteerd that listens there?"}};
}

}  // namespace

bool on_terminal() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && terminal != nullptr && std::string_view{terminal} != "dumb";
}

Paint paint_for(ColourChoice choice) {
  const char* no_colour = std::getenv("NO_COLOR");
  const bool wanted = on_terminal() && (no_colour == nullptr || *no_colour == '\0');
  return Paint{choice == ColourChoice::kAlways || (choice == ColourChoice::kAuto && wanted)};
}

std::string json_text(const Json& json, Format format) {
  const int indent = format == Format::kPrettyJson ? 2 : -1;
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + '\n';
}

Outcome<Json> parse_answer(const std::string& line) {
  if (too_deep(line)) return tl::unexpected(not_understood("nested too deep"));
  Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    return tl::unexpected(not_understood("no JSON object"));
  }
  const auto error = json.find("error");
  if (error == json.end()) return json;
  if (!error->is_object()) return tl::unexpected(not_understood("a malformed error"));
  const auto text = [&](const char* name) -> std::string {
    const auto member = error->find(name);
    return member != error->end() && member->is_string() ? tame(member->get<std::string>()) : "";
  };
  const std::string allowed = text("allowed");
  const auto malformed = error->find("malformed");
  const bool usage = malformed != error->end() && *malformed == true;
  return tl::unexpected(
      Failure{{0, text("what") + (allowed.empty() ? "" : "; allowed: " + allowed)},
              usage ? Exit::kUsage : Exit::kRefused});
}

Expected<void> print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return fail(errno, "write to standard output");
  }
  return {};
}

void report(const Error& error, Format format) {
  if (format == Format::kText) {
    std::fprintf(stderr, "mqsteerctl: %s\n", error.text().c_str());
    return;
  }
  const Json line = Json::parse(error_line(error));
  if (auto printed = print(json_text(line, format)); !printed) {
    std::fprintf(stderr, "mqsteerctl: %s\n", printed.error().text().c_str());
  }
}

}  // namespace mqsteer
