#include "control/control_client.h"

#include <dirent.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace mqsteer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostReplyBytes = std::size_t{16} << 20U;

/// Instances that have a control socket, for who mistyped a name.
std::string others(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries{opendir(directory.c_str()), closedir};
  std::vector<std::string> names;
  while (entries) {
    const dirent* entry = readdir(entries.get());
    if (entry == nullptr) break;
    struct stat file {};
    const std::string name{entry->d_name};
    const std::string path = ClientConfig{.instance = name, .runtime_directory = directory}.path();
    if (name[0] != '.' && stat(path.c_str(), &file) == 0) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

/// What an errno of connect(2) means to the user.
Error connect_failure(int code, const ClientConfig& config) {
  const std::string path = config.path();
  if (code == EACCES || code == EPERM) {
    return {0,
            "no permission for " + path + "; run mqsteerctl as root or in the group that owns it"};
  }
  if (code == ENOENT || code == ENOTDIR) {
    const std::string running = others(config.runtime_directory);
    std::string text = config.socket_path.empty()
                           ? "instance " + config.instance + " is not running: "
                           : std::string{"mqsteerd is not running there: "};
    text += "there is no socket " + path;
    if (config.socket_path.empty() && !running.empty()) {
      return {0, text + "; allowed: -i with one that runs: " + running};
    }
    return {0, text + "; start mqsteerd first"};
  }
  if (code == ECONNREFUSED) {
    return {0, "mqsteerd is not running: nobody answers at " + path + "; start it first"};
  }
  if (code == EAGAIN || code == EINPROGRESS) {
    return {0, "mqsteerd does not answer: no connection to " + path + " within " +
                   std::to_string(config.limit.count()) + " ms"};
  }
  return {code, "connect to " + path};
}

timeval to_timeval(std::chrono::milliseconds limit) {
  return {.tv_sec = limit.count() / 1000, .tv_usec = (limit.count() % 1000) * 1000};
}

bool wait_for(int fd, short events, Clock::time_point deadline) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wanted{.fd = fd, .events = events, .revents = 0};
    const int ready = poll(&wanted, 1, static_cast<int>(std::max<long>(left, 0)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR || left <= 0) return false;
  }
}

}  // namespace

std::string ClientConfig::path() const {
  if (!socket_path.empty()) return socket_path;
  return runtime_directory + '/' + instance + "/control.sock";
}

Expected<ControlClient> ControlClient::connect(const ClientConfig& config) {
  const std::string path = config.path();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return fail("the socket's path is longer than " + std::to_string(sizeof(address.sun_path) - 1) +
                " bytes: " + path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  Descriptor client{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (!client.valid()) return fail(errno, "socket");
  // connect(2) to a unix socket waits as long as a send may, while the listener's queue is full.
  const timeval limit = to_timeval(config.limit);
  setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  if (::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return tl::unexpected(connect_failure(errno, config));
  }
  return ControlClient{std::move(client), config};
}

Expected<std::string> ControlClient::ask(std::string_view request) {
  if (auto sent = send_line(request); !sent) return tl::unexpected(sent.error());
  return read_line();
}

bool ControlClient::wait_until(Clock::time_point until) const {
  const auto left =
      std::max(std::chrono::nanoseconds{0},
               std::chrono::duration_cast<std::chrono::nanoseconds>(until - Clock::now()));
  const timespec timeout{.tv_sec = left.count() / 1'000'000'000,
                         .tv_nsec = left.count() % 1'000'000'000};
  // Nothing is asked, so whatever comes is the end or not for us.
  pollfd closed{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  return ppoll(&closed, 1, &timeout, nullptr) == 0;
}

Expected<void> ControlClient::send_line(std::string_view request) {
  const std::string line = std::string{request} + '\n';
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t length =
        send(socket_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (length > 0) {
      sent += static_cast<std::size_t>(length);
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return {};  // closed, perhaps with a line that says why
    } else if (errno != EINTR) {
      return fail(errno, "send to " + config_.path());
    }
  }
  return {};
}

Expected<std::string> ControlClient::read_line() {
  const auto deadline = Clock::now() + config_.limit;
  std::size_t searched = 0;
  while (true) {
    const std::size_t end = input_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      return line;
    }
    searched = input_.size();
    if (searched > kMostReplyBytes) return fail("the answer of " + config_.path() + " has no end");
    if (!wait_for(socket_.get(), POLLIN, deadline)) {
      return fail("mqsteerd does not answer: nothing from " + config_.path() + " within " +
                  std::to_string(config_.limit.count()) + " ms");
    }
    std::array<char, 65536> buffer;
    const ssize_t length = recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (length > 0) {
      input_.append(buffer.data(), static_cast<std::size_t>(length));
    } else if (length == 0 || errno == ECONNRESET) {
      return fail("mqsteerd has gone: it closed the connection at " + config_.path());
    } else if (errno != EAGAIN && errno != EINTR) {
      return fail(errno, "read from " + config_.path());
    }
  }
}

}  // namespace mqsteer
