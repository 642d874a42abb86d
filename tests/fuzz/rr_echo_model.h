#pragma once

#include "unit/handlers/tcp_frame.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mqsteer::test {

/// What an echo server may say, judged by the frames alone: it acknowledges what its client has
/// sent, all of it in order and nothing else, and its own stream is the acknowledged bytes, the
/// same ones each time. Knows nothing of when the server has to speak.
///
/// Where clients contradict themselves, any of what they sent will do.
class EchoModel {
 public:
  /// A frame comes to the server. good: its checksums count as right, whatever they are
  void client_sends(std::span<const std::uint8_t> frame, bool good) {
    if (auto sent = read(frame, good)) sent_[sent->first].push_back(std::move(sent->second));
  }
  /// The answer to a SYN may have been lost before anyone saw it: what is known is so no longer.
  void forget() {
    connections_.clear();
    has_forgotten_ = true;
  }
  /// worker: each has connections of its own, also with one and the same client.
  /// returns: what is wrong with the segment; nullptr: nothing
  [[nodiscard]] const char* server_sends(std::size_t worker, const Tcp& tcp) {
    if ((tcp.flags & RST) != 0) return nullptr;
    if ((tcp.flags & ACK) == 0) return "a segment without ACK";
    const Client client{tcp.client, tcp.client_port};
    const std::vector<Sent>& sent = sent_[client];
    if ((tcp.flags & SYN) != 0) return open(connections_[{worker, client}], sent, tcp);
    const auto found = connections_.find({worker, client});
    if (found == connections_.end()) {
      return has_forgotten_ ? nullptr : "a segment of no connection";
    }
    Connection& c = found->second;
    const std::span since{sent.begin() + static_cast<std::ptrdiff_t>(c.first), sent.end()};
    if (const char* flaw = take_ack(c, since, tcp); flaw != nullptr) return flaw;
    return take_echo(c, since, tcp);
  }

 private:
  using Client = std::pair<std::string, std::uint16_t>;  ///< address and port
  struct Sent {
    std::uint32_t seq = 0;
    unsigned flags = 0;
    Bytes text = {};
  };
  struct Connection {
    std::uint32_t client_start = 0;  ///< the sequence numbers behind the SYNs
    std::uint32_t server_start = 0;
    std::size_t first = 0;    ///< of sent_: what came before is of former connections
    std::uint32_t acked = 0;  ///< offsets in the client's stream from here on
    std::uint32_t edge = 0;   ///< of the window
    Bytes echoed = {};
    bool fin = false;  ///< the server's was sent
  };

  static std::optional<std::pair<Client, Sent>> read(std::span<const std::uint8_t> frame,
                                                     bool good) {
    if (frame.size() < 54) return {};
    const bool v6 = be16(frame, 12) == 0x86dd;
    const std::size_t at = v6 ? 54 : 34;
    if (!v6 && (be16(frame, 12) != 0x0800 || frame[14] != 0x45)) return {};
    if (frame[v6 ? 20 : 23] != 6) return {};
    const std::size_t end =
        v6 ? std::size_t{54} + be16(frame, 18) : std::size_t{14} + be16(frame, 16);
    if (end > frame.size() || at + 20 > end) return {};
    const auto tcp = frame.subspan(at, end - at);
    const std::size_t header = std::size_t{tcp[12]} / 16 * 4;
    if (header < 20 || header > tcp.size()) return {};
    const auto addresses = frame.subspan(v6 ? 22 : 26, v6 ? 32 : 8);
    const auto sum = checksum_add(6 + static_cast<std::uint32_t>(tcp.size()), addresses);
    if (!good && checksum_end(checksum_add(sum, tcp)) != 0) return {};
    const Client client{address_text(addresses.first(addresses.size() / 2)), be16(tcp, 0)};
    const auto text = tcp.subspan(header);
    return std::pair{client, Sent{be32(tcp, 4), tcp[13], {text.begin(), text.end()}}};
  }

  static const char* open(Connection& c, const std::vector<Sent>& sent, const Tcp& tcp) {
    bool asked = false;
    for (const Sent& each : sent) asked |= (each.flags & SYN) != 0 && each.seq + 1 == tcp.ack;
    if (!asked) return "an answer to no SYN";
    c = {.client_start = tcp.ack,
         .server_start = tcp.seq + 1,
         .first = sent.size(),
         .edge = tcp.window};
    return nullptr;
  }

  /// Whether the client has sent a byte at a place, this one or any.
  static bool has_byte(std::span<const Sent> sent, std::uint32_t seq,
                       std::optional<std::uint8_t> byte) {
    for (const Sent& each : sent) {
      const std::uint32_t at = seq - each.seq;
      if (at < each.text.size() && (!byte || each.text[at] == *byte)) return true;
    }
    return false;
  }
  static bool has_fin(std::span<const Sent> sent, std::uint32_t seq) {
    for (const Sent& each : sent) {
      if ((each.flags & FIN) != 0 && each.seq + each.text.size() == seq) return true;
    }
    return false;
  }

  static const char* take_ack(Connection& c, std::span<const Sent> sent, const Tcp& tcp) {
    const std::uint32_t ack = tcp.ack - c.client_start;
    if (static_cast<std::int32_t>(ack - c.acked) < 0) return "an ACK goes back";
    for (; c.acked != ack; ++c.acked) {
      const std::uint32_t seq = c.client_start + c.acked;
      const bool last = c.acked + 1 == ack;
      if (!has_byte(sent, seq, {}) && !(last && has_fin(sent, seq)))
        return "an ACK of what was not sent";
    }
    const std::uint32_t edge = ack + tcp.window;
    if (static_cast<std::int32_t>(edge - c.edge) < 0) return "the window's right edge goes back";
    c.edge = edge;
    return nullptr;
  }

  static const char* take_echo(Connection& c, std::span<const Sent> sent, const Tcp& tcp) {
    std::uint32_t at = tcp.seq - c.server_start;
    if (at > c.echoed.size() + (c.fin ? 1U : 0U)) return "a gap in the echo";
    for (const std::uint8_t byte : tcp.text) {
      if (at >= c.acked) return "an echo of what is not acknowledged";
      if (at < c.echoed.size()) {
        if (c.echoed[at] != byte) return "another byte than the first time";
      } else {
        if (c.fin) return "echo behind the FIN";
        if (!has_byte(sent, c.client_start + at, byte)) return "a byte that was not sent";
        c.echoed.push_back(byte);
      }
      ++at;
    }
    if ((tcp.flags & FIN) == 0) return nullptr;
    if (at != c.echoed.size() || at + 1 != c.acked) return "a FIN before all came back";
    if (!has_fin(sent, c.client_start + at)) return "a FIN without the client's";
    c.fin = true;
    return nullptr;
  }

  std::map<Client, std::vector<Sent>> sent_;
  std::map<std::pair<std::size_t, Client>, Connection> connections_;
  bool has_forgotten_ = false;
};

}  // namespace mqsteer::test
