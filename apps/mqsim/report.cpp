#include "mqsim/report.h"

#include <algorithm>
#include <array>
#include <cstdint>
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
  if (options.mode == SteeringMode::kRfs) return "rfs";
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

std::string rfs_text(const Options& options, const Summary& summary) {
  const RfsSummary& rfs = *summary.rfs;
  const auto hops = [&summary](const char* name, std::uint64_t count) {
    return format("%-14s %12llu %8.2f%% of the packets\n", name, wide(count),
                  100 * share(summary, count));
  };
  std::string text = "\nconsumers      placed round robin, ";
  text += options.consumers_move == 0 ? "holding still\n"
                                      : format("each moving on every %llu packets of its flow\n",
                                               wide(options.consumers_move));
  text += format("backlog        %u packets on the way at once\n", options.backlog);
  text += hops("hops under rps", rfs.hops_under_rps) + hops("hops under rfs", rfs.hops);
  text += format("%-14s %12lld\n", "hops saved",
                 static_cast<long long>(rfs.hops_under_rps) - static_cast<long long>(rfs.hops));
  text += format("%-14s %12llu\n", "consumer moves", wide(rfs.consumer_moves));
  text += format("%-14s %12llu\n", "moves", wide(rfs.moves));
  text += format("%-14s %12llu packets stayed until their flow had drained\n", "moves held",
                 wide(rfs.moves_held));
  if (rfs.displaced > 0) {
    text +=
        format("note      %llu flows lost their place in the table; --rfs-flows makes it larger\n",
               wide(rfs.displaced));
  }
  return text;
}

nlohmann::ordered_json rfs_json(const Options& options, const Summary& summary) {
  const RfsSummary& rfs = *summary.rfs;
  return {{"rfs_flows", options.rfs_flows},
          {"consumers_move", options.consumers_move},
          {"backlog", options.backlog},
          {"hops_under_rps", rfs.hops_under_rps},
          {"hops", rfs.hops},
          {"hops_saved",
           static_cast<std::int64_t>(rfs.hops_under_rps) - static_cast<std::int64_t>(rfs.hops)},
          {"consumer_moves", rfs.consumer_moves},
          {"moves", rfs.moves},
          {"moves_held", rfs.moves_held},
          {"displaced", rfs.displaced}};
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
  if (summary.rfs) text += rfs_text(options, summary);
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
  if (summary.rfs) json["rfs"] = rfs_json(options, summary);
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
