#include "control/control_client.h"
#include "control/request.h"
#include "control/text_views.h"
#include "options.h"
#include "output.h"
#include "top.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

namespace mqsteer {
namespace {

/// One question, one answer.
Outcome<void> run_command(const Invocation& invocation) {
  const auto began = std::chrono::steady_clock::now();
  auto client = ControlClient::connect(invocation.client);
  if (!client) return tl::unexpected(Failure{client.error()});
  const CommandSpec& spec = *invocation.command;
  const auto line = client->ask(
      request_line({std::string{spec.object}, std::string{spec.command}, invocation.keys}));
  if (!line) return tl::unexpected(Failure{line.error()});
  auto answer = parse_answer(*line);
  if (!answer) return tl::unexpected(answer.error());
  if (spec.id == CommandId::kPing) {
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    (*answer)["ms"] = std::round(took.count() * 1000) / 1000;
  }
  const auto text = invocation.format == Format::kText
                        ? text_of(spec.id, *answer, paint_for(invocation.colour))
                        : Expected<std::string>{json_text(*answer, invocation.format)};
  if (!text) return tl::unexpected(Failure{text.error()});
  if (auto printed = print(*text); !printed) return tl::unexpected(Failure{printed.error()});
  return {};
}

Exit failed(const Error& error, Format format, Exit exit) {
  report(error, format);
  return exit;
}

Exit run(int argc, char** argv) {
  const auto parsed = parse_options(argc, argv);
  if (!parsed) return failed(parsed.error(), format_of(argc, argv), Exit::kUsage);
  if (const auto* notice = std::get_if<Notice>(&*parsed)) {
    const auto printed = print(notice->text);
    return printed ? Exit::kDone : failed(printed.error(), Format::kText, Exit::kRefused);
  }
  const auto& invocation = std::get<Invocation>(*parsed);
  const bool top = invocation.command->id == CommandId::kTop;
  const auto done = top ? run_top(invocation) : run_command(invocation);
  return done ? Exit::kDone : failed(done.error().error, invocation.format, done.error().exit);
}

}  // namespace
}  // namespace mqsteer

int main(int argc, char** argv) try {
  return static_cast<int>(mqsteer::run(argc, argv));
} catch (const std::exception& fault) {  // no memory is left
  std::fprintf(stderr, "mqsteerctl: %s\n", fault.what());
  return static_cast<int>(mqsteer::Exit::kRefused);
}
