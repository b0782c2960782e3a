// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/unix_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

namespace s3rdmafs {
namespace {

constexpr int kBacklog = 8;                            // people and scrapers, not load
constexpr std::chrono::milliseconds kAcceptTime{200};  // how soon the end of the mount is noticed

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return fail(ErrorCode::kSystem, path + " is too long for a UNIX socket");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

/// Under /tmp another user may have made the folder first, or a symbolic link in its place.
Result<void> check_folder(const std::string& folder) {
  struct stat found{};
  if (::lstat(folder.c_str(), &found) != 0) {
    return errno == ENOENT ? fail(ErrorCode::kNotFound, "no daemon answers: there is no " + folder)
                           : fail_errno("folder " + folder, errno);
  }
  const bool is_ours = found.st_uid == ::geteuid() || found.st_uid == 0;
  if (S_ISDIR(found.st_mode) && is_ours && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return fail(ErrorCode::kSystem,
              folder +
                  " is not a folder that only this user may change: remove it, or set "
                  "XDG_RUNTIME_DIR to one that is yours");
}

/// The next client; empty if none connects within the time. If accept fails, as without a free
/// descriptor, it sleeps for that time, so that a loop around it does not spin.
UniqueFd accept_soon(int listener) {
  pollfd watched{.fd = listener, .events = POLLIN, .revents = 0};
  if (::poll(&watched, 1, static_cast<int>(kAcceptTime.count())) <= 0) return {};
  UniqueFd client(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (!client) std::this_thread::sleep_for(kAcceptTime);
  return client;
}

}  // namespace

Result<UniqueFd> listen_on_unix_socket(const std::string& path, UnixSocketTerms terms) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;  // mkdir below reports it
  std::filesystem::create_directories(folder.parent_path(), ignored);
  const mode_t old_mask = ::umask(0);
  const int made = ::mkdir(folder.c_str(), terms.for_all_users ? 0755 : 0700);
  const int mkdir_errno = errno;
  ::umask(old_mask);
  if (made != 0 && mkdir_errno != EEXIST) {
    return fail_errno("folder " + folder.string(), mkdir_errno);
  }
  if (auto safe = check_folder(folder); !safe) return std::unexpected(safe.error());
  const auto address = address_of(path);
  if (!address) return std::unexpected(address.error());
  UniqueFd listener(::socket(AF_UNIX, terms.type | SOCK_CLOEXEC, 0));
  if (!listener) return fail_errno("socket", errno);
  ::unlink(path.c_str());
  ::umask(terms.for_all_users ? 0 : 0077);
  const int bound =
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address));
  const int saved_errno = errno;
  ::umask(old_mask);
  if (bound != 0) return fail_errno("socket " + path, saved_errno);
  if (::listen(listener.get(), kBacklog) != 0) return fail_errno("socket " + path, errno);
  return listener;
}

void serve_clients(int listener, const std::stop_token& stop, std::chrono::seconds timeout,
                   const std::function<void(int client)>& serve) {
  while (!stop.stop_requested()) {
    const UniqueFd client = accept_soon(listener);
    if (!client) continue;
    set_socket_timeouts(client.get(), timeout);
    serve(client.get());
  }
}

Result<UniqueFd> connect_to_unix_socket(const std::string& path) {
  if (auto safe = check_folder(std::filesystem::path(path).parent_path()); !safe) {
    return std::unexpected(safe.error());
  }
  const auto address = address_of(path);
  if (!address) return std::unexpected(address.error());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("socket", errno);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) !=
      0) {
    return fail(ErrorCode::kNotFound, "no daemon answers at " + path + ": " + std::strerror(errno));
  }
  return socket;
}

void set_socket_timeouts(int socket, std::chrono::seconds timeout) {
  const timeval value{.tv_sec = timeout.count(), .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof(value));
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof(value));
}

Result<std::string> receive_all(int socket) {
  std::string text;
  char buffer[65'536];
  while (true) {
    const ssize_t n = ::recv(socket, buffer, sizeof(buffer), 0);
    if (n == 0) return text;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return fail(ErrorCode::kTimedOut, "the peer does not answer");
    if (n < 0) return fail_errno("recv", errno);
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace s3rdmafs
