#include "control/instance_lock.h"
#include "daemon.h"
#include "options.h"

#include <mqsteer/log.h>

#include <exception>
#include <iostream>

namespace mqsteer {
namespace {

int failed(const Error& error, Exit code) {
  log_line(LogLevel::kError, error.text());
  return static_cast<int>(code);
}

int run(int argc, char** argv) {
  log_program() = "mqsteerd";
  const auto parsed = parse_options(argc, argv);
  if (const auto* code = std::get_if<Exit>(&parsed)) return static_cast<int>(*code);
  const Options& options = std::get<Options>(parsed);

  const auto loaded = load(options);
  if (!loaded) return failed(loaded.error(), Exit::kUsage);
  if (options.check) {
    std::cout << (options.bridge.empty() ? options.config_path : "--bridge " + options.bridge)
              << ": ok (devices were not looked at)\n";
    return static_cast<int>(Exit::kDone);
  }
  const auto lock = InstanceLock::take(loaded->config.instance);
  if (!lock) return failed(lock.error(), Exit::kRefused);
  block_signals();
  const auto eal = start_eal(loaded->config);
  if (!eal) return failed(eal.error(), Exit::kRefused);
  const auto runtime = start_runtime(*eal, loaded->config);
  if (!runtime) return failed(runtime.error(), Exit::kRefused);
  if (auto served = serve(**runtime, options); !served) {
    log_line(LogLevel::kError, served.error().text());
    static_cast<void>(stop_and_sum_up(**runtime));
    return static_cast<int>(Exit::kRefused);
  }
  return static_cast<int>(stop_and_sum_up(**runtime));
}

}  // namespace
}  // namespace mqsteer

int main(int argc, char** argv) {
  try {
    return mqsteer::run(argc, argv);
  } catch (const std::exception& error) {  // out of memory, at most
    std::cerr << "mqsteerd: error: " << error.what() << '\n';
    return static_cast<int>(mqsteer::Exit::kRefused);
  }
}
