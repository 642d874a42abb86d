#include "source.h"

#include "fold.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace mqsteer::bench {
namespace {

Source::Frame tcp_frame(std::uint32_t flow) {
  Source::Frame frame{0x02, 0, 0, 0,  0, 2, 0x02, 0, 0,  0, 0, 1, 0x08, 0x00,  // Ethernet
                      0x45, 0, 0, 50, 0, 0, 0x40, 0, 64, 6};                   // IPv4, TCP
  frame[30] = 10;                                                              // to 10.1.0.1:80
  frame[31] = 1;
  frame[33] = 1;
  frame[37] = 80;
  frame[46] = 0x50;  // five words of TCP header, ACK
  frame[47] = 0x10;
  rewrite(frame.data(), flow);
  for (std::size_t i = 54; i < frame.size(); ++i) frame[i] = static_cast<std::uint8_t>(flow + i);
  return frame;
}

/// Classic pcap, microseconds, Ethernet (facts: capture formats).
bool write_pcap(std::FILE* file, const std::vector<Source::Frame>& frames) {
  const std::array<std::uint32_t, 6> header{0xa1b2c3d4, 0x00040002, 0, 0, 262144, 1};
  bool good = std::fwrite(header.data(), sizeof header, 1, file) == 1;
  for (const Source::Frame& frame : frames) {
    const std::array<std::uint32_t, 4> record{0, 0, Source::kFrameBytes, Source::kFrameBytes};
    good = good && std::fwrite(record.data(), sizeof record, 1, file) == 1;
    good = good && std::fwrite(frame.data(), frame.size(), 1, file) == 1;
  }
  return good;
}

}  // namespace

Expected<std::unique_ptr<Source>> Source::open(std::uint32_t flows) {
  std::unique_ptr<Source> source{new Source};
  for (std::uint32_t flow = 0; flow < flows; ++flow) source->frames_.push_back(tcp_frame(flow));
  std::string path = "/tmp/mqsteer-bench-XXXXXX";
  const int fd = ::mkstemp(path.data());
  if (fd < 0) return fail(errno, "making " + path);
  source->path_ = path;
  std::FILE* file = ::fdopen(fd, "wb");
  const bool written = write_pcap(file, source->frames_);
  if (std::fclose(file) != 0 || !written) return fail(errno, "writing " + path);

  auto pool = Mempool::create("source" + std::to_string(flows), {.mbufs = 131'071, .cache = 512});
  if (!pool) return tl::unexpected(pool.error());
  source->pool_ = std::make_unique<Mempool>(std::move(*pool));
  auto opened = open_port({.name = "source" + std::to_string(flows),
                           .device = "net_pcap_source" + std::to_string(flows) +
                                     ",rx_pcap=" + path + ",infinite_rx=1"});
  if (!opened) return tl::unexpected(opened.error());
  auto port = Port::start(std::move(*opened), {.rx_pools = {source->pool_.get()}});
  if (!port) return tl::unexpected(port.error());
  source->port_ = std::make_unique<Port>(std::move(*port));
  ::unlink(path.c_str());  // infinite_rx has it in memory
  source->path_.clear();
  return source;
}

Source::~Source() {
  port_.reset();
  if (!path_.empty()) ::unlink(path_.c_str());
}

std::uint64_t Source::expect(std::uint64_t packets, std::uint32_t rewritten_flows) {
  std::uint64_t sum = 0;
  std::uint32_t flow = 0;
  for (std::uint64_t i = 0; i < packets; ++i) {
    Frame& frame = frames_[position_];
    if (++position_ == frames_.size()) position_ = 0;
    if (rewritten_flows == 0) {
      sum += fold(frame.data());
      continue;
    }
    Frame changed = frame;
    rewrite(changed.data(), flow);
    if (++flow == rewritten_flows) flow = 0;
    sum += fold(changed.data());
  }
  return sum;
}

}  // namespace mqsteer::bench
