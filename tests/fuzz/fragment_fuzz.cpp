// Any stream of fragments, made from a few bytes each or taken as it is: every packet comes out
// once, the hold stays bounded, and each goes by its flow's hash or by the fragment key.

#include "packet/flow_hasher.h"
#include "steering/fragment_tracker.h"

#include <rte_mbuf_core.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

namespace mqsteer {
namespace {

using Bytes = std::vector<std::uint8_t>;

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

/// The fuzzer's input, a byte at a time; zeros behind its end.
class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : bytes_{bytes} {}
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t value = bytes_[0];
    bytes_ = bytes_.subspan(1);
    return value;
  }
  Bytes some(std::size_t size) {
    size = std::min(size, bytes_.size());
    const Bytes taken{bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size)};
    bytes_ = bytes_.subspan(size);
    return taken;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// An IPv4 or IPv6 fragment of one of 16 datagrams between one pair of hosts.
Bytes fragment(Input& input, bool v6) {
  const std::uint8_t id = input.byte() & 0xfU;
  const std::uint8_t place = input.byte();  // offset in units of 8, and more fragments
  const Bytes part = input.some(input.byte() & 0x1fU);
  const auto offset = static_cast<std::uint8_t>(place >> 3U);
  const bool more = (place & 1U) != 0;
  const auto length = static_cast<std::uint8_t>(part.size() + (v6 ? 8 : 20));
  Bytes all(12, 2);
  const auto add = [&all](std::initializer_list<std::uint8_t> bytes) {
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  if (v6) {
    add({0x86, 0xdd, 0x60, 0, 0, 0, 0, length, 44, 64});
    all.resize(all.size() + 32, 1);
    add({17, 0, 0, static_cast<std::uint8_t>(unsigned{offset} << 3U | (more ? 1U : 0U)), 0, 0, 0,
         id});
  } else {
    const std::uint8_t flags = more ? 0x20 : 0;
    add({0x08, 0, 0x45, 0, 0, length, 0, id, flags, offset, 64, 17, 0, 0});
    add({10, 0, 0, 1, 10, 0, 0, 2});
  }
  all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// A stage under test; packets are heap blocks of their size.
class Stage {
 public:
  Stage(HasherConfig::HashKind kind, FragmentTracker& tracker)
      : hasher_{{.kind = kind}}, tracker_{tracker} {
    tracker_.adopt(hasher_);
  }

  void run(Input input) {
    const std::uint64_t before = counted();
    std::vector<PacketMeta> burst;
    while (!input.empty()) {
      const std::uint8_t step = input.byte();
      burst.push_back({.mbuf = make((step & 3U) == 3U ? input.some(input.byte())
                                                      : fragment(input, (step & 1U) != 0))});
      if (burst.size() < kMaxBurst && (step & 4U) != 0) continue;
      send(burst);
      now_ += (step >> 3U) * std::uint64_t{1'000'000};
      if ((step & 8U) == 0) take(tracker_.expire(TscCycles{now_}));
    }
    send(burst);
    take(tracker_.release_all(TscCycles{now_}));
    must(out_ == sent_.size() && tracker_.held() == 0, "everything comes out");
    must(counted() - before == fragments_, "every fragment counts");
  }

 private:
  [[nodiscard]] std::uint64_t counted() const {
    return tracker_.counters().tracked.read() + tracker_.counters().missed.read();
  }

  struct Sent {
    rte_mbuf mbuf{};
    std::unique_ptr<std::uint8_t[]> bytes;
    std::uint32_t fragment_key = 0;
    bool out = false;
  };

  rte_mbuf* make(const Bytes& bytes) {
    Sent& sent = sent_.emplace_back();
    sent.bytes = std::make_unique<std::uint8_t[]>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), sent.bytes.get());
    sent.mbuf.buf_addr = sent.bytes.get();
    sent.mbuf.data_len = static_cast<std::uint16_t>(bytes.size());
    sent.mbuf.pkt_len = sent.mbuf.data_len;
    by_mbuf_[&sent.mbuf] = &sent;
    return &sent.mbuf;
  }

  void send(std::vector<PacketMeta>& burst) {
    hasher_.run(burst);
    for (const PacketMeta& packet : burst) {
      by_mbuf_[packet.mbuf]->fragment_key = packet.hash;
      if (packet.kind == PacketKind::kFragment) {
        ++fragments_;
        const auto found = hasher_.fragment_of(*packet.mbuf);
        if (found && found->flow_known) hashes_[hasher_.hash_of(found->flow)] = true;
      }
    }
    take(tracker_.track(burst, TscCycles{now_}));
    must(tracker_.held() <= FragmentTracker::kPackets, "the hold is bounded");
    burst.clear();
  }

  void take(std::span<const PacketMeta> packets) {
    for (const PacketMeta& packet : packets) {
      Sent& sent = *by_mbuf_.at(packet.mbuf);
      must(!sent.out, "no packet comes out twice");
      sent.out = true;
      ++out_;
      must(packet.hash == sent.fragment_key || hashes_.contains(packet.hash),
           "a hash is the packet's own or that of a flow that came");
    }
  }

  FlowHasher hasher_;
  FragmentTracker& tracker_;
  std::deque<Sent> sent_;
  std::map<const rte_mbuf*, Sent*> by_mbuf_;
  std::map<std::uint32_t, bool> hashes_;
  std::uint64_t fragments_ = 0;
  std::size_t out_ = 0;
  std::uint64_t now_ = 1;
};

}  // namespace
}  // namespace mqsteer

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mqsteer;
  static FragmentTracker tracker{1'000'000'000, *std::pmr::new_delete_resource()};
  for (const auto kind : {HasherConfig::kFast, HasherConfig::kToeplitz}) {
    Stage{kind, tracker}.run(Input{{data, size}});
  }
  return 0;
}
