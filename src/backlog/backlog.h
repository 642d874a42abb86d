#pragma once

#include "backlog/aligned_array.h"
#include "backlog/header_copy.h"

#include <mqsteer/packet_meta.h>

#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>

namespace mqsteer {

/// The packets between one RX lcore (the producer) and one worker (the consumer): an SPSC ring of
/// metadata slots with free-running 64-bit counters.
///
///   tail  packets assigned, staged ones too       written by the producer, at assign()
///   head  packets finished                        written by the consumer, at finish()
///   left  packets that have left their TX queue   written by the consumer, at leave(); behind head
///
/// A packet is *staged* from assign() to publish(); only then the consumer sees it. Only the
/// producer fills the ring and it checks room() first, so what is staged always fits.
///
/// Where producer and consumer are one lcore the ring is `in_place`: small, drained in every turn
/// of the loop, and rewound when empty so that it stays in the L1 cache.
class Backlog {
 public:
  struct Shape {
    std::uint32_t slots = 1024;  ///< power of two
    bool headers = false;        ///< keep each packet's first 64 bytes beside its slot
    bool in_place = false;
    std::uint64_t first = 0;  ///< where the counters start; tests put it near a wrap
  };

  Backlog(const Shape& shape, std::pmr::memory_resource& memory)
      : slots_{shape.slots, memory},
        headers_{shape.headers ? shape.slots : 0, memory},
        mask_{shape.slots - 1},
        store_{shape.in_place ? LineStore::kCached : LineStore::kStreaming} {
    assert((shape.slots & mask_) == 0);
    producer_.tail = producer_.published = producer_.cached_head = shape.first;
    consumer_.next = shape.first;
    published_.value.store(shape.first, std::memory_order_relaxed);
    head_.value.store(shape.first, std::memory_order_relaxed);
    abandoned_.value.store(shape.first, std::memory_order_relaxed);
    left_.value.store(shape.first, std::memory_order_relaxed);
  }
  Backlog(const Backlog&) = delete;
  Backlog& operator=(const Backlog&) = delete;
  Backlog(Backlog&&) = delete;
  Backlog& operator=(Backlog&&) = delete;
  ~Backlog() = default;

  [[nodiscard]] std::uint32_t slots() const noexcept { return mask_ + 1; }

  // --- producer -----------------------------------------------------------------------------

  [[nodiscard]] std::uint64_t tail() const noexcept { return producer_.tail; }

  /// Slots free as of the last look at head; never more than there are.
  [[nodiscard]] std::uint32_t room() const noexcept {
    return slots() - static_cast<std::uint32_t>(producer_.tail - producer_.cached_head);
  }

  /// Looks at head again. Pairs with the release in finish(). returns: packets finished since.
  std::uint64_t refresh_head() noexcept {
    const std::uint64_t head = head_.value.load(std::memory_order_acquire);
    const std::uint64_t finished = head - producer_.cached_head;
    producer_.cached_head = head;
    return finished;
  }

  /// Everything before this position is no longer outstanding as far as steering goes: finished, or
  /// given up with an abandoned worker.
  [[nodiscard]] std::uint64_t drained_to() const noexcept {
    return or_given_up(head_.value.load(std::memory_order_acquire));
  }

  /// Like drained_to(), for packets that have also left the worker's TX queue (TX guard). Pairs
  /// with the release in leave().
  [[nodiscard]] std::uint64_t left_to() const noexcept {
    return or_given_up(left_.value.load(std::memory_order_acquire));
  }

  /// Stages a packet; the mbuf belongs to the consumer from publish() on. Needs room() >= 1.
  /// flags: PacketFlag bits to add
  void assign(const PacketMeta& packet, std::uint8_t flags = 0) noexcept {
    assert(room() > 0);
    const std::size_t at = (producer_.tail - producer_.origin) & mask_;
    Words words;
    std::memcpy(words.data(), &packet, sizeof packet);
    constexpr std::size_t kFlagsAt = offsetof(PacketMeta, flags);
    words[kFlagsAt / 8] |= std::uint64_t{flags} << (kFlagsAt % 8 * 8);
    if (headers_.size() != 0) {
      constexpr std::size_t kBytesAt = offsetof(PacketMeta, header_bytes);
      const std::uint64_t bytes = copy_header(*packet.mbuf, headers_[at], store_);
      words[kBytesAt / 8] &= ~(std::uint64_t{0xff} << (kBytesAt % 8 * 8));
      words[kBytesAt / 8] |= bytes << (kBytesAt % 8 * 8);
    }
    if (store_ == LineStore::kStreaming) {
      stream(words, slots_[at]);
    } else {
      std::memcpy(static_cast<void*>(&slots_[at]), words.data(), sizeof words);
    }
    ++producer_.tail;
  }

  [[nodiscard]] std::uint32_t staged() const noexcept {
    return static_cast<std::uint32_t>(producer_.tail - producer_.published);
  }

