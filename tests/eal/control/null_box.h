#pragma once

#include "eal/eal.h"
#include "handlers/forward.h"
#include "runtime/runtime.h"

#include <memory>
#include <stdexcept>
#include <vector>

namespace mqsteer::test {

/// A runtime on CPUs 0 and 1 between two net_null ports, which deliver packets as fast as they are
/// taken: permanent overload.
class NullBox {
 public:
  inline static const Eal* eal = nullptr;  ///< set by main

  NullBox() {
    static int number = 0;  // DPDK keeps the names of devices for a while
    config.lcores = {0, 1};
    for (const char* name : {"left", "right"}) {
      config.ports.push_back(
          {.name = name, .device = "net_null" + std::to_string(number++) + ",size=64"});
    }
    config.bridges = {{.name = "br0", .ports = {"left", "right"}}};
    config.steering.backlog_slots = 1024;
    config.steering.backlog_budget = 2048;
    std::vector<PortCapabilities> ports;
    PlanInput input{.config = config, .lcores = {LcoreId{0}, LcoreId{1}}};
    for (const PortConfig& port : config.ports) {
      ports.push_back(need(open_port(port)));
      input.ports.push_back(facts_of(ports.back(), port));
    }
    const Forward forward{peers_of(config, ports)};
    runtime = need(Runtime::start({.eal = eal,
                                   .config = config,
                                   .plan = need(make_plan(input)),
                                   .ports = std::move(ports),
                                   .loops = loops_with(forward)}));
  }

  template <class T>
  static T need(Expected<T> made) {
    if (!made) throw std::runtime_error(made.error().text());
    return std::move(*made);
  }

  Config config;
  std::unique_ptr<Runtime> runtime;
};

}  // namespace mqsteer::test
