#include "environment.h"

#include <string.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <utility>

namespace mqsteer {
namespace {

template <class T>
void put(std::ofstream& file, T value) {
  file.write(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
bool get(std::ifstream& file, T& value) {
  return static_cast<bool>(file.read(reinterpret_cast<char*>(&value), sizeof value));
}

Expected<OpenedPort> try_open(const std::string& device, PortSetup setup, std::uint16_t data_room) {
  start_eal();
  static int pools = 0;
  const auto port = open_port({.name = "left", .device = device});
  if (!port) return tl::unexpected(port.error());
  auto pool = Mempool::create("port_test" + std::to_string(pools++),
                              {.mbufs = 1024, .data_room_bytes = data_room, .cache = 0});
  if (!pool) return tl::unexpected(pool.error());
  OpenedPort opened{std::make_unique<Mempool>(std::move(*pool)), nullptr};
  setup.rx_pools.assign(setup.rx_queues, opened.pool.get());
  auto started = Port::start(*port, setup);
  if (!started) return tl::unexpected(started.error());
  opened.port = std::make_unique<Port>(std::move(*started));
  return opened;
}

}  // namespace

void start_eal() {
  static const Expected<Eal> eal = [] {
    EalConfig config{.file_prefix = "mqsteer-port-test"};
    config.hugepages = false;
    config.memory_mb = 256;
    config.telemetry = false;
    return Eal::init(config);
  }();
  if (!eal) throw std::runtime_error{eal.error().text()};
}

rte_mbuf* OpenedPort::frame(std::uint16_t bytes, std::uint8_t fill) const {
  rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool->raw());
  if (mbuf == nullptr) throw std::runtime_error{"the test's pool is empty"};
  memset(rte_pktmbuf_append(mbuf, bytes), fill, bytes);
  return mbuf;
}

OpenedPort open(const std::string& device, PortSetup setup, std::uint16_t data_room) {
  auto opened = try_open(device, std::move(setup), data_room);
  if (!opened) throw std::runtime_error{opened.error().text()};
  return std::move(*opened);
}

std::string refusal(const std::string& device, PortSetup setup, std::uint16_t data_room) {
  const auto opened = try_open(device, std::move(setup), data_room);
  return opened ? std::string{} : opened.error().text();
}

Directory::Directory()
    : path_{std::filesystem::temp_directory_path() /
            ("mqsteer-port-test-" + std::to_string(getpid()))} {
  std::filesystem::create_directories(path_);
}

Directory::~Directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_pcap(const std::string& file, const std::vector<Frame>& frames) {
  std::ofstream out{file, std::ios::binary};
  put<std::uint32_t>(out, 0xa1b2c3d4);
  put<std::uint16_t>(out, 2);
  put<std::uint16_t>(out, 4);
  put<std::uint64_t>(out, 0);
  put<std::uint32_t>(out, 65535);
  put<std::uint32_t>(out, 1);
  for (const Frame& frame : frames) {
    put<std::uint64_t>(out, 0);
    put(out, static_cast<std::uint32_t>(frame.size()));
    put(out, static_cast<std::uint32_t>(frame.size()));
    out.write(reinterpret_cast<const char*>(frame.data()),
              static_cast<std::streamsize>(frame.size()));
  }
}

std::vector<Frame> read_pcap(const std::string& file) {
  std::ifstream in{file, std::ios::binary};
  in.seekg(24);
  std::vector<Frame> frames;
  std::uint64_t time = 0;
  std::uint32_t captured = 0;
  std::uint32_t length = 0;
  while (get(in, time) && get(in, captured) && get(in, length)) {
    Frame frame(captured);
    in.read(reinterpret_cast<char*>(frame.data()), captured);
    frames.push_back(std::move(frame));
  }
  return frames;
}

}  // namespace mqsteer
