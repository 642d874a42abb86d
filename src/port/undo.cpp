#include "port/undo.h"

#include "port/offloads.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace mqsteer {
namespace {

constexpr const char* kDirectory = "/run/mqsteer/interfaces";

std::string file_of(int interface_index) {
  struct stat network_namespace {};
  static_cast<void>(stat("/proc/thread-self/ns/net", &network_namespace));
  return std::string{kDirectory} + "/" + std::to_string(network_namespace.st_ino) + "-" +
         std::to_string(interface_index);
}

ifreq request_for(const std::string& interface) {
  ifreq request{};
  memcpy(request.ifr_name, interface.data(),
         std::min(interface.size(), sizeof request.ifr_name - 1));
  return request;
}

Expected<void> put_back(const Undo::Step& step) {
  switch (step.kind) {
    case Undo::Step::Kind::kFeatureOn:
      return write_features(step.interface, {{step.value, true}});
    case Undo::Step::Kind::kMtu:
      return set_interface_mtu(step.interface,
                               static_cast<unsigned>(strtoul(step.value.c_str(), nullptr, 10)));
    case Undo::Step::Kind::kDown:
      return set_interface_up(step.interface, false);
  }
  return {};
}

/// "f /run/netns/left eth0 tx-checksum-ip-generic"; "-" stands for an empty field.
std::string line_of(const Undo::Step& step) {
  const auto field = [](const std::string& text) { return text.empty() ? "-" : text; };
  return std::string{static_cast<char>(step.kind)} + " " + field(step.place.path) + " " +
         field(step.interface) + " " + field(step.value);
}

bool read_line(const std::string& line, Undo::Step& step) {
  std::istringstream fields{line};
  char kind = 0;
  if (!(fields >> kind >> step.place.path >> step.interface >> step.value)) return false;
  if (kind != 'f' && kind != 'm' && kind != 'd') return false;
  step.kind = static_cast<Undo::Step::Kind>(kind);
  if (step.place.path == "-") step.place.path.clear();
  return true;
}

}  // namespace

Expected<void> set_interface_up(const std::string& interface, bool up) {
  const std::string what = "setting " + interface + (up ? " up" : " down");
  const Descriptor socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ifreq request = request_for(interface);
  if (ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) return fail(errno, what);
  const int flags = request.ifr_flags;
  request.ifr_flags = static_cast<short>(up ? flags | IFF_UP : flags & ~IFF_UP);
  if (ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return fail(errno, what);
  return {};
}

Expected<void> set_interface_mtu(const std::string& interface, unsigned mtu) {
  const Descriptor socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ifreq request = request_for(interface);
  request.ifr_mtu = static_cast<int>(mtu);
  if (ioctl(socket.get(), SIOCSIFMTU, &request) != 0) {
    return fail(errno, "setting the MTU of " + interface + " to " + std::to_string(mtu));
  }
  return {};
}

bool Undo::Step::same_as(const Step& other) const {
  const bool values_matter = kind == Kind::kFeatureOn;
  return kind == other.kind && place.path == other.place.path && interface == other.interface &&
         (!values_matter || value == other.value);
}

Undo::Undo(const LinkInfo& interface)
    : path_{file_of(interface.index)}, owner_{interface.name + " " + interface.address} {
  std::ifstream file{path_};
  std::string line;
  if (!std::getline(file, line) || line != owner_) return;
  while (std::getline(file, line)) {
    Step step;
    if (read_line(line, step)) steps_.push_back(std::move(step));
  }
}

Undo::~Undo() {
  run();
}

void Undo::remember(Step step) {
  const auto known = [&step](const Step& other) { return step.same_as(other); };
  if (std::ranges::any_of(steps_, known)) return;
  steps_.push_back(std::move(step));
  write();
}

/// Where the directory cannot be written (an ordinary user), the change is undone at a proper end
/// only.
void Undo::write() const {
  std::error_code ignored;
  std::filesystem::create_directories(kDirectory, ignored);
  const std::string fresh = path_ + ".new";
  {
    std::ofstream file{fresh};
    file << owner_ << '\n';
    for (const Step& step : steps_) file << line_of(step) << '\n';
    if (!file.flush()) return;
  }
  std::filesystem::rename(fresh, path_, ignored);
}

void Undo::run() noexcept {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    // The interface may be gone by now; then there is nothing to put back.
    static_cast<void>(in_namespace(step->place, [&step] { return put_back(*step); }));
  }
  steps_.clear();
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace mqsteer
