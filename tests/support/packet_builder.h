#pragma once

#include <arpa/inet.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mqsteer::test {

using Bytes = std::vector<std::uint8_t>;

inline void append16(Bytes& bytes, unsigned value) {
  bytes.push_back(static_cast<std::uint8_t>(value >> 8U));
  bytes.push_back(static_cast<std::uint8_t>(value));
}
inline void append32(Bytes& bytes, std::uint32_t value) {
  append16(bytes, value >> 16U);
  append16(bytes, value & 0xffffU);
}
inline void put16(Bytes& bytes, std::size_t at, std::size_t value) {
  bytes.at(at) = static_cast<std::uint8_t>(value >> 8U);
  bytes.at(at + 1) = static_cast<std::uint8_t>(value);
}

/// The internet checksum (RFC 1071) of bytes, continued from sum.
inline std::uint32_t checksum_add(std::uint32_t sum, std::span<const std::uint8_t> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    sum += i % 2 == 0 ? std::uint32_t{bytes[i]} << 8U : std::uint32_t{bytes[i]};
  }
  return sum;
}
inline std::uint16_t checksum_end(std::uint32_t sum) {
  while (sum > 0xffff) sum = (sum & 0xffffU) + (sum >> 16U);
  return static_cast<std::uint16_t>(~sum);
}

/// Builds test packets from the outside in: each call adds the next header. Lengths, EtherTypes,
/// protocols and the checksums of IPv4, TCP, UDP and ICMP are filled in by bytes(). Throws
/// std::invalid_argument on an address that is none. No EAL.
///
///     Packet{}.ethernet().vlan(7).ipv4("10.0.0.1", "10.0.0.2").tcp(1234, 80).payload(6).bytes()
class Packet {
 public:
  struct Ipv4 {
    std::uint8_t ttl = 64;
    bool dont_fragment = false;
    bool more_fragments = false;
    std::uint16_t fragment_offset = 0;  ///< in bytes, a multiple of 8
    std::uint16_t id = 0;
    std::size_t option_bytes = 0;  ///< a multiple of 4, to 40
    int protocol = -1;             ///< -1: that of the next header
    int total_length = -1;         ///< -1: what it is
    int header_words = -1;         ///< -1: what it is
  };

  Packet& ethernet(const std::string& source = "02:00:00:00:00:01",
                   const std::string& destination = "02:00:00:00:00:02", int type = -1) {
    Bytes header = mac(destination);
    const Bytes from = mac(source);
    header.insert(header.end(), from.begin(), from.end());
    append16(header, 0);
    return add({.bytes = header, .ether_type = 0x6558, .finish = type_at(12, type)});
  }
  /// An IEEE 802.3 frame: a length in place of the type, then LLC.
  Packet& llc(std::uint8_t dsap, std::uint8_t ssap) {
    return add({.bytes = {dsap, ssap, 3}, .ether_type = kLength});
  }
  Packet& vlan(unsigned id, unsigned tpid = 0x8100, int type = -1) {
    Bytes header;
    append16(header, id);
    append16(header, 0);
    return add({.bytes = header, .ether_type = static_cast<int>(tpid), .finish = type_at(2, type)});
  }
  Packet& mpls(std::uint32_t label, bool bottom = true) {
    Bytes header;
    append32(header, label << 12U | (bottom ? 0x100U : 0U) | 64U);
    return add({.bytes = header, .ether_type = 0x8847});
  }
  Packet& pppoe(std::uint16_t session = 1) {
    Bytes header{0x11, 0};
    append16(header, session);
    append32(header, 0);
    return add({.bytes = header, .ether_type = 0x8864, .finish = [](Parts p) {
                  put16(p.self, 4, p.payload.size() + 2);
                  put16(p.self, 6, p.next != nullptr && p.next->ether_type == 0x86dd ? 0x57 : 0x21);
                }});
  }
  Packet& arp() {
    Bytes body;
    for (const std::uint32_t word : {0x00010800U, 0x06040001U, 0U, 0U, 0U, 0U, 0U}) {
      append32(body, word);
    }
    return add({.bytes = body, .ether_type = 0x0806});
  }

