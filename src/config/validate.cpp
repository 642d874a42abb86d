#include "config/validate.h"

#include "config/device_name.h"
#include "config/schema.h"
#include "config/words.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace mqsteer {
namespace {

using Done = Expected<void>;

std::string indexed(const char* section, std::size_t index, const char* key) {
  return std::string{section} + '[' + std::to_string(index) + "]." + key;
}

/// One check a function, over one configuration; the first that fails is the answer.
class Validator {
 public:
  Validator(const Config& config, const KeyOrigins& origins) : config_{config}, origins_{origins} {}

  [[nodiscard]] Done values() const {
    Done done;
    schema::for_each_key(config_,
                         [&](const std::string& path, const auto& key, const auto& section) {
                           if (!done) return;
                           const auto checked = key.check(section, key);
                           if (!checked) done = refuse(path, checked.error().message);
                         });
    return done;
  }

  [[nodiscard]] Done ports() const {
    if (config_.ports.empty()) return refuse("ports", "there are no ports; allowed: 1..32 ports");
    if (config_.ports.size() > schema::kMaxPorts) {
      return refuse("ports", std::to_string(config_.ports.size()) +
                                 " ports are too many; allowed: 1..32 ports");
    }
    std::set<std::string> names;
    std::map<std::string, std::string> owners;  // what a device claims -> port name
    for (std::size_t i = 0; i < config_.ports.size(); ++i) {
      const PortConfig& port = config_.ports[i];
      if (!names.insert(port.name).second) {
        return refuse(
            indexed("ports", i, "name"),
            "another port is called " + in_quotes(port.name) + " too; allowed: a name of its own");
      }
      for (const std::string& claim : claims_of(port.device)) {
        const auto [owner, is_new] = owners.try_emplace(claim, port.name);
        if (is_new || owner->second == port.name) continue;
        return refuse(indexed("ports", i, "device"),
                      in_quotes(claim) + " is already the device of port " + owner->second +
                          "; allowed: a device of its own for each port");
      }
    }
    return {};
  }

  [[nodiscard]] Done bridges() const {
    std::vector<std::string_view> known;
    for (const PortConfig& port : config_.ports) known.push_back(port.name);
    std::set<std::string> names;
    std::map<std::string, std::string> bridge_of;  // port -> bridge
    for (std::size_t i = 0; i < config_.bridges.size(); ++i) {
      const BridgeConfig& bridge = config_.bridges[i];
      if (!names.insert(bridge.name).second) {
        return refuse(indexed("bridge", i, "name"), "another bridge is called " +
                                                        in_quotes(bridge.name) +
                                                        " too; allowed: a name of its own");
      }
      const std::string path = indexed("bridge", i, "ports");
      if (bridge.ports[0] == bridge.ports[1]) {
        return refuse(path, in_quotes(bridge.ports[0]) + " is both ports; allowed: two ports of " +
                                join(known));
      }
      for (const std::string& port : bridge.ports) {
        if (std::ranges::find(known, port) == known.end()) {
          return refuse(path, in_quotes(port) + " is not a port; allowed: " + join(known));
        }
        const auto [other, is_new] = bridge_of.try_emplace(port, bridge.name);
        if (!is_new) {
          return refuse(path, in_quotes(port) + " is already in bridge " + other->second +
                                  "; allowed: one bridge a port");
        }
      }
    }
    return {};
  }

  [[nodiscard]] Done rr() const {
    const RrConfig& rr = config_.rr;
    if (rr.port.empty()) return {};
    std::vector<std::string_view> known;
    for (const PortConfig& port : config_.ports) known.push_back(port.name);
    if (std::ranges::find(known, rr.port) == known.end()) {
      return refuse("rr.port", in_quotes(rr.port) + " is not a port; allowed: " + join(known));
    }
    if (rr.ipv4.empty() && rr.ipv6.empty()) {
      return refuse("rr.ipv4", "port " + rr.port +
                                   " has no address to answer for; allowed: an IPv4 address, or "
                                   "rr.ipv6, or both");
    }
    if (config_.bridges.empty()) return {};
    return refuse("rr.port", "a box answers or bridges, and there is bridge " +
                                 config_.bridges.front().name +
                                 " too; allowed: no bridge beside rr.port");
  }

