#include "mqrr/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <unordered_map>

namespace mqsteer::rr_kernel {
namespace {

// The kernel's own limit (net.core.somaxconn) rules. In a queue that is half full it forgets
// handshakes whose last step was lost, and resets those clients.
constexpr int kListenQueue = 65535;
constexpr unsigned kAloneMs = 10;
constexpr std::size_t kBufferBytes = 65536;
constexpr const char* kFewDescriptors =
    "starting the threads: no file descriptors are left; raise the limit (ulimit -Hn), or use "
    "fewer --threads";

Expected<Descriptor> listen_on(const Endpoint& at) {
  auto socket = tcp_socket(at.family());
  if (!socket) return socket;
  const int on = 1;
  ::setsockopt(socket->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(socket->get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (::bind(socket->get(), at.raw(), at.bytes) != 0) {
    const int error = errno;
    std::string text = "listening on " + at.text();
    if (error == EADDRINUSE) text += ": another program has this port; use --port";
    if (error == EADDRNOTAVAIL) text += ": no interface has this address; use --bind";
    if (error == EACCES) text += ": low ports take root; use --port with 1024 or more";
    return fail(error, std::move(text));
  }
  if (::listen(socket->get(), kListenQueue) != 0) return fail(errno, "listening on " + at.text());
  return socket;
}

/// Whether somebody who does not share the port has it: SO_REUSEPORT alone would join another mqrr
/// server of the same user without a word.
Expected<void> check_free(const Endpoint& at) {
  Descriptor probe{::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP)};
  if (!probe.valid()) return fail(errno, "opening a TCP socket");
  const int on = 1;
  ::setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool free = ::bind(probe.get(), at.raw(), at.bytes) == 0 && ::listen(probe.get(), 1) == 0;
  if (free || errno != EADDRINUSE) return {};
  return fail(EADDRINUSE,
              "listening on " + at.text() + ": another program has this port; use --port");
}

std::uint16_t port_of(int socket) {
  Endpoint at;
  at.bytes = sizeof at.address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&at.address), &at.bytes);
  sockaddr_in6 in{};  // the port stands at the same place in both families
  std::memcpy(&in, &at.address, sizeof in);
  return ntohs(in.sin6_port);
}

Endpoint with_port(Endpoint at, std::uint16_t port) {
  sockaddr_in6 in{};
  std::memcpy(&in, &at.address, sizeof in);
  in.sin6_port = htons(port);
  std::memcpy(&at.address, &in, sizeof in);
  return at;
}

}  // namespace

/// One thread: its listening socket and its connections.
class Server::Worker {
 public:
  Worker(Descriptor listener, int wake)
      : listener_{std::move(listener)},
        poll_{::epoll_create1(EPOLL_CLOEXEC)},
        buffer_(kBufferBytes) {
    watch(listener_.get(), EPOLLIN, EPOLL_CTL_ADD);
    watch(wake, EPOLLIN, EPOLL_CTL_ADD);
    wake_ = wake;
  }

  [[nodiscard]] bool has_descriptors() const noexcept { return poll_.valid() && spare_.valid(); }

  void loop() {
    std::array<epoll_event, 256> events;
    for (bool busy_alone = false;; busy_alone = open_.size() == 1 && serve_alone()) {
      const int timeout = busy_alone ? 0 : -1;
      const int count = ::epoll_wait(poll_.get(), events.data(), events.size(), timeout);
      for (int i = 0; i < count; ++i) {
        const int fd = events[i].data.fd;
        if (fd == wake_) return;
        if (fd == listener_.get()) {
          accept_some();
        } else {
          serve(fd, MSG_DONTWAIT);
        }
      }
    }
  }

