#include "mqsim/simulation.h"

#include "mqsim/consumers.h"
#include "packet/hash.h"
#include "steering/bucket_index.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace mqsteer::sim {
namespace {

struct Close {
  void operator()(pcap_t* pcap) const { pcap_close(pcap); }
};
using Pcap = std::unique_ptr<pcap_t, Close>;

/// libpcap's texts may have several lines; ours have one.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

Expected<Pcap> open(const std::string& file) {
  std::array<char, PCAP_ERRBUF_SIZE> reason{};
  Pcap pcap{pcap_open_offline(file.c_str(), reason.data())};
  if (pcap == nullptr) {
    const std::string text = one_line(reason.data());
    // libpcap puts the file's name before the system's errors, but not before its own.
    const bool named = text.rfind(file, 0) == 0;
    return fail("cannot read " + (named ? text : file + ": " + text) +
                "; a pcap or pcapng file is wanted");
  }
  const int link = pcap_datalink(pcap.get());
  if (link != DLT_EN10MB) {
    const char* name = pcap_datalink_val_to_name(link);
    return fail("cannot steer " + file + ": its link type is " +
                (name != nullptr ? name : std::to_string(link)) +
                "; only Ethernet (EN10MB) captures have what a NIC receives");
  }
  return pcap;
}

std::string broken_off(const std::string& file, std::uint64_t packets, const std::string& reason) {
  std::string text = "cannot read " + file + " to its end: " + std::to_string(packets) +
                     (packets == 1 ? " packet was read, then: " : " packets were read, then: ") +
                     reason;
  // libpcap has one link type and one snapshot length a file; pcapng has them for each interface.
  if (reason.find("different from the") != std::string::npos) {
    text += "; split it by interface first (tshark -r FILE -Y 'frame.interface_id == 0' -w PART)";
  }
  return text;
}

struct KeyHash {
  std::size_t operator()(const FlowKey& key) const noexcept { return fast_hash(key); }
};

}  // namespace

std::unique_ptr<SteeringTable> table_of(const Options& options) {
  const bool soft_rss = options.mode == SteeringMode::kSoftRss;
  SteeringTable::Shape shape{.mode = options.mode, .bits = kRpsBucketBits};
  if (soft_rss) {
    shape.bits = static_cast<unsigned>(std::countr_zero(options.rss_buckets));
    shape.shift = soft_rss_shift(options.reta_entries, shape.bits);
  }
  if (options.mode == SteeringMode::kRfs) shape.rfs_flows = options.rfs_flows;
  auto table = std::make_unique<SteeringTable>(
      shape, HasherConfig{.kind = soft_rss ? HasherConfig::kToeplitz : HasherConfig::kFast,
                          .symmetric = options.symmetric,
                          .tunnels = options.tunnels});
  std::vector<WorkerId> workers;
  for (std::uint16_t i = 0; i < options.workers; ++i) workers.emplace_back(i);
  table->want_all(spread(table->buckets(), workers, {}), false);
  table->set_live(workers);
  return table;
}

Expected<Summary> simulate(const Options& options,
                           const std::function<void(const Verdict&)>& each) {
  const auto pcap = open(options.file);
  if (!pcap) return tl::unexpected(pcap.error());
  const auto table = table_of(options);
  std::optional<Consumers> consumers;
  if (options.mode == SteeringMode::kRfs) consumers.emplace(options, *table);
  Summary summary;
  summary.buckets = table->buckets();
  summary.worker_packets.resize(options.workers);
  std::unordered_set<FlowKey, KeyHash> flows;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  int status = 0;
  while ((status = pcap_next_ex(pcap->get(), &header, &data)) == 1) {
    // A length below the captured bytes is a broken record; the bytes are there all the same.
    const std::size_t length = std::max(header->len, header->caplen);
    const auto [found, hash] =
        table->hasher().explain(reinterpret_cast<const std::byte*>(data), header->caplen, length);
    const FlowKey& key = found.key;
    const WorkerId worker =
        consumers ? consumers->steer(key, hash) : WorkerId{table->desired_of(hash).worker()};
    ++summary.packets;
    ++summary.worker_packets[worker.value()];
    ++summary.kind_packets[static_cast<std::size_t>(key.kind)];
    summary.unreadable += (found.flags & kUnreadable) != 0 ? 1U : 0U;
    flows.insert(key);
    if (each) {
      each({.n = summary.packets,
            .key = key,
            .hash = hash,
            .bucket = table->bucket_of(hash),
            .worker = worker});
    }
  }
  if (status != PCAP_ERROR_BREAK) {
    return fail(broken_off(options.file, summary.packets, one_line(pcap_geterr(pcap->get()))));
  }
  summary.flows = flows.size();
  if (consumers) summary.rfs = consumers->finish();
  return summary;
}

}  // namespace mqsteer::sim
