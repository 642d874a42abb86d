#pragma once

#include "eal/eal.h"
#include "port/port.h"

#include <rte_mbuf.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mqsteer {

/// The one Eal of this program: ordinary pages, no polling lcore (the test's thread polls).
void start_eal();

/// A started port with one pool for all its queues.
struct OpenedPort {
  std::unique_ptr<Mempool> pool;
  std::unique_ptr<Port> port;

  [[nodiscard]] RxQueue rx(std::uint16_t queue = 0) const { return port->rx_queue(QueueId{queue}); }
  [[nodiscard]] TxQueue tx(std::uint16_t queue = 0) const { return port->tx_queue(QueueId{queue}); }
  /// An mbuf with a frame of this many bytes, the value of `fill` each.
  [[nodiscard]] rte_mbuf* frame(std::uint16_t bytes, std::uint8_t fill = 0) const;
};

/// setup.rx_pools is filled in. Throws what open_port or Port::start say.
OpenedPort open(const std::string& device, PortSetup setup = {}, std::uint16_t data_room = 2176);
/// The line that opening and starting such a port is refused with; empty: it is not.
std::string refusal(const std::string& device, PortSetup setup = {},
                    std::uint16_t data_room = 2176);

/// A directory of this test program, removed with its contents at the end.
class Directory {
 public:
  Directory();
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

using Frame = std::vector<std::uint8_t>;
/// A classic capture file (pcap-savefile(5)) of Ethernet frames.
void write_pcap(const std::string& file, const std::vector<Frame>& frames);
std::vector<Frame> read_pcap(const std::string& file);

}  // namespace mqsteer
