// TCP_RR over kernel sockets: a server that echoes, and a client that measures. See --help.

#include "mqrr/client.h"
#include "mqrr/report.h"
#include "mqrr/server.h"

#include <mqsteer/log.h>

#include <signal.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>

namespace {

using mqsteer::Error;
using mqsteer::Exit;
using mqsteer::log_line;
using mqsteer::LogLevel;
namespace rr = mqsteer::rr_kernel;

struct Arguments {
  std::string address;
  std::uint16_t port = 7;
  unsigned threads = 1;
  rr::ClientConfig client;
  bool json = false;
};

Exit failed(const Error& error, Exit exit) {
  log_line(LogLevel::kError, error.text());
  return exit;
}

/// Until SIGINT or SIGTERM, which were blocked before any thread began.
void wait_for_end(const sigset_t& signals) {
  int got = 0;
  sigwait(&signals, &got);
}

Exit serve(const Arguments& arguments) {
  const auto at = rr::parse_endpoint(arguments.address, arguments.port);
  if (!at) return failed(at.error(), Exit::kUsage);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const auto server = rr::Server::start({.listen = *at, .threads = arguments.threads});
  if (!server) return failed(server.error(), Exit::kRefused);
  log_line(LogLevel::kNotice,
           "ready: echoes on " + at->text() +
               (arguments.port == 0 ? ", port " + std::to_string((*server)->port()) : ""));
  wait_for_end(signals);
  (*server)->stop();
  const auto figures = (*server)->figures();
  log_line(LogLevel::kNotice, std::to_string(figures.connections) + " connections, " +
                                  std::to_string(figures.bytes) + " bytes echoed, " +
                                  std::to_string(figures.refused) +
                                  " refused for want of descriptors");
  return figures.refused == 0 ? Exit::kDone : Exit::kLost;
}

std::atomic<bool> end_client{false};  // set by a signal
static_assert(std::atomic<bool>::is_always_lock_free);

Exit ask(Arguments& arguments) {
  const auto server = rr::parse_endpoint(arguments.address, arguments.port);
  if (!server) return failed(server.error(), Exit::kUsage);
  arguments.client.server = *server;
  arguments.client.threads = arguments.threads;
  struct sigaction on_signal {};
  on_signal.sa_handler = [](int) { end_client.store(true, std::memory_order_relaxed); };
  ::sigaction(SIGINT, &on_signal, nullptr);
  ::sigaction(SIGTERM, &on_signal, nullptr);
  arguments.client.end_now = &end_client;
  arguments.client.on_open = [&client = arguments.client] {
    log_line(LogLevel::kNotice, "open: " + std::to_string(client.connections) + " connections to " +
                                    client.server.text() + "; measures " +
                                    rr::seconds_text(client.duration_s) + " after " +
                                    rr::seconds_text(client.warmup_s) + " of warm-up");
  };
  const auto result = rr::run_client(arguments.client);
  if (!result) return failed(result.error(), Exit::kRefused);
  const std::string report = arguments.json ? rr::json_report(arguments.client, *result)
                                            : rr::text_report(arguments.client, *result);
  std::fputs(report.c_str(), stdout);
  std::fflush(stdout);
  if (result->trouble.empty()) return Exit::kDone;
  return failed(Error{0, result->trouble}, Exit::kLost);
}

/// CLI::Range lets "nan" through.
CLI::Validator seconds(double least, double most) {
  std::ostringstream range;
  range << "SECONDS in [" << least << " - " << most << ']';
  const auto check = [least, most, range = range.str()](const std::string& text) {
    double value = 0;
    const bool good = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
    return good ? std::string{} : "'" + text + "' is not " + range;
  };
  return CLI::Validator{check, range.str()};
}

/// What was wrong. CLI11 complains of what is missing first; a word that it does not know is the
/// cause of that mostly.
std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  const bool of_words =
      code == CLI::ExitCodes::RequiredError || code == CLI::ExitCodes::ExtrasError;
  const auto unknown = app.remaining(true);
  if (!of_words || unknown.empty()) return error.what();
  if (app.get_subcommands().empty() && !unknown.front().starts_with('-')) {
    return "'" + unknown.front() + "' is not a command; allowed: server, client";
  }
  return "'" + unknown.front() + "' is not expected";
}

/// The subcommand's help where there is one.
Exit wrong_usage(const CLI::App& app, const CLI::ParseError& error) {
  const auto parsed = app.get_subcommands();
  const std::string of = parsed.empty() ? "" : " " + parsed.front()->get_name();
  return failed(Error{0, complaint(app, error) + "; see mqrr" + of + " --help"}, Exit::kUsage);
}

void add_client(CLI::App& app, Arguments& arguments) {
  rr::ClientConfig& client = arguments.client;
  app.add_option("address", arguments.address, "the server's IPv4 or IPv6 address")->required();
  app.add_option("--port", arguments.port, "its TCP port (default: 7)")
      ->check(CLI::Range(1, 65535));
  app.add_option("--connections", client.connections,
                 "connections, each with one request (default: 1)")
      ->check(CLI::Range(1U, 1'000'000U));
  app.add_option("--duration", client.duration_s, "seconds to measure (default: 10)")
      ->check(seconds(0.05, 86'400.0));
  app.add_option("--warmup", client.warmup_s, "seconds before that (default: 1)")
      ->check(seconds(0.0, 3'600.0));
  app.add_option("--size", client.size, "bytes of a request and its response (default: 1)")
      ->check(CLI::Range(1U, 1U << 20U));
  app.add_option("--threads", arguments.threads, "threads, each with its share (default: 1)")
      ->check(CLI::Range(1U, 256U));
  app.add_option("--connect", client.connect_s, "seconds for all connections to open (default: 30)")
      ->check(seconds(0.1, 3'600.0));
  app.add_option("--stall", client.stall_s, "seconds without any response that end it (default: 5)")
      ->check(seconds(0.1, 3'600.0));
  app.add_flag("-j,--json", arguments.json, "the figures as JSON on one line");
}

void add_server(CLI::App& app, Arguments& arguments) {
  app.add_option("--bind", arguments.address, "the address to listen on (default: ::, all)");
  app.add_option("--port", arguments.port, "the TCP port (default: 7; 0: any)")
      ->check(CLI::Range(0, 65535));
  app.add_option("--threads", arguments.threads, "threads, each accepts for itself (default: 1)")
      ->check(CLI::Range(1U, 256U));
}

Exit run(int argc, char** argv) {
  mqsteer::log_program() = "mqrr";
  Arguments arguments;
  CLI::App app{
      "TCP_RR over kernel sockets: requests and responses of one byte or more, one outstanding on\n"
      "each connection. Exit: 0 done, 1 wrong usage, 2 refused, 3 connections lost, stalled, or "
      "ended by a signal.",
      "mqrr"};
  app.set_version_flag("-V,--version", "mqrr " MQSTEER_VERSION);
  app.require_subcommand(1);
  auto* server = app.add_subcommand("server", "echo until SIGINT or SIGTERM");
  auto* client = app.add_subcommand("client", "measure transactions a second and their latency");
  add_server(*server, arguments);
  add_client(*client, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error) == 0 ? Exit::kDone : Exit::kUsage;
    return wrong_usage(app, error);
  }
  if (server->parsed() && arguments.address.empty()) arguments.address = "::";
  return server->parsed() ? serve(arguments) : ask(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return static_cast<int>(run(argc, argv));
  } catch (const std::exception& error) {  // out of memory or threads
    log_line(LogLevel::kError, error.what());
    return static_cast<int>(Exit::kRefused);
  }
}
