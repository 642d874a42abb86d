#pragma once

#include "eal/mempool.h"
#include "port/netlink.h"
#include "port/peer.h"
#include "port/port.h"

#include <mqsteer/descriptor.h>

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mqsteer {

/// Runs a command of ours (ip, ethtool) to its end; throws when it fails.
void run(const std::string& command);
/// What it prints.
std::string output_of(const std::string& command);

using Frame = std::vector<std::uint8_t>;

/// A packet socket on an interface of a namespace: a host at the other end of a cable.
class Host {
 public:
  Host(const NamespacePlace& place, const std::string& interface);
  void send(const Frame& frame) const;
  /// The next frame with our EtherType, tags put back as they were on the wire; none in the time.
  std::optional<Frame> receive(std::chrono::milliseconds limit = std::chrono::milliseconds{5000});

 private:
  Descriptor socket_;
};

/// A frame of our own EtherType (0x88b5, for experiments); `tags` go before it.
Frame test_frame(std::size_t bytes, std::uint8_t fill, const Frame& tags = {});

struct OpenedPort {
  std::unique_ptr<Mempool> pool;
  std::unique_ptr<Port> port;
  /// Receives one frame within five seconds; none: an empty one.
  [[nodiscard]] Frame receive() const;
  void send(const Frame& frame) const;
};
Expected<OpenedPort> try_open(PortConfig config);
/// Throws the line it is refused with.
OpenedPort open(PortConfig config);
std::string refusal(PortConfig config);

/// Another process that opened a port on an interface and holds it.
class HoldingProcess {
 public:
  explicit HoldingProcess(const std::string& interface);
  ~HoldingProcess();
  HoldingProcess(const HoldingProcess&) = delete;
  HoldingProcess& operator=(const HoldingProcess&) = delete;
  void kill();  ///< SIGKILL, and waits for its end
  [[nodiscard]] pid_t id() const { return id_; }

 private:
  pid_t id_ = -1;
};

/// A veth: `near0` in the program's own namespace, `far0` in a named one.
class Veth : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] PortConfig config(OffloadPolicy offloads = OffloadPolicy::kIgnore) const;
  [[nodiscard]] static LinkInfo near();
  [[nodiscard]] std::string far_offloads() const;
  void set_mtus(unsigned near_mtu, unsigned far_mtu) const;

  std::string namespace_;
  NamespacePlace place_;
};

}  // namespace mqsteer
