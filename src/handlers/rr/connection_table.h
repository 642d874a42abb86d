#pragma once

#include "backlog/aligned_array.h"
#include "handlers/rr/connection.h"
#include "handlers/rr/siphash.h"
#include "packet/hash.h"

#include <bit>
#include <cassert>
#include <cstdint>
#include <memory_resource>

namespace mqsteer::rr {

/// A worker's connections by their client. All memory is taken at start.
///
/// Chained buckets, at least two a connection. The bucket is a keyed hash of the client's address,
/// so that nobody can aim at one chain.
class ConnectionTable {
 public:
  ConnectionTable(std::uint32_t connections, const SipKey& key, std::pmr::memory_resource& memory)
      : connections_{connections, memory}, buckets_{buckets_of(connections), memory}, key_{key} {
    for (std::uint32_t i = connections; i-- > 0;) {
      connections_[i].chain = free_;
      free_ = i + 1;
    }
  }

  [[nodiscard]] static std::size_t bytes(std::uint32_t connections) noexcept {
    return connections * sizeof(Connection) + buckets_of(connections) * sizeof(std::uint32_t);
  }

  /// Where a client's connections hang.
  [[nodiscard]] std::uint32_t bucket_of(const Peer& peer) const noexcept {
    const std::uint64_t end = std::uint64_t{peer.port} << 1U | (peer.ipv6 ? 1U : 0U);
    const std::uint64_t first = multiply_fold(peer.address[0] ^ key_[0], end ^ key_[1]);
    const std::uint64_t mixed =
        peer.ipv6 ? multiply_fold(first ^ key_[1], peer.address[1] ^ key_[0]) : first;
    return static_cast<std::uint32_t>(mixed ^ mixed >> 32U) &
           static_cast<std::uint32_t>(buckets_.size() - 1);
  }
  void prefetch_bucket(std::uint32_t bucket) const noexcept {
    __builtin_prefetch(&buckets_[bucket]);
  }
  /// The first one of a bucket; it is the one that is looked for mostly.
  void prefetch_connection(std::uint32_t bucket) const noexcept {
    const std::uint32_t first = buckets_[bucket];
    if (first == 0) return;
    const auto* at = reinterpret_cast<const std::byte*>(&connections_[first - 1]);
    __builtin_prefetch(at);
    __builtin_prefetch(at + kCacheLine);
  }

  /// bucket: bucket_of(peer). returns: nullptr where there is none
  [[nodiscard]] Connection* find(const Peer& peer, std::uint32_t bucket) const noexcept {
    for (std::uint32_t at = buckets_[bucket]; at != 0; at = connections_[at - 1].chain) {
      if (connections_[at - 1].peer == peer) return &connections_[at - 1];
    }
    return nullptr;
  }

  /// A connection in its first state, but for what outlives it in the timer queue. Needs that there
  /// is none of this client. returns: nullptr where all are in use
  [[nodiscard]] Connection* add(const Peer& peer, std::uint32_t bucket) noexcept {
    if (free_ == 0) return nullptr;
    Connection& made = connections_[free_ - 1];
    const std::uint32_t number = free_;
    const bool timed = made.timed;
    free_ = made.chain;
    made = Connection{};
    made.timed = timed;
    made.peer = peer;
    made.chain = buckets_[bucket];
    buckets_[bucket] = number;
    ++size_;
    return &made;
  }

  void remove(Connection& gone) noexcept {
    const std::uint32_t number = index_of(gone) + 1;
    std::uint32_t* link = &buckets_[bucket_of(gone.peer)];
    while (*link != number) link = &connections_[*link - 1].chain;
    *link = gone.chain;
    gone.chain = free_;
    gone.state = State::kFree;
    gone.timer = Timer::kNone;
    free_ = number;
    --size_;
  }

  [[nodiscard]] std::uint32_t index_of(const Connection& connection) const noexcept {
    return static_cast<std::uint32_t>(&connection - connections_.data());
  }
  [[nodiscard]] Connection& operator[](std::uint32_t index) const noexcept {
    return connections_[index];
  }
  [[nodiscard]] std::uint32_t capacity() const noexcept {
    return static_cast<std::uint32_t>(connections_.size());
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

 private:
  [[nodiscard]] static std::size_t buckets_of(std::uint32_t connections) noexcept {
    return std::bit_ceil(std::size_t{2} * connections);
  }

  AlignedArray<Connection> connections_;
  AlignedArray<std::uint32_t> buckets_;
  SipKey key_;
  std::uint32_t free_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace mqsteer::rr
