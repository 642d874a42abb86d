#include "mqrr/report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace mqsteer::rr_kernel {
namespace {

double us(std::uint64_t ns) {
  return static_cast<double>(ns) / 1000;
}

struct Quantile {
  const char* name;
  double share;
};
constexpr std::array kQuantiles{Quantile{"p50", 0.5}, Quantile{"p90", 0.9}, Quantile{"p99", 0.99},
                                Quantile{"p99_9", 0.999}};

}  // namespace

std::string seconds_text(double seconds) {
  std::string text = std::to_string(seconds);
  return text.substr(0, text.find('.') + 2) + " s";
}

std::string text_report(const ClientConfig& config, const ClientResult& result) {
  std::array<char, 256> line{};
  std::string text;
  const auto add = [&](const char* format, auto... values) {
    std::snprintf(line.data(), line.size(), format, values...);
    text += line.data();
  };
  add("%u connections to %s, %u thread(s), %u byte(s) each way, %.1f s\n", config.connections,
      config.server.text().c_str(), std::min(config.threads, config.connections), config.size,
      result.seconds);
  add("%.0f transactions/s (%llu in all)\n", result.per_second(),
      static_cast<unsigned long long>(result.transactions));
  text += "latency, us:";
  for (const Quantile& quantile : kQuantiles) {
    add("  %s %.1f", quantile.name, us(result.latency.quantile(quantile.share)));
  }
  add("  max %.1f\nby second:", us(result.latency.max()));
  for (const std::uint64_t second : result.series) text += ' ' + std::to_string(second);
  add("\nerrors: %u connections lost, %u of them for a wrong response, %u silent\n", result.lost,
      result.wrong, result.silent);
  return text;
}

std::string json_report(const ClientConfig& config, const ClientResult& result) {
  nlohmann::ordered_json latency;
  for (const Quantile& quantile : kQuantiles) {
    latency[quantile.name] = us(result.latency.quantile(quantile.share));
  }
  latency["max"] = us(result.latency.max());
  const nlohmann::ordered_json json = {{"server", config.server.text()},
                                       {"connections", config.connections},
                                       {"threads", std::min(config.threads, config.connections)},
                                       {"size", config.size},
                                       {"seconds", result.seconds},
                                       {"transactions", result.transactions},
                                       {"tps", result.per_second()},
                                       {"latency_us", latency},
                                       {"series", result.series},
                                       {"lost", result.lost},
                                       {"wrong", result.wrong},
                                       {"silent", result.silent},
                                       {"trouble", result.trouble}};
  return json.dump() + '\n';
}

}  // namespace mqsteer::rr_kernel