  std::atomic<std::uint64_t> connections{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> bytes{0};

 private:
  struct Connection {
    Descriptor socket;
    std::string unsent;  ///< the client does not take more now; nothing is read until it does
    bool waits = false;  ///< for the client to take what is unsent
  };

  void accept_some() {
    for (int i = 0; i < 64; ++i) {
      Descriptor socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
      if (!socket.valid()) {
        if (errno == EMFILE || errno == ENFILE) refuse_one();
        return;
      }
      const int on = 1;
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      let_wait(socket.get(), kAloneMs);
      const int fd = socket.get();
      watch(fd, EPOLLIN, EPOLL_CTL_ADD);
      open_.insert_or_assign(fd, Connection{std::move(socket), {}, false});
      connections.fetch_add(1, std::memory_order_relaxed);
    }
  }

  /// No descriptor is left: one is given up for a moment, so that the client hears of it and does
  /// not wait for ever.
  void refuse_one() {
    spare_.close();
    Descriptor socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    const linger at_once{1, 0};
    if (socket.valid()) {
      ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      refused.fetch_add(1, std::memory_order_relaxed);
    }
    socket.close();
    spare_ = Descriptor{::eventfd(0, EFD_CLOEXEC)};
  }

  /// The only connection is waited for in recv() itself, which saves epoll's system call and second
  /// wake-up for each transaction. A newcomer waits kAloneMs at most.
  ///
  /// returns: whether it is worth doing again soon
  bool serve_alone() {
    const int fd = open_.begin()->first;
    const std::uint64_t until = now_ns() + kAloneMs * std::uint64_t{1'000'000};
    while (serve(fd, 0)) {
      if (now_ns() >= until) return true;
    }
    return false;
  }

  /// returns: whether there was a request, and the connection awaits the next
  bool serve(int fd, int flags) {
    const auto found = open_.find(fd);
    if (found == open_.end()) return false;
    Connection& connection = found->second;
    if (!send_rest(connection)) return close(fd);
    if (!connection.unsent.empty()) return false;
    const ssize_t count = ::recv(fd, buffer_.data(), buffer_.size(), flags);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (count <= 0) return close(fd);
    connection.unsent.assign(buffer_.data(), static_cast<std::size_t>(count));
    if (!send_rest(connection)) return close(fd);
    return connection.unsent.empty();
  }

  /// returns: false where the connection is gone
  bool send_rest(Connection& connection) {
    if (connection.unsent.empty()) return true;
    const ssize_t count = ::send(connection.socket.get(), connection.unsent.data(),
                                 connection.unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN) return false;
    const bool had_waited = connection.waits;
    if (count > 0) {
      bytes.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
      connection.unsent.erase(0, static_cast<std::size_t>(count));
    }
    connection.waits = !connection.unsent.empty();
    if (connection.waits != had_waited) {
      watch(connection.socket.get(), connection.waits ? EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
    }
    return true;
  }

  bool close(int fd) {
    open_.erase(fd);
    return false;
  }

  void watch(int fd, std::uint32_t events, int operation) {
    epoll_event event{.events = events, .data = {.fd = fd}};
    ::epoll_ctl(poll_.get(), operation, fd, &event);
  }

  Descriptor listener_;
  Descriptor poll_;
  Descriptor spare_{::eventfd(0, EFD_CLOEXEC)};
  int wake_ = -1;
  std::vector<char> buffer_;
  std::unordered_map<int, Connection> open_;
};

Server::Server() : wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {}

Expected<std::unique_ptr<Server>> Server::start(const Config& config) {
  allow_most_descriptors();
  if (auto free = check_free(config.listen); !free) return tl::unexpected(free.error());
  std::unique_ptr<Server> server{new Server};
  if (!server->wake_.valid()) return fail(kFewDescriptors);
  Endpoint at = config.listen;
  for (unsigned i = 0; i < config.threads; ++i) {
    auto listener = listen_on(at);
    if (!listener) {
      return listener.error().code == EMFILE ? fail(kFewDescriptors)
                                             : tl::unexpected(listener.error());
    }
    server->port_ = port_of(listener->get());
    at = with_port(at, server->port_);  // with port 0 the first one chooses
    server->workers_.push_back(std::make_unique<Worker>(std::move(*listener), server->wake_.get()));
    if (!server->workers_.back()->has_descriptors()) return fail(kFewDescriptors);
  }
  for (auto& worker : server->workers_) {
    server->threads_.emplace_back([worker = worker.get()] { worker->loop(); });
  }
  return server;
}

Server::~Server() {
  stop();
}

void Server::stop() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

Server::Figures Server::figures() const noexcept {
  Figures sum;
  for (const auto& worker : workers_) {
    sum.connections += worker->connections.load(std::memory_order_relaxed);
    sum.refused += worker->refused.load(std::memory_order_relaxed);
    sum.bytes += worker->bytes.load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace mqsteer::rr_kernel
