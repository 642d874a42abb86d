#pragma once

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace mqsteer::test {

/// What the payload of a numbered packet says. `worker` is filled in by the handler under test.
struct Number {
  std::uint32_t flow = 0;
  std::uint32_t worker = 0xffffffff;
  std::uint64_t sequence = 0;  ///< within the flow, from 0
};

inline constexpr std::size_t kNumberOffset =
    sizeof(rte_ether_hdr) + sizeof(rte_ipv4_hdr) + sizeof(rte_udp_hdr);
inline constexpr std::uint16_t kNumberedBytes = 64;
static_assert(kNumberOffset + sizeof(Number) <= kNumberedBytes);

[[nodiscard]] inline Number number_of(const rte_mbuf& mbuf) {
  Number number;
  std::memcpy(&number, rte_pktmbuf_mtod_offset(&mbuf, const char*, kNumberOffset), sizeof number);
  return number;
}

inline void set_worker(rte_mbuf& mbuf, std::uint32_t worker) {
  std::memcpy(rte_pktmbuf_mtod_offset(&mbuf, char*, kNumberOffset + offsetof(Number, worker)),
              &worker, sizeof worker);
}

/// Makes UDP packets of a number of flows in turn, each numbered within its flow.
class NumberedSource {
 public:
  /// first_flow: flows are first_flow..first_flow + flows - 1, so that sources can be told apart
  NumberedSource(rte_mempool* pool, std::uint32_t flows, std::uint32_t first_flow = 0)
      : pool_{pool}, first_{first_flow}, sent_(flows) {}

  /// returns: a packet that is the caller's, or nullptr where the pool is empty
  [[nodiscard]] rte_mbuf* next() {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_);
    if (mbuf == nullptr) return nullptr;
    char* bytes = rte_pktmbuf_append(mbuf, kNumberedBytes);
    std::memset(bytes, 0, kNumberedBytes);
    const std::uint32_t flow = turn_++ % static_cast<std::uint32_t>(sent_.size());
    fill_headers(bytes, first_ + flow);
    const Number number{.flow = first_ + flow, .sequence = sent_[flow]++};
    std::memcpy(bytes + kNumberOffset, &number, sizeof number);
    return mbuf;
  }

  /// Takes back the latest packet: it was not sent after all.
  void unsend(rte_mbuf* mbuf) {
    --turn_;
    --sent_[number_of(*mbuf).flow - first_];
    rte_pktmbuf_free(mbuf);
  }

 private:
  static void fill_headers(char* bytes, std::uint32_t flow) {
    rte_ether_hdr ether{};
    ether.dst_addr = {{0x02, 0, 0, 0, 0, 2}};
    ether.src_addr = {{0x02, 0, 0, 0, 0, 1}};
    ether.ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
    rte_ipv4_hdr ip{};
    ip.version_ihl = RTE_IPV4_VHL_DEF;
    ip.total_length = rte_cpu_to_be_16(kNumberedBytes - sizeof ether);
    ip.time_to_live = 64;
    ip.next_proto_id = IPPROTO_UDP;
    ip.src_addr = rte_cpu_to_be_32(0x0a000001U + (flow >> 4U));
    ip.dst_addr = rte_cpu_to_be_32(0x0a010001U);
    rte_udp_hdr udp{};
    udp.src_port = rte_cpu_to_be_16(static_cast<std::uint16_t>(1024U + flow));
    udp.dst_port = rte_cpu_to_be_16(9);
    udp.dgram_len = rte_cpu_to_be_16(kNumberedBytes - sizeof ether - sizeof ip);
    std::memcpy(bytes, &ether, sizeof ether);
    std::memcpy(bytes + sizeof ether, &ip, sizeof ip);
    std::memcpy(bytes + sizeof ether + sizeof ip, &udp, sizeof udp);
  }

  rte_mempool* pool_;
  std::uint32_t first_;
  std::vector<std::uint64_t> sent_;
  std::uint32_t turn_ = 0;
};

/// Looks at numbered packets at the far end of TX.
class OrderChecker {
 public:
  explicit OrderChecker(std::uint32_t flows) : next_(flows), worker_(flows, 0xffffffff) {}

  void see(const Number& number) {
    ++seen_;
    std::uint64_t& next = next_[number.flow];
    if (number.sequence < next) ++reordered_;
    if (number.sequence > next) missing_ += number.sequence - next;
    if (number.sequence >= next) next = number.sequence + 1;
    if (worker_[number.flow] != number.worker) ++worker_changes_;
    worker_[number.flow] = number.worker;
  }

  [[nodiscard]] std::uint64_t seen() const { return seen_; }
  /// Packets that came after one with a higher number of their flow.
  [[nodiscard]] std::uint64_t reordered() const { return reordered_; }
  /// Numbers skipped; those that come later are reordered too.
  [[nodiscard]] std::uint64_t missing() const { return missing_; }
  /// How often a flow was seen from another worker than before.
  [[nodiscard]] std::uint64_t worker_changes() const { return worker_changes_; }
  [[nodiscard]] std::uint32_t worker_of(std::uint32_t flow) const { return worker_[flow]; }

 private:
  std::vector<std::uint64_t> next_;
  std::vector<std::uint32_t> worker_;
  std::uint64_t seen_ = 0;
  std::uint64_t reordered_ = 0;
  std::uint64_t missing_ = 0;
  std::uint64_t worker_changes_ = 0;
};

}  // namespace mqsteer::test
