// mqsim: what would N workers see of a capture file?

#include "mqsim/report.h"
#include "mqsim/simulation.h"

#include <mqsteer/error.h>
#include <mqsteer/id.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using mqsteer::Exit;
using mqsteer::SteeringMode;
using mqsteer::TunnelKey;
namespace sim = mqsteer::sim;

const std::map<std::string, SteeringMode>& modes() {
  static const std::map<std::string, SteeringMode> all = {{"rps", SteeringMode::kRps},
                                                          {"soft-rss", SteeringMode::kSoftRss},
                                                          {"rfs", SteeringMode::kRfs}};
  return all;
}

struct Arguments {
  sim::Options options;
  bool per_packet = false;
  bool json = false;
};

void power_of_two(CLI::Option* option) {
  option->check(CLI::Range(2U, 65536U))->check([](const std::string& text) {
    return std::has_single_bit(std::stoul(text)) ? std::string{} : text + " is no power of two";
  });
}

/// An option that takes one of two words; value: whether it was the first.
CLI::Option* either(CLI::App& app, const std::string& name,
                    const std::pair<std::string, std::string>& words, const std::string& what,
                    bool& value) {
  const auto set = [&value, words](const std::string& text) { value = text == words.first; };
  return app.add_option_function<std::string>(name, set, what)
      ->check(CLI::IsMember({words.first, words.second}));
}

std::vector<CLI::Option*> add_rfs_options(CLI::App& app, sim::Options& options) {
  using mqsteer::RfsTable;
  return {app.add_option("--consumers-move", options.consumers_move,
                         "a flow's consumer goes to the next worker after so many packets of it "
                         "(default: 0, it holds still)")
              ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1'000'000'000})),
          app.add_option("--rfs-flows", options.rfs_flows,
                         "flows that the table has room for (default: 65536)")
              ->check(CLI::Range(RfsTable::kMinFlows, RfsTable::kMaxFlows)),
          app.add_option("--backlog", options.backlog,
                         "packets between steering and consumer at once (default: 64)")
              ->check(CLI::Range(1U, 4096U))};
}

/// Fills arguments; throws CLI::ParseError on what the command line has wrong.
void parse(CLI::App& app, Arguments& arguments, int argc, char** argv) {
  sim::Options& options = arguments.options;
  bool inner = true;
  app.add_option_function<std::string>(
         "--mode", [&options](const std::string& text) { options.mode = modes().at(text); },
         "how the worker is found: rps, soft-rss, rfs")
      ->required()
      ->check(CLI::IsMember(modes()));
  app.add_option("--workers", options.workers, "number of workers")
      ->required()
      ->check(CLI::Range(1U, unsigned{mqsteer::kMaxWorkers}));
  either(app, "--tunnels", {"inner", "outer"}, "the key of tunnels (default: inner)", inner);
  either(app, "--symmetric", {"on", "off"}, "both directions have one key (default: on)",
         options.symmetric);
  auto* buckets = app.add_option("--buckets", options.rss_buckets,
                                 "entries of the soft-rss table, a power of two (default: 128)");
  power_of_two(buckets);
  auto* reta = app.add_option("--reta", options.reta_entries,
                              "entries of the NIC's table, where several RX queues have used up "
                              "its hash bits (default: 0, one RX queue)")
                   ->check(CLI::Range(0U, 65535U));
  const auto of_rfs = add_rfs_options(app, options);
  auto* per_packet = app.add_flag("--per-packet", arguments.per_packet,
                                  "a line for every packet in place of the summary");
  app.add_flag("-j,--json", arguments.json, "the summary as JSON")->excludes(per_packet);
  app.add_option("FILE", options.file, "pcap or pcapng file; - is standard input")->required();
  app.parse(argc, argv);
  options.tunnels = inner ? TunnelKey::kInner : TunnelKey::kOuter;
  if (options.mode != SteeringMode::kSoftRss && buckets->count() > 0) {
    throw CLI::ValidationError("--buckets", "is for --mode soft-rss; the table of rps is fixed");
  }
  if (options.mode != SteeringMode::kSoftRss && reta->count() > 0) {
    throw CLI::ValidationError("--reta", "is for --mode soft-rss; the others take the high bits");
  }
  for (const CLI::Option* option : of_rfs) {
    if (options.mode == SteeringMode::kRfs || option->count() == 0) continue;
    throw CLI::ValidationError(option->get_name(), "is for --mode rfs: nobody else has consumers");
  }
}

Exit refuse(const std::string& what) {
  std::fflush(stdout);  // what came before stands before
  std::fprintf(stderr, "mqsim: %s\n", what.c_str());
  return Exit::kRefused;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

Exit run(const Arguments& arguments) {
  std::function<void(const sim::Verdict&)> each;
  if (arguments.per_packet) each = [](const auto& verdict) { print(per_packet_line(verdict)); };
  if (arguments.per_packet) print(sim::per_packet_header());
  const auto summary = sim::simulate(arguments.options, each);
  if (!summary) return refuse(summary.error().text());
  if (arguments.json) {
    print(to_json(arguments.options, *summary));
  } else if (!arguments.per_packet) {
    print(to_text(arguments.options, *summary));
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return refuse("cannot write to standard output; is the disk full?");
  }
  return Exit::kDone;
}

/// What was wrong. CLI11 complains of what is missing first; a word that it does not know comes
/// before that.
std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  const auto unknown = app.remaining();
  if (code == CLI::ExitCodes::RequiredError && !unknown.empty()) {
    return "'" + unknown.front() + "' is not expected";
  }
  return error.what();
}

/// returns: the exit code
int parse_and_run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{
      "What would N workers see of a capture file? By mqsteerd's own steering, without it.",
      "mqsim"};
  app.set_version_flag("-V,--version", "mqsim " MQSTEER_VERSION);
  try {
    parse(app, arguments, argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "mqsim: %s (mqsim --help says what is allowed)\n",
                 complaint(app, error).c_str());
    return static_cast<int>(Exit::kUsage);
  }
  return static_cast<int>(run(arguments));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return parse_and_run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mqsim: %s\n", error.what());
    return static_cast<int>(Exit::kRefused);
  }
}
