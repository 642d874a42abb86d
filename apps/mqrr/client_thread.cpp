#include "mqrr/client_thread.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace mqsteer::rr_kernel {
namespace {

constexpr unsigned kTickMs = 20;

std::string turned_away(const Endpoint& server, const std::string& why) {
  return "connecting to " + server.text() + ": a connection ended before its first request (" +
         why +
         "); the server has stopped, or has no room for more: its descriptors (ulimit -Hn), or "
         "rr.connections of an rr box";
}

std::string cannot_connect(const Endpoint& server, int error) {
  if (error == ECONNRESET) return turned_away(server, std::strerror(error));
  std::string text = "connecting to " + server.text() + ": " + std::strerror(error);
  if (error == ECONNREFUSED) {
    text +=
        "; is a server listening there? (mqrr server --port N) An rr box answers so when it is "
        "full, too: raise rr.connections";
  }
  if (error == EADDRNOTAVAIL) {
    text +=
        "; the local ports are used up: widen net.ipv4.ip_local_port_range, or use fewer "
        "connections";
  }
  if (error == ENETUNREACH || error == EHOSTUNREACH) {
    text += "; there is no way to that address from here";
  }
  return text;
}

}  // namespace

ClientThread::ClientThread(Run& run, unsigned connections)
    : run_{run},
      poll_{::epoll_create1(EPOLL_CLOEXEC)},
      connections_(connections),
      request_(run.config->size),
      response_(std::max<std::uint32_t>(run.config->size, 4096)) {
  if (!poll_.valid()) failure = std::string{"opening an epoll instance: "} + std::strerror(errno);
}

void ClientThread::loop() {
  // In one order with alone_: either wake() sees the socket or this sees the stop.
  while (!run_.stop.load(std::memory_order_seq_cst) && failure.empty()) {
    open_more();
    const std::uint64_t from = run_.measure_from.load(std::memory_order_acquire);
    if (from != 0 && !asking_) ask_all();
    if (from != 0 && now_ns() >= run_.measure_to.load(std::memory_order_relaxed)) break;
    if (lost == connections_.size()) break;
    listen();
    // Once for many responses: the threads share this line.
    if (heard_ != 0) run_.heard.store(heard_, std::memory_order_relaxed);
  }
  count_silent();
}

/// For whatever comes next, for a tick at most. A thread with one connection waits in recv()
/// itself, until wake(): epoll costs a system call and a second wake-up for each transaction, and a
/// time limit a timer.
void ClientThread::listen() {
  Connection& first = connections_.front();
  if (connections_.size() == 1 && first.state == State::kAsking && first.sent == request_.size()) {
    return read_some(first, 0, 0);
  }
  std::array<epoll_event, 256> events;
  const int count = ::epoll_wait(poll_.get(), events.data(), events.size(), kTickMs);
  for (int i = 0; i < count; ++i) ready(events[i].data.u32, events[i].events);
}

void ClientThread::ask_all() {
  asking_ = true;
  for (unsigned i = 0; i < connections_.size(); ++i) {
    if (connections_[i].state != State::kIdle) continue;
    if (connections_.size() == 1) {
      let_wait(connections_[i].socket.get(), 0);
      alone_.store(connections_[i].socket.get(), std::memory_order_seq_cst);
    }
    ask(connections_[i], i, now_ns());
  }
}

/// A few hundred handshakes at a time: more would only fill the server's listen queue.
void ClientThread::open_more() {
  while (opened_ < connections_.size() && connecting_ < kMostConnecting && failure.empty()) {
    if (!open(connections_[opened_], opened_)) return;
    ++opened_;
  }
}

bool ClientThread::open(Connection& connection, unsigned index) {
  const Endpoint& server = run_.config->server;
  auto socket = tcp_socket(server.family());
  if (!socket) {
    failure = socket.error().text();
    return false;
  }
  connection.socket = std::move(*socket);
  connection.state = State::kConnecting;
  connection.byte = static_cast<std::uint8_t>(index);
  ++connecting_;
  if (::connect(connection.socket.get(), server.raw(), server.bytes) != 0 && errno != EINPROGRESS) {
    failure = cannot_connect(server, errno);
    return false;
  }
  epoll_event event{.events = EPOLLOUT, .data = {.u32 = index}};
  ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, connection.socket.get(), &event);
  return true;
}

void ClientThread::ready(unsigned index, std::uint32_t events) {
  Connection& connection = connections_[index];
  if (connection.state == State::kClosed) return;
  if (connection.state == State::kConnecting) return connected(connection, index);
  if ((events & EPOLLOUT) != 0) write_some(connection, index);
  if (connection.state == State::kClosed) return;  // a reset sets all the events at once
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_some(connection, index, MSG_DONTWAIT);
}