  Packet& ipv4(const std::string& source, const std::string& destination) {
    return ipv4(source, destination, Ipv4{});
  }
  Packet& ipv4(const std::string& source, const std::string& destination, const Ipv4& fields) {
    const std::size_t words = 5 + fields.option_bytes / 4;
    Bytes header{static_cast<std::uint8_t>(0x40U | (fields.header_words >= 0
                                                        ? static_cast<unsigned>(fields.header_words)
                                                        : static_cast<unsigned>(words))),
                 0};
    append16(header, 0);
    append16(header, fields.id);
    append16(header, fields.fragment_offset / 8U | (fields.dont_fragment ? 0x4000U : 0U) |
                         (fields.more_fragments ? 0x2000U : 0U));
    header.push_back(fields.ttl);
    header.push_back(0);
    append16(header, 0);
    address(header, AF_INET, source);
    address(header, AF_INET, destination);
    header.resize(words * 4, 1);  // options: no-operation
    return add({.bytes = header, .ether_type = 0x0800, .protocol = 4, .finish = [fields](Parts p) {
                  finish_ipv4(p, fields);
                }});
  }
  Packet& ipv6(const std::string& source, const std::string& destination, int protocol = -1) {
    Bytes header{0x60, 0, 0, 0, 0, 0, 0, 64};
    address(header, AF_INET6, source);
    address(header, AF_INET6, destination);
    return add(
        {.bytes = header, .ether_type = 0x86dd, .protocol = 41, .finish = [protocol](Parts p) {
           put16(p.self, 4, p.payload.size());
           p.self[6] = next_protocol(p, protocol);
           transport_checksum(p, std::span{p.self}.subspan(8, 32));
         }});
  }
  /// IPv6 hop-by-hop (0), routing (43) or destination options (60): 8 * units bytes.
  Packet& extension(std::uint8_t protocol, unsigned units = 1, int next = -1) {
    Bytes header(std::size_t{8} * units);
    header[1] = static_cast<std::uint8_t>(units - 1);
    if (protocol != 43) header[2] = 1, header[3] = static_cast<std::uint8_t>(units * 8 - 4);
    return add({.bytes = header, .protocol = protocol, .finish = [next](Parts p) {
                  p.self[0] = next_protocol(p, next);
                }});
  }
  /// IPv6 fragment header; offset in bytes, a multiple of 8.
  Packet& fragment6(unsigned offset, bool more, std::uint32_t id = 1, int next = -1) {
    Bytes header{0, 0};
    append16(header, offset | (more ? 1U : 0U));
    append32(header, id);
    return add({.bytes = header, .protocol = 44, .finish = [next](Parts p) {
                  p.self[0] = next_protocol(p, next);
                }});
  }

