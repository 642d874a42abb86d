#include "control/control_server.h"

#include "config/words.h"
#include "control/control_connection.h"
#include "control/request.h"

#include <mqsteer/descriptor.h>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

namespace mqsteer {
namespace {

constexpr int kListenBacklog = 64;
constexpr int kAcceptsPerCall = 64;
constexpr mode_t kSocketMode = 0660;
constexpr mode_t kDirectoryMode = 0755;

Expected<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return fail("the control socket's path is longer than " +
                std::to_string(sizeof(address.sun_path) - 1) + " bytes: " + path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Descriptor new_socket() {
  return Descriptor{socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
}

bool somebody_listens(const sockaddr_un& address) {
  const Descriptor probe = new_socket();
  return connect(probe.get(), generic(address), sizeof(address)) == 0 || errno == EAGAIN;
}

/// A socket file without a listener is what a crash left; anything else is not ours to remove.
Expected<void> make_room(const std::string& path, const sockaddr_un& address) {
  struct stat there {};
  if (lstat(path.c_str(), &there) != 0) return {};
  if (!S_ISSOCK(there.st_mode)) return fail("control socket: " + path + " is there, but no socket");
  if (somebody_listens(address)) {
    return fail("control socket: another process listens on " + path +
                "; stop it first, or give this one another name by the key instance");
  }
  if (unlink(path.c_str()) != 0) return fail(errno, "remove the stale control socket " + path);
  return {};
}

Expected<Descriptor> bind_socket(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return tl::unexpected(address.error());
  if (auto room = make_room(path, *address); !room) return tl::unexpected(room.error());
  Descriptor listener = new_socket();
  if (!listener.valid()) return fail(errno, "control socket");
  // Before bind, which makes the file with this mode less the umask: never wider than 0660.
  fchmod(listener.get(), kSocketMode);
  if (bind(listener.get(), generic(*address), sizeof(*address)) != 0) {
    return fail(errno, "control socket " + path);
  }
  if (chmod(path.c_str(), kSocketMode) != 0 || listen(listener.get(), kListenBacklog) != 0) {
    const int code = errno;
    unlink(path.c_str());
    return fail(code, "control socket " + path);
  }
  return listener;
}

}  // namespace

/// Its epoll set has the listener, a one-second timer, an event that says "call me again" and the
/// connections. Their number stands in epoll_data: small for the first three, then counted up, so
/// that an event of a connection closed in the same call is never another's.
class ControlServer::Impl {
 public:
  Impl(ControlConfig config, LineHandler handler)
      : config_{std::move(config)},
        handler_{std::move(handler)},
        path_{config_.runtime_directory + '/' + config_.instance + "/control.sock"} {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  Impl(Impl&&) = delete;
  Impl& operator=(Impl&&) = delete;
  ~Impl();

  Expected<void> open();
  void serve();
  [[nodiscard]] int fd() const noexcept { return epoll_.get(); }
  [[nodiscard]] std::size_t clients() const noexcept { return connections_.size(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  enum Source : std::uint64_t { kListener, kTimer, kAgain, kFirstConnection };

  Expected<void> watch(int fd, std::uint64_t source);
  void accept_all();
  void refuse(const Descriptor& client) const;
  void serve_connection(std::uint64_t number, bool readable);
  void tick();
  void pause_accepting();
  void set_timer();
  void ask_again(bool again);

  ControlConfig config_;
  LineHandler handler_;
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;  ///< of our socket file
  Descriptor epoll_;
  Descriptor listener_;
  Descriptor timer_;
  Descriptor again_;
  bool paused_ = false;  ///< out of file descriptors; the timer ends it
  std::uint64_t next_number_ = kFirstConnection;
  std::map<std::uint64_t, ControlConnection> connections_;
};

Expected<void> ControlServer::Impl::open() {
  const std::string directory = path_.substr(0, path_.rfind('/'));
  for (const std::string& made : {config_.runtime_directory, directory}) {
    if (mkdir(made.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
      return fail(errno, "create the directory " + made);
    }
  }
  auto listener = bind_socket(path_);
  if (!listener) return tl::unexpected(listener.error());
  listener_ = std::move(*listener);
  struct stat file {};
  if (stat(path_.c_str(), &file) == 0) {
    device_ = file.st_dev;
    inode_ = file.st_ino;
  }
  epoll_ = Descriptor{epoll_create1(EPOLL_CLOEXEC)};
  timer_ = Descriptor{timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)};
  again_ = Descriptor{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  if (!epoll_.valid() || !timer_.valid() || !again_.valid())
    return fail(errno, "control socket: epoll");
  if (auto done = watch(listener_.get(), kListener); !done) return done;
  if (auto done = watch(timer_.get(), kTimer); !done) return done;
  return watch(again_.get(), kAgain);
}

ControlServer::Impl::~Impl() {
  struct stat file {};
  const bool ours = inode_ != 0 && stat(path_.c_str(), &file) == 0 && file.st_dev == device_ &&
                    file.st_ino == inode_;
  if (!ours) return;
  unlink(path_.c_str());
  rmdir(path_.substr(0, path_.rfind('/')).c_str());  // stays while the lock is in it
}

Expected<void> ControlServer::Impl::watch(int fd, std::uint64_t source) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = source}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return fail(errno, "control socket: epoll_ctl");
}

void ControlServer::Impl::serve() {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool again = false;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const std::uint64_t source = event.data.u64;
    if (source == kListener) accept_all();
    if (source == kTimer) tick();
    if (source == kAgain) again = true;
    if (source >= kFirstConnection) serve_connection(source, true);
  }
  // Lines that came together with earlier ones: no event tells of them any more.
  if (again) {
    std::vector<std::uint64_t> waiting;
    for (const auto& [number, connection] : connections_) {
      if (connection.has_line()) waiting.push_back(number);
    }
    for (const std::uint64_t number : waiting) serve_connection(number, false);
  }
  bool more = false;
  for (const auto& [number, connection] : connections_) more = more || connection.has_line();
  ask_again(more);
}

void ControlServer::Impl::accept_all() {
  for (int i = 0; i < kAcceptsPerCall; ++i) {
    Descriptor client{accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (!client.valid()) {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) pause_accepting();
      return;
    }
    if (connections_.size() >= config_.max_clients) {
      refuse(client);
      continue;
    }
    if (!watch(client.get(), next_number_)) continue;
    connections_.emplace(next_number_++, ControlConnection{std::move(client)});
    if (connections_.size() == 1) set_timer();
  }
}

void ControlServer::Impl::refuse(const Descriptor& client) const {
  const std::string line =
      error_line({0, "the daemon has " + std::to_string(config_.max_clients) +
                         " control connections, its most; close one and try again"}) +
      '\n';
  // Fits a fresh socket's buffer; who does not get it sees the connection closed.
  (void)!send(client.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void ControlServer::Impl::serve_connection(std::uint64_t number, bool readable) {
  const auto at = connections_.find(number);
  if (at == connections_.end()) return;
  ControlConnection& connection = at->second;
  const bool was_blocked = connection.blocked();
  if (readable && !was_blocked) connection.read_some(config_.max_line_bytes);
  connection.write_some();
  if (!connection.blocked()) {
    if (auto line = connection.next_line(config_.max_line_bytes)) connection.reply(handler_(*line));
  }
  if (connection.closed()) {
    connections_.erase(at);
    if (connections_.empty()) set_timer();
    return;
  }
  if (connection.blocked() == was_blocked) return;
  // A client that does not read its replies is not read from either.
  epoll_event event{.events = connection.blocked() ? EPOLLOUT : EPOLLIN, .data = {.u64 = number}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.fd(), &event);
}

void ControlServer::Impl::tick() {
  std::uint64_t expirations = 0;
  (void)!read(timer_.get(), &expirations, sizeof(expirations));
  const ControlConnection::Limits limits{.half_line = config_.half_line_limit,
                                         .slow_reader = config_.slow_reader_limit,
                                         .silence = config_.silence_limit};
  for (auto at = connections_.begin(); at != connections_.end();) {
    at = at->second.overdue(limits) ? connections_.erase(at) : std::next(at);
  }
  if (paused_) {
    paused_ = false;
    (void)watch(listener_.get(), kListener);
  }
  set_timer();
}

void ControlServer::Impl::pause_accepting() {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
  paused_ = true;
  set_timer();
}

/// Off where there is nothing to watch, so that an idle daemon sleeps.
void ControlServer::Impl::set_timer() {
  using std::chrono::nanoseconds;
  const bool on = paused_ || !connections_.empty();
  const nanoseconds shortest = std::min(config_.half_line_limit, config_.slow_reader_limit);
  const nanoseconds tick =
      on ? std::min<nanoseconds>(std::chrono::seconds{1}, shortest / 2) : nanoseconds{0};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(tick);
  const itimerspec when{
      .it_interval = {},
      .it_value = {.tv_sec = seconds.count(), .tv_nsec = (tick - seconds).count()}};
  timerfd_settime(timer_.get(), 0, &when, nullptr);
}

void ControlServer::Impl::ask_again(bool again) {
  std::uint64_t value = 1;
  if (again) {
    (void)!write(again_.get(), &value, sizeof(value));
  } else {
    (void)!read(again_.get(), &value, sizeof(value));
  }
}

Expected<ControlServer> ControlServer::listen(const ControlConfig& config, LineHandler handler) {
  auto impl = std::make_unique<Impl>(config, std::move(handler));
  if (auto opened = impl->open(); !opened) return tl::unexpected(opened.error());
  return ControlServer{std::move(impl)};
}

ControlServer::ControlServer(std::unique_ptr<Impl> impl) noexcept : impl_{std::move(impl)} {}
ControlServer::ControlServer(ControlServer&& other) noexcept = default;
ControlServer& ControlServer::operator=(ControlServer&& other) noexcept = default;
ControlServer::~ControlServer() = default;

int ControlServer::fd() const noexcept {
  return impl_->fd();
}
void ControlServer::serve() {
  impl_->serve();
}
std::size_t ControlServer::clients() const noexcept {
  return impl_->clients();
}
const std::string& ControlServer::path() const noexcept {
  return impl_->path();
}

}  // namespace mqsteer
