#pragma once

#include "support/packet_builder.h"

#include <mqsteer/drop_reason.h>
#include <mqsteer/id.h>
#include <mqsteer/packet_meta.h>

#include <rte_mbuf.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace mqsteer::test {

/// Mbufs on the heap that are freed when they leave. Behind a packet lie `spare` bytes and nothing
/// else, so that a sanitizer sees what goes past them.
class HeapMbufs {
 public:
  rte_mbuf* make(std::span<const std::uint8_t> bytes, std::size_t spare) {
    auto one = std::make_unique<One>();
    std::memset(&one->mbuf, 0, sizeof one->mbuf);
    one->data = std::make_unique<std::uint8_t[]>(bytes.size() + spare);
    if (!bytes.empty()) std::memcpy(one->data.get(), bytes.data(), bytes.size());
    rte_mbuf& mbuf = one->mbuf;
    mbuf.buf_addr = one->data.get();
    mbuf.buf_len = static_cast<std::uint16_t>(bytes.size() + spare);
    mbuf.data_len = static_cast<std::uint16_t>(bytes.size());
    mbuf.pkt_len = mbuf.data_len;
    mbuf.nb_segs = 1;
    rte_mbuf_refcnt_set(&mbuf, 1);
    rte_mbuf* made = &mbuf;
    all_.emplace(made, std::move(one));
    return made;
  }
  /// returns: false where it was freed before
  bool free(rte_mbuf* mbuf) { return all_.erase(mbuf) == 1; }
  [[nodiscard]] std::size_t in_use() const { return all_.size(); }

 private:
  struct One {
    rte_mbuf mbuf;
    std::unique_ptr<std::uint8_t[]> data;
  };
  std::unordered_map<rte_mbuf*, std::unique_ptr<One>> all_;
};

/// An outbox that keeps what it is given.
class FakeOutbox {
 public:
  struct HandedOver {
    WorkerId to;
    PacketMeta packet;
  };
  explicit FakeOutbox(HeapMbufs& mbufs, WorkerId worker = {}) : mbufs_{mbufs}, worker_{worker} {}

  [[nodiscard]] WorkerId worker() const noexcept { return worker_; }
  void transmit(PortId port, const PacketMeta& packet) noexcept {
    if (packet.length != packet.mbuf->pkt_len) ++wrong;
    ++transmitted;
    take(port, packet.mbuf);
  }
  void consume(const PacketMeta& packet) noexcept {
    ++consumed;
    give_back(packet.mbuf);
  }
  void drop(const PacketMeta& packet, DropReason /*reason*/) noexcept {
    ++dropped;
    give_back(packet.mbuf);
  }
  void hand_over(WorkerId to, const PacketMeta& packet) noexcept {
    if (to == worker_) ++wrong;
    ++handed;
    handed_over.push_back({to, packet});
  }
  rte_mbuf* allocate() noexcept {
    if (no_mbufs) return nullptr;
    ++allocated;
    rte_mbuf* made = mbufs_.make({}, 2048);
    return made;
  }
  void transmit_made(PortId port, rte_mbuf* mbuf) noexcept {
    ++originated;
    take(port, mbuf);
  }
  void free_made(rte_mbuf* mbuf) noexcept {
    --allocated;
    give_back(mbuf);
  }
  void record_flow(const PacketMeta& packet) noexcept { recorded.push_back(packet.hash); }
  WorkerId next_owner() noexcept { return owners.empty() ? worker_ : next_of_owners(); }
  [[nodiscard]] bool checksums_in_nic(PortId /*port*/) const noexcept { return in_nic; }

  /// Every packet that was given to the handler has left, by one way.
  [[nodiscard]] std::uint64_t left() const { return transmitted + consumed + dropped + handed; }

  std::deque<Bytes> sent;                ///< frames in order
  std::deque<std::uint64_t> sent_flags;  ///< their ol_flags
  std::deque<HandedOver> handed_over;    ///< to be taken by the test
  std::vector<std::uint32_t> recorded;
  std::vector<WorkerId> owners;  ///< of the flows to come, in turn; empty: this worker
  bool no_mbufs = false;
  bool in_nic = false;
  std::uint64_t transmitted = 0, consumed = 0, dropped = 0, handed = 0;
  std::uint64_t allocated = 0, originated = 0;
  std::uint64_t wrong = 0;  ///< calls that no handler may make

 private:
  WorkerId next_of_owners() { return owners[turn_++ % owners.size()]; }
  void take(PortId port, rte_mbuf* mbuf) {
    if (port != PortId{kPort}) ++wrong;
    if (mbuf->nb_segs != 1 || mbuf->data_len != mbuf->pkt_len) ++wrong;
    if (mbuf->data_off + mbuf->data_len > mbuf->buf_len) ++wrong;
    const auto* bytes = rte_pktmbuf_mtod(mbuf, const std::uint8_t*);
    sent.emplace_back(bytes, bytes + mbuf->data_len);
    sent_flags.push_back(mbuf->ol_flags);
    give_back(mbuf);
  }
  void give_back(rte_mbuf* mbuf) {
    if (!mbufs_.free(mbuf)) ++wrong;
  }

 public:
  static constexpr std::uint16_t kPort = 3;

 private:
  HeapMbufs& mbufs_;
  WorkerId worker_;
  std::size_t turn_ = 0;
};

}  // namespace mqsteer::test
