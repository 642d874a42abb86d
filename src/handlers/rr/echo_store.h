#pragma once

#include "backlog/aligned_array.h"
#include "handlers/rr/connection.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <span>

namespace mqsteer::rr {

/// The echo of a worker's connections until the clients have acknowledged it: a few bytes in the
/// connection itself, more in a buffer, of which there is a fixed number.
class EchoStore {
 public:
  /// buffer_bytes: power of two, at most 32,768
  EchoStore(std::uint32_t buffers, std::uint32_t buffer_bytes, std::pmr::memory_resource& memory)
      : bytes_{std::size_t{buffers} * buffer_bytes, memory},
        free_{buffers, memory},
        free_count_{buffers},
        buffer_bytes_{buffer_bytes} {
    assert((buffer_bytes & (buffer_bytes - 1)) == 0 && buffer_bytes <= 32768);
    for (std::uint32_t i = 0; i < buffers; ++i) free_[i] = buffers - 1 - i;
  }

  [[nodiscard]] static std::size_t bytes(std::uint32_t buffers,
                                         std::uint32_t buffer_bytes) noexcept {
    return std::size_t{buffers} * (buffer_bytes + sizeof(std::uint32_t));
  }

  /// Bytes that a connection can still take, if it gets a buffer: what the client may send.
  [[nodiscard]] std::uint16_t room(const Connection& connection) const noexcept {
    return static_cast<std::uint16_t>(buffer_bytes_ - connection.buffered);
  }
  [[nodiscard]] std::uint32_t free_buffers() const noexcept { return free_count_; }

  /// Adds bytes, at most room(). returns: false where they need a buffer and there is none
  [[nodiscard]] bool append(Connection& to, std::span<const std::byte> text) noexcept {
    if (to.buffer == Connection::kNoBuffer) {
      if (to.buffered + text.size() <= Connection::kInlineBytes) {
        std::memcpy(to.inline_bytes.data() + to.buffered, text.data(), text.size());
        to.buffered = static_cast<std::uint16_t>(to.buffered + text.size());
        return true;
      }
      if (!move_to_buffer(to)) return false;
    }
    const std::size_t at = (to.buffer_at + std::size_t{to.buffered}) & (buffer_bytes_ - 1);
    const std::size_t first = std::min<std::size_t>(text.size(), buffer_bytes_ - at);
    std::byte* buffer = buffer_of(to);
    std::memcpy(buffer + at, text.data(), first);
    std::memcpy(buffer, text.data() + first, text.size() - first);
    to.buffered = static_cast<std::uint16_t>(to.buffered + text.size());
    return true;
  }

  /// Copies [offset, offset + to.size()) of what is kept, which it must have.
  void copy(const Connection& from, std::size_t offset, std::span<std::byte> to) const noexcept {
    assert(offset + to.size() <= from.buffered);
    if (from.buffer == Connection::kNoBuffer) {
      std::memcpy(to.data(), from.inline_bytes.data() + offset, to.size());
      return;
    }
    const std::size_t at = (from.buffer_at + offset) & (buffer_bytes_ - 1);
    const std::size_t first = std::min<std::size_t>(to.size(), buffer_bytes_ - at);
    std::memcpy(to.data(), buffer_of(from) + at, first);
    std::memcpy(to.data() + first, buffer_of(from), to.size() - first);
  }

  /// Forgets the first bytes, at most all.
  void discard(Connection& from, std::uint16_t count) noexcept {
    from.buffered = static_cast<std::uint16_t>(from.buffered - count);
    if (from.buffer == Connection::kNoBuffer) {
      std::memmove(from.inline_bytes.data(), from.inline_bytes.data() + count, from.buffered);
      return;
    }
    from.buffer_at = static_cast<std::uint16_t>((from.buffer_at + count) & (buffer_bytes_ - 1));
    if (from.buffered == 0) give_back(from);
  }

  void discard_all(Connection& from) noexcept { discard(from, from.buffered); }

 private:
  bool move_to_buffer(Connection& to) noexcept {
    if (free_count_ == 0) return false;
    to.buffer = free_[--free_count_];
    to.buffer_at = 0;
    std::memcpy(buffer_of(to), to.inline_bytes.data(), to.buffered);
    return true;
  }
  void give_back(Connection& from) noexcept {
    free_[free_count_++] = from.buffer;
    from.buffer = Connection::kNoBuffer;
  }
  [[nodiscard]] std::byte* buffer_of(const Connection& connection) const noexcept {
    return bytes_.data() + std::size_t{connection.buffer} * buffer_bytes_;
  }

  AlignedArray<std::byte> bytes_;
  AlignedArray<std::uint32_t> free_;  ///< the last one given back is the next one taken
  std::uint32_t free_count_;
  std::uint32_t buffer_bytes_;
};

}  // namespace mqsteer::rr
