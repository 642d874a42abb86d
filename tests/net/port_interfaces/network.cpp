#include "network.h"

#include "eal/eal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace mqsteer {
namespace {

constexpr std::uint16_t kEtherType = 0x88b5;
using Clock = std::chrono::steady_clock;

Expected<void> open_packet_socket(Descriptor& socket, const std::string& interface) {
  socket = Descriptor{::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL))};
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(errno, "binding to " + interface);
  }
  const int on = 1;
  setsockopt(socket.get(), SOL_PACKET, PACKET_AUXDATA, &on, sizeof on);
  setsockopt(socket.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on);
  return {};
}

/// The kernel takes the outer tag out of a frame and tells it beside.
void put_tag_back(Frame& frame, const msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), part)) {
    if (part->cmsg_level != SOL_PACKET || part->cmsg_type != PACKET_AUXDATA) continue;
    tpacket_auxdata told{};
    memcpy(&told, CMSG_DATA(part), sizeof told);
    if ((told.tp_status & TP_STATUS_VLAN_VALID) == 0) continue;
    const auto bytes = {told.tp_vlan_tpid >> 8, told.tp_vlan_tpid & 0xff, told.tp_vlan_tci >> 8,
                        told.tp_vlan_tci & 0xff};
    Frame tag;
    for (const int byte : bytes) tag.push_back(static_cast<std::uint8_t>(byte));
    frame.insert(frame.begin() + 12, tag.begin(), tag.end());
  }
}

bool is_ours(const Frame& frame) {
  return std::ranges::search(frame, std::array<std::uint8_t, 2>{kEtherType >> 8, kEtherType & 0xff})
             .begin() != frame.end();
}

}  // namespace

void run(const std::string& command) {
  if (system(command.c_str()) != 0) throw std::runtime_error{"failed: " + command};
}

std::string output_of(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer{};
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  pclose(pipe);
  return text;
}

Host::Host(const NamespacePlace& place, const std::string& interface) {
  const auto opened = in_namespace(place, [&] { return open_packet_socket(socket_, interface); });
  if (!opened) throw std::runtime_error{opened.error().text()};
}

void Host::send(const Frame& frame) const {
  if (::send(socket_.get(), frame.data(), frame.size(), 0) < 0) {
    throw std::runtime_error{std::string{"sending a frame: "} + strerror(errno)};
  }
}