  Packet& tcp(unsigned source, unsigned destination, std::uint8_t tcp_flags = 0x10,
              std::uint32_t sequence = 1) {
    Bytes header = ports(source, destination);
    append32(header, sequence);
    append32(header, 0);
    append16(header, 0x5000U | tcp_flags);
    append16(header, 0xffff);
    append32(header, 0);
    return add({.bytes = header, .protocol = 6});
  }
  Packet& udp(unsigned source, unsigned destination) { return datagram(source, destination, 17); }
  Packet& udp_lite(unsigned source, unsigned destination) {
    return datagram(source, destination, 136);
  }
  Packet& sctp(unsigned source, unsigned destination) {
    Bytes header = ports(source, destination);
    append32(header, 1);
    append32(header, 0);
    return add({.bytes = header, .protocol = 132});
  }
  Packet& dccp(unsigned source, unsigned destination) {
    Bytes header = ports(source, destination);
    header.resize(16);
    return add({.bytes = header, .protocol = 33});
  }
  /// An ICMP message: its type, code and the second word of its header.
  Packet& icmp(std::uint8_t type, std::uint8_t code, std::uint32_t word = 0) {
    return icmp_message(type, code, word, 1);
  }
  Packet& icmpv6(std::uint8_t type, std::uint8_t code, std::uint32_t word = 0) {
    return icmp_message(type, code, word, 58);
  }
  Packet& esp(std::uint32_t spi, std::uint32_t sequence = 1) {
    Bytes header;
    append32(header, spi);
    append32(header, sequence);
    return add({.bytes = header, .protocol = 50});
  }
  Packet& ah(std::uint32_t spi, int next = -1) {
    Bytes header{0, 4};
    append16(header, 0);
    append32(header, spi);
    append32(header, 1);
    header.resize(24);
    return add({.bytes = header, .protocol = 51, .finish = [next](Parts p) {
                  p.self[0] = next_protocol(p, next);
                }});
  }

  /// flags: 0x8000 checksum, 0x2000 key, 0x1000 sequence number; their fields are added.
  Packet& gre(unsigned gre_flags = 0, int type = -1) {
    Bytes header;
    append16(header, gre_flags);
    append16(header, 0);
    for (const unsigned field : {0x8000U, 0x2000U, 0x1000U}) {
      if ((gre_flags & field) != 0) append32(header, 0);
    }
    return add({.bytes = header, .protocol = 47, .finish = type_at(2, type)});
  }
  Packet& vxlan(std::uint32_t vni = 1, unsigned port = 4789) {
    datagram(49152, port, 17);
    Bytes header;
    append32(header, 0x08000000U);
    append32(header, vni << 8U);
    return add({.bytes = header});
  }
  Packet& geneve(std::uint32_t vni = 1, unsigned option_words = 0, int type = -1) {
    datagram(49152, 6081, 17);
    Bytes header{static_cast<std::uint8_t>(option_words), 0, 0, 0};
    append32(header, vni << 8U);
    header.resize(8 + std::size_t{4} * option_words);
    return add({.bytes = header, .finish = type_at(2, type)});
  }
  /// options: bytes behind the first 8 (sequence number, N-PDU, next type, extension headers);
  /// their flag bits are the low three of gtp_flags.
  Packet& gtp_u(std::uint32_t teid = 1, std::uint8_t gtp_flags = 0x30, const Bytes& options = {},
                std::uint8_t message = 0xff) {
    datagram(2152, 2152, 17);
    Bytes header{gtp_flags, message, 0, 0};
    append32(header, teid);
    header.insert(header.end(), options.begin(), options.end());
    return add({.bytes = header,
                .finish = [](Parts p) { put16(p.self, 2, p.self.size() - 8 + p.payload.size()); }});
  }

  Packet& payload(std::size_t size, std::uint8_t fill = 0) { return raw(Bytes(size, fill)); }
  Packet& raw(Bytes bytes) { return add({.bytes = std::move(bytes)}); }

