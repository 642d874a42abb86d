#include "mqsim/report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace mqsteer::sim {
namespace {

template <class... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), pattern, arguments...);
  return text.data();
}

unsigned long long wide(std::uint64_t value) {
  return value;
}

double share(const Summary& summary, std::uint64_t packets) {
  return summary.packets == 0 ? 0.0
                              : static_cast<double>(packets) / static_cast<double>(summary.packets);
}

const char* mode_name(const Options& options) {
  return options.mode == SteeringMode::kRps ? "rps" : "soft-rss";
}

std::string notes(const Options& options, const Summary& summary) {
  std::string text;
  if (options.workers > summary.buckets) {
    text += format("note      %u buckets reach no more than %u of %u workers\n", summary.buckets,
                   summary.buckets, options.workers);
  }
  if (summary.packets > 0 && summary.flows < options.workers) {
    text += format("note      %llu flows cannot spread over %u workers: a flow stays on one\n",
                   wide(summary.flows), options.workers);
  }
  return text;
}

}  // namespace

double max_over_mean(const Summary& summary) {
  if (summary.packets == 0) return 0;
  const auto& packets = summary.worker_packets;
  return static_cast<double>(*std::max_element(packets.begin(), packets.end())) *
         static_cast<double>(packets.size()) / static_cast<double>(summary.packets);
}

std::string to_text(const Options& options, const Summary& summary) {
  std::string text = "file      " + options.file + "\n";
  text += format("mode      %s, %u buckets\n", mode_name(options), summary.buckets);
  text += format("packets   %llu\n", wide(summary.packets));
  if (summary.unreadable > 0) {
    text += format("          %llu of them cut short or malformed: by what could be read\n",
                   wide(summary.unreadable));
  }
  text += format("flows     %llu\n", wide(summary.flows));
  text += format("max/mean  %.3f\n", max_over_mean(summary)) + notes(options, summary);
  text += format("\n%-10s %12s %8s\n", "worker", "packets", "share");
  for (std::size_t i = 0; i < summary.worker_packets.size(); ++i) {
    const std::uint64_t packets = summary.worker_packets[i];
    text += format("%-10zu %12llu %7.2f%%\n", i, wide(packets), 100 * share(summary, packets));
  }
  text += format("\n%-10s %12s %8s\n", "kind", "packets", "share");
  for (std::size_t i = 0; i < kPacketKinds; ++i) {
    const std::uint64_t packets = summary.kind_packets[i];
    if (packets == 0) continue;
    text += format("%-10s %12llu %7.2f%%\n", name_of(static_cast<PacketKind>(i)), wide(packets),
                   100 * share(summary, packets));
  }
  return text;
}

std::string to_json(const Options& options, const Summary& summary) {
  nlohmann::ordered_json json{{"file", options.file},
                              {"mode", mode_name(options)},
                              {"buckets", summary.buckets},
                              {"packets", summary.packets},
                              {"flows", summary.flows},
                              {"unreadable", summary.unreadable},
                              {"max_over_mean", max_over_mean(summary)}};
  auto& workers = json["workers"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < summary.worker_packets.size(); ++i) {
    const std::uint64_t packets = summary.worker_packets[i];
    workers.push_back({{"worker", i}, {"packets", packets}, {"share", share(summary, packets)}});
  }
  auto& kinds = json["kinds"] = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < kPacketKinds; ++i) {
    if (summary.kind_packets[i] == 0) continue;
    kinds[name_of(static_cast<PacketKind>(i))] = summary.kind_packets[i];
  }
  // A file name need not be UTF-8.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string per_packet_header() {
  return "n\tkind\tkey\thash\tbucket\tworker\n";
}

std::string per_packet_line(const Verdict& verdict) {
  return format("%llu\t%s\t", wide(verdict.n), name_of(verdict.key.kind)) + to_text(verdict.key) +
         format("\t%08x\t%u\t%u\n", verdict.hash, verdict.bucket,
                static_cast<unsigned>(verdict.worker.value()));
}

}  // namespace mqsteer::sim
