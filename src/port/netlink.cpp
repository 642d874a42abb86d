#include "port/netlink.h"

#include <mqsteer/descriptor.h>

#include <errno.h>
#include <linux/bpf.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

namespace mqsteer {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
T read_as(const std::byte* at) {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}

/// Calls visit(type, payload, bytes) for each attribute of a run of them; stops at a broken one.
template <class Visit>
void each_attribute(const std::byte* at, std::size_t bytes, Visit visit) {
  while (bytes >= sizeof(rtattr)) {
    const auto header = read_as<rtattr>(at);
    if (header.rta_len < sizeof(rtattr) || header.rta_len > bytes) return;
    visit(header.rta_type & NLA_TYPE_MASK, at + sizeof(rtattr), header.rta_len - sizeof(rtattr));
    const std::size_t step = std::min<std::size_t>(RTA_ALIGN(header.rta_len), bytes);
    at += step;
    bytes -= step;
  }
}

std::string text_of(const std::byte* at, std::size_t bytes) {
  const auto* letters = reinterpret_cast<const char*>(at);
  return {letters, strnlen(letters, bytes)};
}

std::string hex_of(const std::byte* at, std::size_t bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto byte = std::to_integer<unsigned>(at[i]);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xfU];
  }
  return text;
}

template <class Header>
class Request {
 public:
  Request(std::uint16_t type, std::uint16_t flags, const Header& header)
      : bytes_(NLMSG_SPACE(sizeof(Header))) {
    nlmsghdr message{};
    message.nlmsg_type = type;
    message.nlmsg_flags = flags;
    memcpy(bytes_.data(), &message, sizeof message);
    memcpy(bytes_.data() + NLMSG_HDRLEN, &header, sizeof header);
  }
  void add(std::uint16_t type, const void* data, std::size_t size) {
    rtattr attribute{};
    attribute.rta_type = type;
    attribute.rta_len = static_cast<std::uint16_t>(RTA_LENGTH(size));
    const std::size_t at = bytes_.size();
    bytes_.resize(at + RTA_SPACE(size));
    memcpy(bytes_.data() + at, &attribute, sizeof attribute);
    memcpy(bytes_.data() + at + RTA_LENGTH(0), data, size);
  }
  /// The whole message, its length filled in.
  Bytes finish() {
    const auto length = static_cast<std::uint32_t>(bytes_.size());
    memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_len), &length, sizeof length);
    return bytes_;
  }

 private:
  Bytes bytes_;
};

/// Sends one request and gives its one answer; an error answer becomes its errno.
Expected<Bytes> ask(const Bytes& request, const std::string& what) {
  const Descriptor socket{::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)};
  if (!socket.valid()) return fail(errno, "opening a netlink socket for " + what);
  if (send(socket.get(), request.data(), request.size(), 0) < 0) return fail(errno, what);
  Bytes answer(std::size_t{1} << 15U);
  const ssize_t got = recv(socket.get(), answer.data(), answer.size(), 0);
  if (got < static_cast<ssize_t>(sizeof(nlmsghdr))) return fail(got < 0 ? errno : EIO, what);
  answer.resize(static_cast<std::size_t>(got));
  const auto header = read_as<nlmsghdr>(answer.data());
  if (header.nlmsg_type == NLMSG_ERROR && answer.size() >= NLMSG_SPACE(sizeof(nlmsgerr))) {
    const auto error = read_as<nlmsgerr>(answer.data() + NLMSG_HDRLEN);
    if (error.error != 0) return fail(-error.error, what);
  }
  return answer;
}

void read_xdp(LinkInfo& link, const std::byte* at, std::size_t bytes) {
  each_attribute(at, bytes, [&link](int type, const std::byte* value, std::size_t size) {
    if (type == IFLA_XDP_ATTACHED && size >= 1) {
      link.xdp_generic = read_as<std::uint8_t>(value) == XDP_ATTACHED_SKB;
    }
    const bool names_program = type == IFLA_XDP_PROG_ID || type == IFLA_XDP_DRV_PROG_ID ||
                               type == IFLA_XDP_SKB_PROG_ID || type == IFLA_XDP_HW_PROG_ID;
    if (names_program && size >= 4) link.xdp_program = read_as<std::uint32_t>(value);
  });
}