void ClientThread::connected(Connection& connection, unsigned index) {
  int error = 0;
  socklen_t bytes = sizeof error;
  ::getsockopt(connection.socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
  if (error != 0) {
    failure = cannot_connect(run_.config->server, error);
    return;
  }
  --connecting_;
  connection.state = State::kIdle;
  watch(connection, index, false);
  run_.connected.fetch_add(1, std::memory_order_relaxed);
}

void ClientThread::ask(Connection& connection, unsigned index, std::uint64_t now) {
  connection.byte = static_cast<std::uint8_t>(connection.byte * 5 + 1);
  connection.sent = 0;
  connection.received = 0;
  connection.asked_at = now;
  connection.state = State::kAsking;
  write_some(connection, index);
}

void ClientThread::write_some(Connection& connection, unsigned index) {
  if (connection.state != State::kAsking || connection.sent == request_.size()) return;
  std::memset(request_.data(), connection.byte, request_.size());
  const bool waited = connection.sent != 0;
  const ssize_t count = ::send(connection.socket.get(), request_.data() + connection.sent,
                               request_.size() - connection.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0 && errno != EAGAIN) return lose(connection, errno, "sending a request");
  if (count > 0) connection.sent += static_cast<std::uint32_t>(count);
  const bool all = connection.sent == request_.size();
  if (!all || waited) watch(connection, index, !all);
}

void ClientThread::read_some(Connection& connection, unsigned index, int flags) {
  const ssize_t count = ::recv(connection.socket.get(), response_.data(), response_.size(), flags);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count < 0) return lose(connection, errno, "waiting for a response");
  if (count == 0 && run_.stop.load(std::memory_order_relaxed)) return;  // by wake()
  if (count == 0) return lose(connection, 0, "the server closed it");
  const auto bytes = static_cast<std::size_t>(count);
  const bool same = std::all_of(response_.begin(), response_.begin() + count,
                                [&](std::uint8_t byte) { return byte == connection.byte; });
  if (!same || connection.state != State::kAsking ||
      connection.received + bytes > request_.size()) {
    ++wrong;
    return lose(connection, 0, "the response had other bytes than the request");
  }
  connection.received += static_cast<std::uint32_t>(bytes);
  if (connection.received < request_.size()) return;
  const std::uint64_t now = now_ns();
  complete(connection, now);
  ask(connection, index, now);
}

void ClientThread::complete(const Connection& connection, std::uint64_t now) {
  heard_ = now;
  const std::uint64_t from = run_.measure_from.load(std::memory_order_relaxed);
  if (now < from || now > run_.measure_to.load(std::memory_order_relaxed)) return;
  ++transactions;
  // A response that began in the warm-up is a transaction of the measured time, or each connection
  // would be short of one; but its latency is partly the warm-up's.
  if (connection.asked_at >= from) latency.add(now - connection.asked_at);
  const std::size_t second = (now - from) / 1'000'000'000U;
  if (second >= series.size()) series.resize(second + 1);
  ++series[second];
}

void ClientThread::count_silent() {
  const std::uint64_t now = now_ns();
  const auto limit = static_cast<std::uint64_t>(run_.config->stall_s * 1e9);
  for (const Connection& connection : connections_) {
    if (connection.state != State::kAsking) continue;
    if (run_.stalled || now - connection.asked_at > limit) ++silent;
  }
}

void ClientThread::lose(Connection& connection, int error, const char* what) {
  if (connection.state == State::kClosed) return;
  std::string why = what;
  if (error != 0) why += std::string{": "} + std::strerror(error);
  if (!asking_)
    failure = turned_away(run_.config->server, error != 0 ? std::strerror(error) : what);
  if (lost_why.empty()) lost_why = std::move(why);
  ++lost;
  connection.state = State::kClosed;
  if (connections_.size() > 1) connection.socket.close();  // wake() may have the only one
}

void ClientThread::wake() const noexcept {
  const int socket = alone_.load(std::memory_order_seq_cst);
  if (socket >= 0) ::shutdown(socket, SHUT_RD);
}

void ClientThread::watch(Connection& connection, unsigned index, bool writable) {
  epoll_event event{.events = EPOLLIN | (writable ? EPOLLOUT : 0U), .data = {.u32 = index}};
  ::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, connection.socket.get(), &event);
}

}  // namespace mqsteer::rr_kernel
