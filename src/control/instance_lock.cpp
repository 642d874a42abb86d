#include "control/instance_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace mqsteer {
namespace {

constexpr mode_t kDirectoryMode = 0755;

/// mkdir -p. An existing directory keeps its mode.
Expected<void> make_directories(const std::string& path) {
  for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
      const int code = errno;
      const char* advice = code == EACCES ? " (run as root, or let this user own it)" : "";
      return fail(code, "create the directory " + part + advice);
    }
    if (at == std::string::npos) return {};
  }
}

/// "process 123", as the holder wrote it.
std::string holder_of(int fd) {
  std::array<char, 16> text{};
  const ssize_t length = pread(fd, text.data(), text.size() - 1, 0);
  std::string pid{text.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
  pid = pid.substr(0, pid.find_first_not_of("0123456789"));
  return pid.empty() ? "another process" : "process " + pid;
}

tl::unexpected<Error> running_already(const std::string& instance, const std::string& holder) {
  return fail("instance " + instance + " is running already, as " + holder +
              "; stop it first, or give this one another name by the key instance");
}

/// Whether `path` still names the open file: its last holder may have removed it meanwhile.
bool same_file(int fd, const std::string& path) {
  struct stat open_file {};
  struct stat named {};
  return fstat(fd, &open_file) == 0 && stat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

void write_pid(int fd) {
  const std::string pid = std::to_string(getpid()) + '\n';
  // For people only: who holds the lock does not hang on it.
  if (ftruncate(fd, 0) != 0 || write(fd, pid.data(), pid.size()) < 0) return;
}

}  // namespace

Expected<InstanceLock> InstanceLock::take(const std::string& instance,
                                          const std::string& directory) {
  const std::string own = directory + '/' + instance;
  const std::string path = own + "/lock";
  constexpr int kAttempts = 16;  // each one fails only where another process came or left just now
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (auto made = make_directories(own); !made) return tl::unexpected(made.error());
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
      if (errno == ENOENT) continue;
      return fail(errno, "open the lock file " + path);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const int code = errno;
      const std::string holder = holder_of(fd);
      close(fd);
      return code == EWOULDBLOCK ? running_already(instance, holder) : fail(code, "lock " + path);
    }
    if (same_file(fd, path)) {
      write_pid(fd);
      return InstanceLock{fd, own};
    }
    close(fd);
  }
  return fail("the lock file " + path + " keeps vanishing; is something cleaning " + directory +
              "?");
}

InstanceLock::InstanceLock(int fd, std::string directory) noexcept
    : fd_{fd}, directory_{std::move(directory)} {}

InstanceLock::InstanceLock(InstanceLock&& other) noexcept
    : fd_{std::exchange(other.fd_, -1)}, directory_{std::move(other.directory_)} {}

InstanceLock& InstanceLock::operator=(InstanceLock&& other) noexcept {
  if (this != &other) {
    release();
    fd_ = std::exchange(other.fd_, -1);
    directory_ = std::move(other.directory_);
  }
  return *this;
}

InstanceLock::~InstanceLock() {
  release();
}

void InstanceLock::release() noexcept {
  if (fd_ < 0) return;
  // While it is locked, so that nobody holds a lock on a file without a name.
  unlink((directory_ + "/lock").c_str());
  rmdir(directory_.c_str());  // stays where something else is in it
  close(std::exchange(fd_, -1));
}

}  // namespace mqsteer
