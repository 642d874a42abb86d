// Any bytes as a frame: within bounds (libFuzzer's input is a heap block of its size), and the same
// answer on every way through the code.

#include "packet/flow_hasher.h"
#include "packet/flow_key.h"
#include "packet/fragment.h"
#include "packet/hash.h"

#include <rte_mbuf_core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
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

bool same(const Dissection& a, const Dissection& b) {
  return a.key == b.key && a.key.kind == b.key.kind && a.flags == b.flags && a.l3 == b.l3 &&
         a.l4 == b.l4;
}

const std::vector<FlowHasher>& hashers() {
  static const std::vector<FlowHasher> all = [] {
    std::vector<FlowHasher> made;
    for (const auto kind : {HasherConfig::kFast, HasherConfig::kToeplitz}) {
      for (const bool symmetric : {true, false}) {
        for (const auto tunnels : {TunnelKey::kInner, TunnelKey::kOuter}) {
          made.emplace_back(HasherConfig{.kind = kind, .symmetric = symmetric, .tunnels = tunnels});
        }
      }
    }
    return made;
  }();
  return all;
}

/// The packet in an mbuf chain cut at `cut`, through the data path.
PacketMeta through_data_path(const FlowHasher& hasher, std::span<const std::uint8_t> packet,
                             std::size_t cut) {
  const auto block = [](std::span<const std::uint8_t> part) {
    auto copy = std::make_unique<std::uint8_t[]>(part.size());
    std::copy(part.begin(), part.end(), copy.get());
    return copy;
  };
  const auto first = block(packet.first(cut));
  const auto second = block(packet.subspan(cut));
  rte_mbuf head{};
  rte_mbuf tail{};
  head.buf_addr = first.get();
  head.data_len = static_cast<std::uint16_t>(cut);
  head.pkt_len = static_cast<std::uint32_t>(packet.size());
  tail.buf_addr = second.get();
  tail.data_len = static_cast<std::uint16_t>(packet.size() - cut);
  if (cut < packet.size()) head.next = &tail;
  PacketMeta meta{.mbuf = &head};
  hasher.run({&meta, 1});
  return meta;
}

void check_data_path(const FlowHasher& hasher, std::span<const std::uint8_t> packet,
                     std::size_t cut) {
  const auto* data = reinterpret_cast<const std::byte*>(packet.data());
  const auto said = hasher.explain(data, packet.size(), packet.size());
  for (const std::size_t at : {packet.size(), cut}) {
    const PacketMeta meta = through_data_path(hasher, packet, at);
    must(meta.hash == said.hash && meta.kind == said.dissection.key.kind &&
             meta.flags == said.dissection.flags && meta.l3 == said.dissection.l3 &&
             meta.l4 == said.dissection.l4,
         "the data path does what explain() says, in one segment and in two");
  }
}

void check_hash(const FlowKey& key) {
  Bytes input;
  for (std::size_t i = 0; i < key.word_count(); ++i) {
    for (unsigned shift = 32; shift > 0; shift -= 8) {
      input.push_back(static_cast<std::uint8_t>(key.words[i] >> (shift - 8)));
    }
  }
  static const Toeplitz toeplitz{kMicrosoftKey};
  must(toeplitz.by_tables(key) == toeplitz_reference(kMicrosoftKey, input),
       "Toeplitz equals its definition");
}

void check_fragment(std::span<const std::uint8_t> packet, const KeyOptions& options,
                    const Dissection& found) {
  const auto* data = reinterpret_cast<const std::byte*>(packet.data());
  const auto fragment = dissect_fragment(data, packet.size(), options);
  must(fragment.has_value() == (found.key.kind == PacketKind::kFragment),
       "what has the kind of a fragment is one, and nothing else");
  if (!fragment) return;
  must(fragment->more || fragment->offset != 0, "a whole datagram is no fragment");
  must(!fragment->flow_known || fragment->offset == 0, "only the first fragment names the flow");
  must(!to_text(fragment->flow).empty(), "every flow has a text");
}

/// The keyed header's ends exchanged, in place: the packet's answer.
void swap_ends(Bytes& packet, const Dissection& found) {
  const bool v6 = found.key.family == AddressFamily::kIpv6;
  const std::size_t size = v6 ? 16 : 4;
  const auto source = packet.begin() + found.l3 + (v6 ? 8 : 12);
  std::swap_ranges(source, source + static_cast<std::ptrdiff_t>(size),
                   source + static_cast<std::ptrdiff_t>(size));
  if (found.key.form != KeyForm::kPorts) return;
  const auto port = packet.begin() + found.l4;
  std::swap_ranges(port, port + 2, port + 2);
}

void check_symmetry(std::span<const std::uint8_t> packet) {
  // Outer: exchanged ports could make a tunnel of what was none.
  const KeyOptions options{.symmetric = true, .tunnels = TunnelKey::kOuter};
  const auto dissected = [&options](std::span<const std::uint8_t> bytes) {
    return dissect(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), bytes.size(),
                   options);
  };
  const Dissection found = dissected(packet);
  const bool ports_far = found.key.form == KeyForm::kPorts && found.l4 == 0;
  if (found.l3 == 0 || ports_far) return;
  Bytes answer{packet.begin(), packet.end()};
  swap_ends(answer, found);
  const Dissection back = dissected(answer);
  must(back.key == found.key, "both directions have one key");
  must(fast_hash(back.key) == fast_hash(found.key), "both directions have one hash");
}

}  // namespace
}  // namespace mqsteer

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mqsteer;
  const std::span<const std::uint8_t> packet{data, size};
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  for (const bool symmetric : {true, false}) {
    for (const auto tunnels : {TunnelKey::kInner, TunnelKey::kOuter}) {
      const KeyOptions options{.symmetric = symmetric, .tunnels = tunnels};
      const Dissection found = dissect(bytes, size, size, options);
      must(same(found, dissect_any(bytes, size, options)), "the short cut changes nothing");
      must(found.l3 < std::max<std::size_t>(size, 1) && found.l4 < std::max<std::size_t>(size, 1),
           "offsets lie in the packet");
      must(!to_text(found.key).empty(), "every key has a text");
      check_hash(found.key);
      check_fragment(packet, options, found);
    }
  }
  const std::size_t cut = size == 0 ? 0 : data[size - 1] % (size + 1);
  for (const FlowHasher& hasher : hashers()) check_data_path(hasher, packet, cut);
  check_symmetry(packet);
  return 0;
}
