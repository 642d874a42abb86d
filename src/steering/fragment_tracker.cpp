#include "steering/fragment_tracker.h"

#include "packet/hash.h"

#include <rte_mbuf_core.h>

#include <algorithm>

namespace mqsteer {
namespace {

std::size_t mix(const Datagram& datagram) noexcept {
  constexpr std::uint64_t kA = 0x452821e638d01377U;  // more digits of pi
  constexpr std::uint64_t kB = 0xbe5466cf34e90c6cU;
  const auto& words = datagram.addresses;
  const std::uint64_t low = multiply_fold(words[0] ^ kA, words[1] ^ kB);
  const std::uint64_t high = multiply_fold(words[2] ^ kB, words[3] ^ kA);
  const std::uint64_t id = static_cast<std::uint64_t>(datagram.id) << 8U | datagram.protocol;
  return static_cast<std::size_t>(multiply_fold(low ^ high, id ^ kB) * kA >> 32U);
}

}  // namespace

FragmentTracker::FragmentTracker(std::uint64_t hz, std::pmr::memory_resource& memory)
    : hold_cycles_{ns_to_tsc(kHoldNs, hz)},
      remember_cycles_{ns_to_tsc(kRememberNs, hz)},
      entries_{kDatagrams, memory} {
  for (std::uint16_t i = 0; i < kPackets; ++i) next_[i] = static_cast<std::uint8_t>(i + 1);
}

void FragmentTracker::adopt(const FlowHasher& hasher) noexcept {
  assert(held_ == 0);
  hasher_ = &hasher;
  std::ranges::fill(entries_.span(), Entry{});
}

std::span<PacketMeta> FragmentTracker::track_from(std::size_t whole, std::span<PacketMeta> burst,
                                                  TscCycles now) noexcept {
  assert(burst.size() <= kMaxBurst);
  std::copy_n(burst.begin(), whole, out_.begin());
  out_count_ = whole;
  for (const PacketMeta& packet : burst.subspan(whole)) {
    if (packet.kind == PacketKind::kFragment) {
      place(packet, now);
    } else {
      emit(packet);
    }
  }
  return out();
}

void FragmentTracker::place(const PacketMeta& packet, TscCycles now) noexcept {
  const auto fragment = hasher_->fragment_of(*packet.mbuf);
  if (!fragment) return emit_missed(packet);  // another hasher gave it its kind
  Entry& entry = entry_of(fragment->datagram, now);
  if (fragment->offset == 0) {
    first(entry, packet, *fragment, now);
  } else {
    later(entry, packet, now);
  }
  account(entry, *fragment, now);
}

void FragmentTracker::first(Entry& entry, const PacketMeta& packet, const Fragment& fragment,
                            TscCycles now) noexcept {
  if (entry.state == State::kGivenUp) return emit_missed(packet);
  if (!fragment.flow_known) {
    give_up(entry, now);
    return emit_missed(packet);
  }
  if (entry.state != State::kWaiting) entry.seen_bytes = entry.total_bytes = 0;
  entry.hash = hasher_->hash_of(fragment.flow);
  emit_tracked(packet, entry.hash);
  release(entry, [&](const PacketMeta& held) { emit_tracked(held, entry.hash); });
  entry.state = State::kKnown;
}

void FragmentTracker::later(Entry& entry, const PacketMeta& packet, TscCycles now) noexcept {
  switch (entry.state) {
    case State::kKnown:
    case State::kComplete:
      return emit_tracked(packet, entry.hash);
    case State::kGivenUp:
      return emit_missed(packet);
    case State::kFree:
    case State::kWaiting:
      return hold(entry, packet, now);
  }
}

/// Counts what has come of a datagram, to know when it is over.
void FragmentTracker::account(Entry& entry, const Fragment& fragment, TscCycles now) noexcept {
  const unsigned seen = unsigned{entry.seen_bytes} + fragment.bytes;
  entry.seen_bytes = static_cast<std::uint16_t>(std::min(seen, 0xffffU));
  if (!fragment.more) {
    const unsigned total = unsigned{fragment.offset} + fragment.bytes;
    entry.total_bytes = static_cast<std::uint16_t>(std::min(total, 0xffffU));
  }
  if (entry.state != State::kKnown) return;
  entry.since = now;
  const bool all = entry.total_bytes != 0 && entry.seen_bytes >= entry.total_bytes;
  if (all) entry.state = State::kComplete;
}

// ---- The table

bool FragmentTracker::alive(const Entry& entry, TscCycles now) const noexcept {
  if (entry.state == State::kFree) return false;
  if (entry.state == State::kWaiting) return true;
  const TscCycles life = entry.state == State::kKnown ? remember_cycles_ : hold_cycles_;
  return tsc_between(entry.since, now) < life;
}

/// First those that matter least: over or given up, then a known flow, last one that holds packets;
/// among equals the oldest.
bool FragmentTracker::better_victim(const Entry& a, const Entry& b, TscCycles now) const noexcept {
  const auto rank = [&](const Entry& entry) {
    if (!alive(entry, now)) return 0;
    if (entry.state == State::kWaiting) return 3;
    return entry.state == State::kKnown ? 2 : 1;
  };
  const int a_rank = rank(a);
  const int b_rank = rank(b);
  return a_rank != b_rank ? a_rank < b_rank : a.since < b.since;
}

/// The datagram's entry; a fresh one where it is not known, or no longer.
FragmentTracker::Entry& FragmentTracker::entry_of(const Datagram& datagram,
                                                  TscCycles now) noexcept {
  const std::span<Entry> set = entries_.span().subspan(mix(datagram) % kSets * kWays, kWays);
  Entry* victim = &set[0];
  for (Entry& entry : set) {
    if (entry.datagram == datagram && alive(entry, now)) return entry;
    if (better_victim(entry, *victim, now)) victim = &entry;
  }
  if (victim->state == State::kWaiting) give_up(*victim, now);
  *victim = Entry{.datagram = datagram};
  return *victim;
}

// ---- Held packets

void FragmentTracker::hold(Entry& entry, const PacketMeta& packet, TscCycles now) noexcept {
  if (held_ == kPackets) give_up(entries_[oldest_], now);
  if (entry.state == State::kGivenUp) return emit_missed(packet);  // it was the oldest itself
  const std::uint8_t slot = free_;
  free_ = next_[slot];
  packets_[slot] = packet;
  ++held_;
  counters_.held.add(1);
  if (entry.state == State::kWaiting) {
    next_[entry.last_packet] = slot;
  } else {
    entry.state = State::kWaiting;
    entry.since = now;
    entry.first_packet = slot;
    entry.older = newest_;
    (newest_ == kNone ? oldest_ : entries_[newest_].newer) = index_of(entry);
    newest_ = index_of(entry);
  }
  entry.last_packet = slot;
}

/// From here on the datagram goes by the fragment key; what is held of it goes first.
void FragmentTracker::give_up(Entry& entry, TscCycles now) noexcept {
  release(entry, [this](const PacketMeta& held) { emit_missed(held); });
  entry.state = State::kGivenUp;
  entry.since = now;
}

/// Gives what is held of a datagram to `sink`, oldest first; none where it does not wait.
template <class Sink>
void FragmentTracker::release(Entry& entry, Sink sink) noexcept {
  if (entry.state != State::kWaiting) return;
  std::uint8_t slot = entry.first_packet;
  for (;;) {
    const std::uint8_t next = next_[slot];
    sink(packets_[slot]);
    next_[slot] = free_;
    free_ = slot;
    --held_;
    if (slot == entry.last_packet) break;
    slot = next;
  }
  (entry.older == kNone ? oldest_ : entries_[entry.older].newer) = entry.newer;
  (entry.newer == kNone ? newest_ : entries_[entry.newer].older) = entry.older;
  entry.older = entry.newer = kNone;
}

std::span<PacketMeta> FragmentTracker::expire(TscCycles now) noexcept {
  out_count_ = 0;
  while (oldest_ != kNone && !(tsc_between(entries_[oldest_].since, now) < hold_cycles_)) {
    give_up(entries_[oldest_], now);
  }
  return out();
}

std::span<PacketMeta> FragmentTracker::release_all(TscCycles now) noexcept {
  out_count_ = 0;
  while (oldest_ != kNone) give_up(entries_[oldest_], now);
  return out();
}

}  // namespace mqsteer
