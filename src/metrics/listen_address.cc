// SPDX-License-Identifier: Apache-2.0
#include "metrics/listen_address.h"

#include <arpa/inet.h>
#include <grp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unix_socket.h"

namespace s3rdmafs::metrics {
namespace {

constexpr int kBacklog = 16;  // scrapers come one a few seconds

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

std::optional<SocketAddress> parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc() || stop != end) return {};
  std::string host(text.substr(0, colon));
  SocketAddress address;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) != 1) return {};
    std::memcpy(&address.storage, &v6, sizeof(v6));
    address.length = sizeof(v6);
    return address;
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) != 1) return {};
  std::memcpy(&address.storage, &v4, sizeof(v4));
  address.length = sizeof(v4);
  return address;
}

Result<gid_t> group_of(const std::string& name) {
  gid_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, number);
  if (error == std::errc() && stop == end) return number;
  constexpr std::size_t kRoomBytes = std::size_t{64} * 1024;  // a group of thousands of members
  std::vector<char> room(kRoomBytes);
  group entry{};
  group* found = nullptr;
  ::getgrnam_r(name.c_str(), &entry, room.data(), room.size(), &found);
  if (found == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "there is no group '" + name + "'");
  }
  return found->gr_gid;
}

// listen_on_unix_socket() would make it for this user alone, and reports what fails here.
void make_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::create_directories(folder.parent_path(), ignored);
  constexpr mode_t kAllMayEnter = 0755;
  if (::mkdir(folder.c_str(), kAllMayEnter) == 0) ::chmod(folder.c_str(), kAllMayEnter);
}

}  // namespace

Result<UniqueFd> listen_on_tcp(const std::string& address) {
  const auto parsed = parse(address);
  if (!parsed) {
    return fail(ErrorCode::kInvalidArgument, "'" + address + "' is not an IP address with a port");
  }
  UniqueFd listener(::socket(parsed->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener) return fail_errno("socket", errno);
  const int on = 1;  // the port of a daemon that has just ended is free at once
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&parsed->storage), parsed->length) !=
          0 ||
      ::listen(listener.get(), kBacklog) != 0) {
    return fail_errno(address, errno);
  }
  return listener;
}

Result<UniqueFd> listen_on_shared_socket(const std::string& path, mode_t mode,
                                         const std::string& group) {
  if (connect_to_unix_socket(path)) {
    return fail_with_advice(ErrorCode::kBusy, "another process answers at " + path,
                            "give each mount a path of its own");
  }
  std::optional<gid_t> gid;
  if (!group.empty()) {
    const auto found = group_of(group);
    if (!found) return std::unexpected(found.error());
    gid = *found;
  }
  make_folder(std::filesystem::path(path).parent_path());
  // Other users cannot connect before both are set.
  auto listener = listen_on_unix_socket(path);
  if (!listener) return listener;
  if (gid && ::lchown(path.c_str(), static_cast<uid_t>(-1), *gid) != 0) {
    const int saved_errno = errno;
    ::unlink(path.c_str());
    return fail_errno(fmt::format("group {} of {}", group, path), saved_errno);
  }
  if (::chmod(path.c_str(), mode) != 0) return fail_errno("mode of " + path, errno);
  return listener;
}

}  // namespace s3rdmafs::metrics