  /// The packet so far, with every length and checksum right (or as asked for).
  [[nodiscard]] Bytes bytes() const {
    Bytes all;
    const Layer* next = nullptr;
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
      Bytes self = layer->bytes;
      if (layer->finish) layer->finish({self, all, next});
      all.insert(all.begin(), self.begin(), self.end());
      next = &*layer;
    }
    return all;
  }

 private:
  struct Layer;
  struct Parts {
    Bytes& self;
    Bytes& payload;
    const Layer* next;
  };
  using Finish = std::function<void(Parts)>;
  static constexpr int kLength = -2;  ///< LLC: the Ethernet header has the length
  struct Layer {
    Bytes bytes{};
    int ether_type = -1;  ///< as the next header of Ethernet, VLAN, GRE, Geneve
    int protocol = -1;    ///< as the next header of IP
    Finish finish{};
  };

  Packet& add(Layer layer) {
    layers_.push_back(std::move(layer));
    return *this;
  }
  Packet& datagram(unsigned source, unsigned destination, int protocol) {
    Bytes header = ports(source, destination);
    append32(header, 0);
    return add({.bytes = header, .protocol = protocol, .finish = [](Parts p) {
                  put16(p.self, 4, p.self.size() + p.payload.size());
                }});
  }
  Packet& icmp_message(std::uint8_t type, std::uint8_t code, std::uint32_t word, int protocol) {
    Bytes header{type, code, 0, 0};
    append32(header, word);
    return add({.bytes = header, .protocol = protocol, .finish = [protocol](Parts p) {
                  if (protocol != 1) return;  // ICMPv6: with the pseudo header, by ipv6()
                  put16(p.self, 2, checksum_end(checksum_add(checksum_add(0, p.self), p.payload)));
                }});
  }
  static Bytes ports(unsigned source, unsigned destination) {
    Bytes header;
    append16(header, source);
    append16(header, destination);
    return header;
  }
  static Finish type_at(std::size_t at, int type) {
    return [at, type](Parts p) {
      int value = type >= 0 ? type : 0;
      if (type < 0 && p.next != nullptr) {
        value = p.next->ether_type == kLength ? static_cast<int>(p.payload.size())
                                              : std::max(p.next->ether_type, 0);
      }
      put16(p.self, at, static_cast<std::size_t>(value));
    };
  }
  static std::uint8_t next_protocol(const Parts& p, int wanted) {
    if (wanted >= 0) return static_cast<std::uint8_t>(wanted);
    return p.next != nullptr && p.next->protocol >= 0 ? static_cast<std::uint8_t>(p.next->protocol)
                                                      : std::uint8_t{59};
  }
  static void finish_ipv4(Parts p, const Ipv4& fields) {
    const std::size_t total = p.self.size() + p.payload.size();
    put16(p.self, 2,
          fields.total_length >= 0 ? static_cast<std::size_t>(fields.total_length) : total);
    p.self[9] = next_protocol(p, fields.protocol);
    if (!fields.more_fragments && fields.fragment_offset == 0) {
      transport_checksum(p, std::span{p.self}.subspan(12, 8));
    }
    put16(p.self, 10, checksum_end(checksum_add(0, p.self)));
  }
  /// TCP, UDP and ICMPv6 right behind IP; the headers behind them are complete by now.
  static void transport_checksum(Parts p, std::span<const std::uint8_t> addresses) {
    const int protocol = p.next != nullptr ? p.next->protocol : -1;
    const std::size_t at = protocol == 6 ? 16 : protocol == 17 ? 6 : protocol == 58 ? 2 : 0;
    if (at == 0 || p.payload.size() < at + 2) return;
    put16(p.payload, at, 0);
    std::uint32_t sum = checksum_add(0, addresses);
    sum += static_cast<std::uint32_t>(protocol) + static_cast<std::uint32_t>(p.payload.size());
    const std::uint16_t value = checksum_end(checksum_add(sum, p.payload));
    put16(p.payload, at, value == 0 && protocol == 17 ? 0xffff : value);
  }
  static Bytes mac(const std::string& text) {
    Bytes bytes(6);
    const int read = std::sscanf(text.c_str(), "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &bytes[0],
                                 &bytes[1], &bytes[2], &bytes[3], &bytes[4], &bytes[5]);
    if (read != 6) throw std::invalid_argument{text + " is no MAC address"};
    return bytes;
  }
  static void address(Bytes& bytes, int family, const std::string& text) {
    Bytes value(family == AF_INET ? 4 : 16);
    if (inet_pton(family, text.c_str(), value.data()) != 1) {
      throw std::invalid_argument{text + " is no address"};
    }
    bytes.insert(bytes.end(), value.begin(), value.end());
  }

  std::vector<Layer> layers_;
};

}  // namespace mqsteer::test
