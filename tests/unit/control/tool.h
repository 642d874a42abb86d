#pragma once

#include "control/commands.h"
#include "fake_target.h"
#include "serving.h"
#include "temporary_directory.h"

#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>

namespace mqsteer::test {

struct Output {
  int exit = -1;
  std::string out;
  std::string err;
};

/// mqsteerctl beside a daemon of fixed figures.
class Tool {
 public:
  Tool() { start(); }

  void start() {
    serving_ = std::make_unique<Serving>(
        ControlConfig{.instance = "box", .runtime_directory = directory_.path()},
        [this](std::string_view line) {
          const std::lock_guard lock{mutex};
          return answer(target, line);
        });
  }
  void stop_daemon() { serving_.reset(); }

  [[nodiscard]] std::size_t clients() const { return serving_->clients(); }

  [[nodiscard]] std::string socket() const { return directory_.path() + "/box/control.sock"; }
  [[nodiscard]] std::string path(const std::string& name) const {
    return directory_.path() + '/' + name;
  }

  /// arguments: as a shell takes them
  [[nodiscard]] Output run(const std::string& arguments) const {
    const std::string command = "timeout 10 " MQSTEERCTL " --socket " + socket() + ' ' + arguments +
                                " >" + path("out") + " 2>" + path("err");
    const int status = std::system(command.c_str());
    return {WEXITSTATUS(status), read("out"), read("err")};
  }

  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file{path(name)};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

  FakeTarget target;
  std::mutex mutex;  ///< of the target, while the daemon is there

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<Serving> serving_;
};

}  // namespace mqsteer::test
