#pragma once

#include <mqsteer/error.h>

#include <string>

namespace mqsteer {

/// Where the files of instances are.
inline constexpr const char* kRuntimeDirectory = "/run/mqsteer";

/// The right to be the one process of an instance, from take() to the destructor.
///
/// It is an flock(2) on DIRECTORY/INSTANCE/lock, so a crash gives it back. The file has the
/// holder's pid for people; it and the instance's directory are removed at the end.
class InstanceLock {
 public:
  /// Take it before EAL starts. Makes the directories (0755) where they are missing.
  ///
  /// instance: checked as by the configuration (no slashes)
  /// errors:   one line; an instance that runs already is named with its pid
  static Expected<InstanceLock> take(const std::string& instance,
                                     const std::string& directory = kRuntimeDirectory);

  InstanceLock(InstanceLock&& other) noexcept;
  InstanceLock& operator=(InstanceLock&& other) noexcept;
  InstanceLock(const InstanceLock&) = delete;
  InstanceLock& operator=(const InstanceLock&) = delete;
  ~InstanceLock();

 private:
  InstanceLock(int fd, std::string directory) noexcept;
  void release() noexcept;

  int fd_ = -1;  ///< -1: moved from
  std::string directory_;
};

}  // namespace mqsteer
