#include "config/config_file.h"

#include "config/config_reader.h"
#include "config/device_name.h"
#include "config/schema.h"
#include "config/validate.h"
#include "config/words.h"
#include "config/yaml_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <optional>
#include <utility>

namespace mqsteer {
namespace {

class File {
 public:
  /// Does not block on a FIFO, which load_config() refuses then.
  explicit File(const std::string& path)
      : descriptor_{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)} {}
  File(const File&) = delete;
  File(File&&) = delete;
  File& operator=(const File&) = delete;
  File& operator=(File&&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

/// At most kMaxConfigBytes + 1, so that the caller sees that there is more.
Expected<std::string> read_bytes(const File& file, const std::string& path) {
  std::string text(kMaxConfigBytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.descriptor(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno, path + ": cannot read the configuration");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

/// A port name for a device: the device, with `_` for what a name may not have.
std::string port_name(std::string_view device) {
  constexpr std::string_view kMarks = "_.-";
  std::string name{device.substr(0, 31)};
  std::replace_if(
      name.begin(), name.end(),
      [kMarks](char c) {
        const bool ascii = static_cast<unsigned char>(c) < 0x80;
        return !(ascii && std::isalnum(static_cast<unsigned char>(c)) != 0) &&
               kMarks.find(c) == std::string_view::npos;
      },
      '_');
  return name;
}

/// Calls use(key, section) for the key at `path`; false if there is none.
template <class C, class Use>
bool with_key(C& config, std::string_view path, const Use& use) {
  bool found = false;
  schema::for_each_key(config, [&](const std::string& at, const auto& key, auto& section) {
    if (found || at != path) return;
    found = true;
    use(key, section);
  });
  return found;
}

tl::unexpected<Error> unknown_key(const Config& config, std::string_view path) {
  std::vector<std::string> paths;
  schema::for_each_key(
      config, [&paths](const std::string& at, const auto&, const auto&) { paths.push_back(at); });
  const std::vector<std::string_view> names{paths.begin(), paths.end()};
  return fail(in_quotes(path) + " is not a key; allowed: " + join(names));
}

}  // namespace

Expected<LoadedConfig> parse_config(std::string_view text, const std::string& file_name) {
  if (text.size() > kMaxConfigBytes) {
    return fail(file_name + ": the file is too large; allowed: at most 1048576 bytes");
  }
  auto tree = parse_yaml(text, file_name);
  if (!tree) return tl::unexpected(tree.error());
  if (tree->kind == YamlNode::Kind::kNull) {
    return fail(file_name + ":1: the file is empty; allowed: " + join(top_level_names()));
  }
  auto loaded = read_config(*tree, file_name);
  if (!loaded) return loaded;
  if (auto valid = validate(loaded->config, loaded->origins); !valid) {
    return tl::unexpected(valid.error());
  }
  return loaded;
}

Expected<LoadedConfig> load_config(const std::string& path) {
  const File file{path};
  if (file.descriptor() < 0) return fail(errno, path + ": cannot open the configuration");
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) {
    return fail(errno, path + ": cannot read the configuration");
  }
  if (S_ISDIR(status.st_mode)) return fail(path + ": this is a directory; allowed: a YAML file");
  if (!S_ISREG(status.st_mode)) return fail(path + ": this is no file; allowed: a YAML file");
  const auto text = read_bytes(file, path);
  if (!text) return tl::unexpected(text.error());
  return parse_config(*text, path);
}

Expected<LoadedConfig> config_from_bridge_option(std::string_view ports) {
  constexpr std::string_view kForm = "; allowed: two interfaces, --bridge eth1,eth2";
  const std::size_t comma = ports.find(',');
  if (comma == std::string_view::npos || ports.find(',', comma + 1) != std::string_view::npos) {
    return fail("--bridge: " + in_quotes(ports) + " is not two ports" + std::string{kForm});
  }
  LoadedConfig loaded;
  for (const std::string_view device : {ports.substr(0, comma), ports.substr(comma + 1)}) {
    if (const auto kind = parse_device(device); !kind) {
      return fail("--bridge: " + refusal_of(kind.error()).what + std::string{kForm});
    }
    PortConfig port;
    port.name = port_name(device);
    port.device = device;
    // A kernel interface hands over bursts of an interrupt's length, and the 1,024 of the default
    // lost 1 to 4 % of a TCP stream on a veth.
    if (parse_device(device).value() == DeviceKind::kInterface) port.rx_descriptors = 4096;
    loaded.config.ports.push_back(std::move(port));
  }
  const auto& made = loaded.config.ports;
  loaded.config.bridges.push_back({"br0", {made[0].name, made[1].name}});
  loaded.origins.add_option("ports", "--bridge");
  loaded.origins.add_option("bridge", "--bridge");
  if (auto valid = validate(loaded.config, loaded.origins); !valid) {
    return tl::unexpected(valid.error());
  }
  return loaded;
}

Expected<void> set_key(Config& config, std::string_view key, std::string_view value) {
  Expected<void> done;
  const bool found = with_key(config, key, [&](const auto& row, auto& section) {
    done = row.read(section, row, schema::Value{std::string{value}, false, false, {}});
  });
  if (!found) return unknown_key(config, key);
  if (!done) return fail(std::string{key} + ": " + done.error().message);
  return {};
}

Expected<void> apply_option(LoadedConfig& loaded, const OptionValue& option) {
  if (auto done = set_key(loaded.config, option.key, option.value); !done) {
    // The user typed an option, so the message names that and not the key behind it.
    const std::string prefix = option.key + ": ";
    const std::string message = done.error().message;
    const bool about_value = message.compare(0, prefix.size(), prefix) == 0;
    return fail(option.option + ": " + (about_value ? message.substr(prefix.size()) : message));
  }
  loaded.origins.add_option(option.key, option.option);
  return {};
}

Expected<std::string> get_key(const Config& config, std::string_view key) {
  std::string text;
  const bool found = with_key(config, key, [&text](const auto& row, const auto& section) {
    text = row.write(section, row);
  });
  if (!found) return unknown_key(config, key);
  return text;
}

std::string allowed_for(std::string_view key) {
  Config one_of_each;
  one_of_each.ports.resize(1);
  one_of_each.bridges.resize(1);
  std::string text;
  with_key(one_of_each, key, [&text](const auto& row, const auto&) { text = row.allowed; });
  return text;
}

}  // namespace mqsteer