  /// Hands what is staged to the consumer. Pairs with the acquire in look().
  void publish() noexcept {
    if (producer_.published == producer_.tail) return;
    if (store_ == LineStore::kStreaming) _mm_sfence();
    producer_.published = producer_.tail;
    published_.value.store(producer_.tail, std::memory_order_release);
  }

  /// Gives up what the worker has not finished: steering counts it as drained, and the worker drops
  /// it when it comes back. Pairs with the acquire in given_up().
  void abandon() noexcept { abandoned_.value.store(producer_.tail, std::memory_order_release); }

  // --- consumer -----------------------------------------------------------------------------

  /// How many packets may be taken now. Pairs with the release in publish().
  [[nodiscard]] std::uint64_t look() const noexcept {
    return published_.value.load(std::memory_order_acquire) - consumer_.next;
  }

  /// The next packets in one stretch of the ring; valid until finish(). max: at most look().
  [[nodiscard]] PacketBurst take(std::size_t max) noexcept {
    const std::size_t at = (consumer_.next - consumer_.origin) & mask_;
    const std::size_t to_end = slots() - at;
    const std::size_t count = max < to_end ? max : to_end;
    consumer_.next += count;
    return {{slots_.data() + at, count}, headers_.size() != 0 ? headers_.data() + at : nullptr};
  }

  /// How many of the next packets belong to a time when this worker had been given up.
  [[nodiscard]] std::uint64_t given_up() const noexcept {
    const auto behind = static_cast<std::int64_t>(abandoned_.value.load(std::memory_order_acquire) -
                                                  consumer_.next);
    return behind > 0 ? static_cast<std::uint64_t>(behind) : 0;
  }

  /// All packets taken so far have left (given to tx_burst, consumed or dropped).
  void finish() noexcept {
    if (head_.value.load(std::memory_order_relaxed) != consumer_.next) {
      head_.value.store(consumer_.next, std::memory_order_release);
    }
  }

  /// Everything before `position`, a head of some time ago, has left its TX queue for certain.
  void leave(std::uint64_t position) noexcept {
    if (left_.value.load(std::memory_order_relaxed) != position) {
      left_.value.store(position, std::memory_order_release);
    }
  }

  /// Both ends, in_place only: packets that were handled without going through the ring. It is
  /// empty.
  void pass_by(std::size_t packets) noexcept {
    assert(producer_.tail == consumer_.next);
    producer_.tail += packets;
    producer_.published = producer_.tail;
    published_.value.store(producer_.tail, std::memory_order_relaxed);
    consumer_.next = producer_.tail;
    finish();
    rewind();
  }

  /// Both ends, in_place only: starts again at the first slot. Needs an empty ring.
  void rewind() noexcept {
    assert(producer_.tail == consumer_.next);
    producer_.origin = consumer_.origin = producer_.tail;
    producer_.cached_head = producer_.tail;
  }

  // --- any thread ---------------------------------------------------------------------------

  [[nodiscard]] std::uint64_t head() const noexcept {
    return head_.value.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t published() const noexcept {
    return published_.value.load(std::memory_order_acquire);
  }

 private:
  /// A slot in registers. One put together by bytes and read back by words would wait for its own
  /// stores.
  using Words = std::array<std::uint64_t, sizeof(PacketMeta) / sizeof(std::uint64_t)>;
  static_assert(std::endian::native == std::endian::little);

  [[nodiscard]] std::uint64_t or_given_up(std::uint64_t position) const noexcept {
    const std::uint64_t given_up = abandoned_.value.load(std::memory_order_relaxed);
    return static_cast<std::int64_t>(position - given_up) >= 0 ? position : given_up;
  }

  /// Past the cache, like the header line beside it. A plain store waits for the line to come from
  /// the worker's cache, and every streaming store behind it waits too: together 91-105 TSC cycles
  /// a packet between two CPUs that share no cache, against 20-24 with both streamed (AMD EPYC
  /// 9004).
  static void stream(const Words& from, PacketMeta& to) noexcept {
    auto* at = reinterpret_cast<long long*>(&to);
    for (std::size_t i = 0; i < from.size(); ++i) {
      _mm_stream_si64(at + i, static_cast<long long>(from[i]));
    }
  }

  struct alignas(kCacheLine) Producer {
    std::uint64_t tail = 0;
    std::uint64_t published = 0;
    std::uint64_t cached_head = 0;
    std::uint64_t origin = 0;  ///< the position that stands in slot 0
  };
  struct alignas(kCacheLine) Consumer {
    std::uint64_t next = 0;
    std::uint64_t origin = 0;
  };
  struct alignas(kCacheLine) Shared {
    std::atomic<std::uint64_t> value{0};
  };

  AlignedArray<PacketMeta> slots_;
  AlignedArray<HeaderLine> headers_;
  std::uint32_t mask_;
  LineStore store_;
  Producer producer_;
  Consumer consumer_;
  Shared published_;  ///< written by the producer
  Shared head_;       ///< written by the consumer
  Shared abandoned_;  ///< written by the producer, rarely
  Shared left_;       ///< written by the consumer, where the TX guard is on
};

}  // namespace mqsteer