void read_link_attribute(LinkInfo& link, int type, const std::byte* value, std::size_t size) {
  if (type == IFLA_IFNAME) link.name = text_of(value, size);
  if (type == IFLA_ADDRESS) link.address = hex_of(value, size);
  if (type == IFLA_XDP) read_xdp(link, value, size);
  if (type == IFLA_LINKINFO) {
    each_attribute(value, size, [&link](int inner, const std::byte* at, std::size_t bytes) {
      if (inner == IFLA_INFO_KIND) link.kind = text_of(at, bytes);
    });
  }
  if (type == IFLA_CARRIER && size >= 1) link.carrier = read_as<std::uint8_t>(value) != 0;
  if (size < 4) return;
  const auto number = read_as<std::uint32_t>(value);
  if (type == IFLA_MTU) link.mtu = number;
  if (type == IFLA_PROMISCUITY) link.promiscuity = number;
  if (type == IFLA_NUM_RX_QUEUES) link.rx_queues = number;
  if (type == IFLA_MASTER) link.master_index = static_cast<int>(number);
  if (type == IFLA_LINK) link.peer_index = static_cast<int>(number);
  if (type == IFLA_LINK_NETNSID) link.peer_namespace = static_cast<int>(number);
}

Expected<LinkInfo> parse_link(const Bytes& answer, const std::string& what) {
  constexpr std::size_t kAttributes = NLMSG_SPACE(sizeof(ifinfomsg));
  const auto header = read_as<nlmsghdr>(answer.data());
  if (header.nlmsg_type != RTM_NEWLINK || answer.size() < kAttributes) return fail(EIO, what);
  const auto info = read_as<ifinfomsg>(answer.data() + NLMSG_HDRLEN);
  LinkInfo link;
  link.index = info.ifi_index;
  link.flags = info.ifi_flags;
  link.type = info.ifi_type;
  each_attribute(answer.data() + kAttributes, answer.size() - kAttributes,
                 [&link](int type, const std::byte* value, std::size_t size) {
                   read_link_attribute(link, type, value, size);
                 });
  return link;
}

std::string process_name(const std::string& pid) {
  std::string name;
  std::getline(std::ifstream{"/proc/" + pid + "/comm"}, name);
  return name;
}

}  // namespace

Expected<LinkInfo> read_link(const std::string& name) {
  const std::string what = "reading interface " + name;
  Request<ifinfomsg> request{RTM_GETLINK, NLM_F_REQUEST, {}};
  request.add(IFLA_IFNAME, name.c_str(), name.size() + 1);
  const auto answer = ask(request.finish(), what);
  if (!answer) return tl::unexpected(answer.error());
  return parse_link(*answer, what);
}

Expected<LinkInfo> read_link(int index) {
  const std::string what = "reading interface number " + std::to_string(index);
  ifinfomsg header{};
  header.ifi_index = index;
  const auto answer = ask(Request<ifinfomsg>{RTM_GETLINK, NLM_F_REQUEST, header}.finish(), what);
  if (!answer) return tl::unexpected(answer.error());
  return parse_link(*answer, what);
}

std::optional<int> namespace_id(int namespace_fd) {
  Request<rtgenmsg> request{RTM_GETNSID, NLM_F_REQUEST, {}};
  request.add(NETNSA_FD, &namespace_fd, sizeof namespace_fd);
  const auto answer = ask(request.finish(), "reading the id of a network namespace");
  if (!answer || answer->size() < NLMSG_SPACE(sizeof(rtgenmsg))) return std::nullopt;
  std::optional<int> id;
  constexpr std::size_t kAttributes = NLMSG_SPACE(sizeof(rtgenmsg));
  each_attribute(answer->data() + kAttributes, answer->size() - kAttributes,
                 [&id](int type, const std::byte* value, std::size_t size) {
                   if (type == NETNSA_NSID && size >= 4) id = read_as<int>(value);
                 });
  return id && *id >= 0 ? id : std::nullopt;
}

std::string bpf_program_name(std::uint32_t id) {
  bpf_attr attributes{};
  attributes.prog_id = id;
  const Descriptor program{
      static_cast<int>(syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attributes, sizeof attributes))};
  if (!program.valid()) return {};
  bpf_prog_info info{};
  attributes = {};
  attributes.info.bpf_fd = static_cast<std::uint32_t>(program.get());
  attributes.info.info_len = sizeof info;
  attributes.info.info = reinterpret_cast<std::uint64_t>(&info);
  if (syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attributes, sizeof attributes) != 0) return {};
  return {info.name, strnlen(info.name, sizeof info.name)};
}

std::string bpf_program_user(std::uint32_t id) {
  const std::string wanted = "prog_id:\t" + std::to_string(id);
  std::error_code ignored;
  for (const auto& process : std::filesystem::directory_iterator{"/proc", ignored}) {
    const std::string pid = process.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    for (const auto& fd : std::filesystem::directory_iterator{process.path() / "fd", ignored}) {
      if (std::filesystem::read_symlink(fd, ignored) != "anon_inode:bpf-prog") continue;
      std::ifstream info{process.path() / "fdinfo" / fd.path().filename()};
      for (std::string line; std::getline(info, line);) {
        if (line == wanted) return process_name(pid) + " (process " + pid + ")";
      }
    }
  }
  return {};
}

}  // namespace mqsteer