  /// lcores: how many there will be; 0: not known yet
  [[nodiscard]] Done workers(std::size_t lcores) const {
    const auto& workers = config_.steering.workers;
    const auto& weights = config_.steering.weights;
    for (const std::uint16_t worker : workers) {
      if (lcores == 0 || worker < lcores) continue;
      const std::string most = std::to_string(lcores - 1);
      return refuse("steering.workers", "worker " + std::to_string(worker) +
                                            " does not exist with " + std::to_string(lcores) +
                                            " lcores; allowed: 0.." + most);
    }
    const std::size_t wanted = workers.empty() ? lcores : workers.size();
    if (weights.empty() || wanted == 0 || weights.size() == wanted) return {};
    return refuse("steering.weights", std::to_string(weights.size()) + " weights for " +
                                          std::to_string(wanted) +
                                          " workers; allowed: equal, or a weight for each worker");
  }

  [[nodiscard]] Done lcores(const MachineFacts& facts) const {
    for (const std::uint16_t cpu : config_.lcores) {
      const std::string name = "CPU " + std::to_string(cpu);
      if (!std::ranges::binary_search(facts.online_cpus, cpu)) {
        return refuse("lcores", name + " is not there or offline; allowed: " +
                                    format_number_list(facts.usable_cpus));
      }
      if (!std::ranges::binary_search(facts.usable_cpus, cpu)) {
        return refuse("lcores", name + " is outside the affinity mask of this process; allowed: " +
                                    format_number_list(facts.usable_cpus));
      }
    }
    const std::size_t count = lcores_of(config_, facts).size();
    if (count >= 1 && count <= kMaxLcores) return {};
    return refuse("lcores", "auto means " + std::to_string(count) +
                                " CPUs here; allowed: 1..127, list them such as 0-126");
  }

 private:
  static constexpr std::size_t kMaxLcores = 127;  // of DPDK's 128, one is the control thread's

  [[nodiscard]] tl::unexpected<Error> refuse(const std::string& key,
                                             const std::string& what) const {
    return fail(origins_.describe(key) + ": " + what);
  }

  const Config& config_;
  const KeyOrigins& origins_;
};

Expected<std::vector<std::uint16_t>> online_cpus() {
  constexpr const char* kPath = "/sys/devices/system/cpu/online";
  std::ifstream file{kPath};
  std::string line;
  if (!std::getline(file, line)) return fail(std::string{kPath} + ": cannot read the online CPUs");
  auto cpus = parse_number_list(line);
  if (!cpus) return fail(std::string{kPath} + ": " + cpus.error().message);
  return cpus;
}

}  // namespace

Expected<MachineFacts> machine_facts() {
  auto online = online_cpus();
  if (!online) return tl::unexpected(online.error());
  constexpr int kMostCpus = 65536;
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask{
      CPU_ALLOC(kMostCpus), [](cpu_set_t* set) { CPU_FREE(set); }};
  const std::size_t bytes = CPU_ALLOC_SIZE(kMostCpus);
  if (mask == nullptr) return fail(ENOMEM, "cannot read the affinity mask");
  CPU_ZERO_S(bytes, mask.get());
  if (::sched_getaffinity(0, bytes, mask.get()) != 0) {
    return fail(errno, "cannot read the affinity mask");
  }
  MachineFacts facts{std::move(*online), {}};
  std::ranges::copy_if(facts.online_cpus, std::back_inserter(facts.usable_cpus),
                       [&](std::uint16_t cpu) { return CPU_ISSET_S(cpu, bytes, mask.get()) != 0; });
  return facts;
}

std::vector<std::uint16_t> lcores_of(const Config& config, const MachineFacts& facts) {
  return config.lcores.empty() ? facts.usable_cpus : config.lcores;
}

Expected<void> validate(const Config& config, const KeyOrigins& origins) {
  const Validator check{config, origins};
  return check.values()
      .and_then([&] { return check.ports(); })
      .and_then([&] { return check.bridges(); })
      .and_then([&] { return check.rr(); })
      .and_then([&] { return check.workers(config.lcores.size()); });
}

Expected<void> validate(const Config& config, const MachineFacts& facts,
                        const KeyOrigins& origins) {
  const Validator check{config, origins};
  return validate(config, origins).and_then([&] { return check.lcores(facts); }).and_then([&] {
    return check.workers(lcores_of(config, facts).size());
  });
}

}  // namespace mqsteer
