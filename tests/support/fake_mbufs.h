#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace mqsteer::test {

/// Direct, single-segment mbufs in plain memory, for tests that run without EAL. Each has a buffer
/// of its own, exactly as long as its data, so that a sanitizer sees a read past the packet.
class FakeMbufs {
 public:
  rte_mbuf* make(std::span<const std::uint8_t> bytes) {
    auto& made = all_.emplace_back(std::make_unique<Made>());
    made->data.assign(bytes.begin(), bytes.end());
    std::memset(&made->mbuf, 0, sizeof(made->mbuf));
    made->mbuf.buf_addr = made->data.data();
    made->mbuf.buf_len = static_cast<std::uint16_t>(made->data.size());
    made->mbuf.data_len = static_cast<std::uint16_t>(made->data.size());
    made->mbuf.pkt_len = made->mbuf.data_len;
    made->mbuf.nb_segs = 1;
    rte_mbuf_refcnt_set(&made->mbuf, 1);
    return &made->mbuf;
  }

  /// One packet whose bytes are cut into segments of `at` bytes.
  rte_mbuf* make_segmented(std::span<const std::uint8_t> bytes, std::size_t at) {
    rte_mbuf* first = nullptr;
    rte_mbuf* last = nullptr;
    for (std::size_t from = 0; from < bytes.size(); from += at) {
      rte_mbuf* part = make(bytes.subspan(from, std::min(at, bytes.size() - from)));
      if (first == nullptr) {
        first = part;
      } else {
        last->next = part;
        first->pkt_len += part->data_len;
        ++first->nb_segs;
      }
      last = part;
    }
    return first;
  }

 private:
  struct Made {
    rte_mbuf mbuf;
    std::vector<std::uint8_t> data;
  };
  std::vector<std::unique_ptr<Made>> all_;
};

}  // namespace mqsteer::test
