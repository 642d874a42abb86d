#pragma once

#include "handlers/rr/connection_table.h"

#include <cassert>
#include <cstdint>
#include <cstring>

namespace mqsteer::rr {

/// The half-open connections of a worker by their age. A doubly linked list, so that each one costs
/// the same wherever it is in it; its links lie where the echo will be when the connection is open.
class HalfOpen {
 public:
  explicit HalfOpen(ConnectionTable& table) noexcept : table_{table} {}

  /// nullptr: there is none
  [[nodiscard]] Connection* oldest() const noexcept { return at(oldest_); }

  /// It is the newest one now. Needs that it is in no list, and without echo.
  void add(Connection& newest) noexcept {
    assert(newest.state == State::kSynReceived && newest.buffered == 0);
    const std::uint32_t number = table_.index_of(newest) + 1;
    store(newest, {.older = newest_, .newer = 0});
    link_behind(newest_, number);
    newest_ = number;
  }
  void remove(const Connection& gone) noexcept {
    const Links links = load(gone);
    link_behind(links.older, links.newer);
    if (Connection* newer = at(links.newer); newer != nullptr) {
      store(*newer, {.older = links.older, .newer = load(*newer).newer});
    } else {
      newest_ = links.older;
    }
  }

 private:
  /// Numbers of connections, their index + 1; 0: none.
  struct Links {
    std::uint32_t older;
    std::uint32_t newer;
  };
  static_assert(sizeof(Links) <= Connection::kInlineBytes);

  [[nodiscard]] static Links load(const Connection& from) noexcept {
    Links links{};
    std::memcpy(&links, from.inline_bytes.data(), sizeof links);
    return links;
  }
  static void store(Connection& to, const Links& links) noexcept {
    std::memcpy(to.inline_bytes.data(), &links, sizeof links);
  }
  [[nodiscard]] Connection* at(std::uint32_t number) const noexcept {
    return number == 0 ? nullptr : &table_[number - 1];
  }
  /// older: 0: it is the oldest one
  void link_behind(std::uint32_t older, std::uint32_t number) noexcept {
    if (Connection* before = at(older); before != nullptr) {
      store(*before, {.older = load(*before).older, .newer = number});
    } else {
      oldest_ = number;
    }
  }

  ConnectionTable& table_;
  std::uint32_t oldest_ = 0;
  std::uint32_t newest_ = 0;
};

}  // namespace mqsteer::rr