std::optional<Frame> Host::receive(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  for (auto now = Clock::now(); now < deadline; now = Clock::now()) {
    pollfd ready{socket_.get(), POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now);
    if (poll(&ready, 1, static_cast<int>(left.count()) + 1) <= 0) continue;
    Frame frame(65536);
    std::array<char, 512> control{};
    iovec part{frame.data(), frame.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t bytes = recvmsg(socket_.get(), &message, 0);
    if (bytes < 14) continue;
    frame.resize(static_cast<std::size_t>(bytes));
    put_tag_back(frame, message);
    if (is_ours(frame)) return frame;
  }
  return std::nullopt;
}

Frame test_frame(std::size_t bytes, std::uint8_t fill, const Frame& tags) {
  Frame frame{2, 0, 0, 0, 0, 0x77, 2, 0, 0, 0, 0, 0x66};
  frame.insert(frame.end(), tags.begin(), tags.end());
  frame.push_back(kEtherType >> 8);
  frame.push_back(kEtherType & 0xff);
  frame.resize(bytes, fill);
  return frame;
}

Frame OpenedPort::receive() const {
  const auto deadline = Clock::now() + std::chrono::seconds{5};
  while (Clock::now() < deadline) {
    rte_mbuf* mbuf = nullptr;
    if (port->rx_queue(QueueId{0}).receive({&mbuf, 1}) == 0) continue;
    Frame frame(rte_pktmbuf_pkt_len(mbuf));
    const void* const bytes =
        rte_pktmbuf_read(mbuf, 0, static_cast<std::uint32_t>(frame.size()), frame.data());
    if (bytes != frame.data()) memcpy(frame.data(), bytes, frame.size());
    rte_pktmbuf_free(mbuf);
    if (is_ours(frame)) return frame;
  }
  return {};
}

void OpenedPort::send(const Frame& frame) const {
  rte_mbuf* mbuf = rte_pktmbuf_alloc(pool->raw());
  const auto bytes = static_cast<std::uint16_t>(frame.size());
  memcpy(rte_pktmbuf_append(mbuf, bytes), frame.data(), bytes);
  if (port->tx_queue(QueueId{0}).send({&mbuf, 1}) != 1) {
    rte_pktmbuf_free(mbuf);
    throw std::runtime_error{"the port does not take a frame"};
  }
}

Expected<OpenedPort> try_open(PortConfig config) {
  static int pools = 0;
  const auto port = open_port(config);
  if (!port) return tl::unexpected(port.error());
  auto pool = Mempool::create(
      "net_test" + std::to_string(pools++),
      {.mbufs = 6000, .data_room_bytes = port->data_room_bytes(config.mtu.value_or(port->mtu))});
  if (!pool) return tl::unexpected(pool.error());
  OpenedPort opened{std::make_unique<Mempool>(std::move(*pool)), nullptr};
  auto started = Port::start(*port, {.rx_pools = {opened.pool.get()}, .mtu = config.mtu});
  if (!started) return tl::unexpected(started.error());
  opened.port = std::make_unique<Port>(std::move(*started));
  return opened;
}

OpenedPort open(PortConfig config) {
  auto opened = try_open(std::move(config));
  if (!opened) throw std::runtime_error{opened.error().text()};
  return std::move(*opened);
}

std::string refusal(PortConfig config) {
  const auto opened = try_open(std::move(config));
  return opened ? std::string{} : opened.error().text();
}

HoldingProcess::HoldingProcess(const std::string& interface) {
  std::array<int, 2> ready{};
  if (pipe(ready.data()) != 0) throw std::runtime_error{"pipe"};
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  id_ = fork();
  if (id_ == 0) {
    dup2(ready[1], STDOUT_FILENO);
    ::close(ready[0]);
    ::close(ready[1]);
    execl(program.c_str(), "net_port", "--hold", interface.c_str(), nullptr);
    _exit(127);
  }
  ::close(ready[1]);
  char letter = 0;
  const ssize_t got = read(ready[0], &letter, 1);
  ::close(ready[0]);
  if (got != 1) throw std::runtime_error{"the other process could not open " + interface};
}

HoldingProcess::~HoldingProcess() {
  kill();
}

void HoldingProcess::kill() {
  if (id_ <= 0) return;
  ::kill(id_, SIGKILL);
  waitpid(id_, nullptr, 0);
  id_ = -1;
}

void Veth::SetUp() {
  namespace_ = "mqport" + std::to_string(getpid());
  place_ = {"/run/netns/" + namespace_, "ip netns exec " + namespace_ + " "};
  run("ip netns add " + namespace_);
  run("ip link add near0 type veth peer name far0 netns " + namespace_);
  run("ip link set near0 up && ip -n " + namespace_ + " link set far0 up");
}

void Veth::TearDown() {
  // What a killed process wrote down for a namespace that is gone concerns nobody any more.
  struct stat own {};
  static_cast<void>(stat("/proc/self/ns/net", &own));
  std::error_code ignored;
  std::filesystem::remove(
      "/run/mqsteer/interfaces/" + std::to_string(own.st_ino) + "-" + std::to_string(near().index),
      ignored);
  static_cast<void>(system("ip link del near0 2>/dev/null"));
  static_cast<void>(system(("ip netns del " + namespace_).c_str()));
}

PortConfig Veth::config(OffloadPolicy offloads) const {
  PortConfig port{.name = "left", .device = "near0"};
  port.offloads = offloads;
  return port;
}

LinkInfo Veth::near() {
  return read_link("near0").value();
}

std::string Veth::far_offloads() const {
  return output_of(place_.command_prefix + "ethtool -k far0");
}

void Veth::set_mtus(unsigned near_mtu, unsigned far_mtu) const {
  run("ip link set near0 mtu " + std::to_string(near_mtu));
  run("ip -n " + namespace_ + " link set far0 mtu " + std::to_string(far_mtu));
}

}  // namespace mqsteer
