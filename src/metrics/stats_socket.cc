// SPDX-License-Identifier: Apache-2.0
#include "metrics/stats_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/thread_name.h"

namespace s3rdmafs::metrics {
namespace {

constexpr int kPollMs = 200;  // how soon the thread notices that the mount ends
constexpr std::chrono::seconds kSendTimeout{2};

std::string runtime_folder() {
  if (::geteuid() == 0) return "/run/s3rdmafs";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  if (const char* folder = std::getenv("XDG_RUNTIME_DIR")) return std::string(folder) + "/s3rdmafs";
  return "/tmp/s3rdmafs-" + std::to_string(::geteuid());
}

// FNV-1a: a file name of fixed length for any path, since sun_path holds 107 bytes.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return hash;
}

void set_timeouts(int socket, std::chrono::seconds timeout) {
  const timeval value{.tv_sec = timeout.count(), .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof(value));
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof(value));
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return fail(ErrorCode::kSystem, path + " is too long for a UNIX socket");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace

std::string stats_socket_path(std::string_view mount_point) {
  return fmt::format("{}/{:016x}.sock", runtime_folder(), hash_of(mount_point));
}

Result<std::unique_ptr<StatsSocket>> StatsSocket::listen(const Registry& registry,
                                                         std::string path) {
  std::error_code ignored;  // bind below says what is wrong
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const auto address = address_of(path);
  if (!address) return std::unexpected(address.error());
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener) return fail_errno("socket", errno);
  ::unlink(path.c_str());
  const mode_t old_mask = ::umask(0077);
  const int bound =
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address));
  const int saved_errno = errno;
  ::umask(old_mask);
  if (bound != 0) return fail_errno("stats socket " + path, saved_errno);
  constexpr int kBacklog = 8;  // scrapers and people, not load
  if (::listen(listener.get(), kBacklog) != 0) return fail_errno("stats socket " + path, errno);
  return std::unique_ptr<StatsSocket>(
      new StatsSocket(registry, std::move(path), std::move(listener)));
}

StatsSocket::StatsSocket(const Registry& registry, std::string path, UniqueFd listener)
    : registry_(registry), path_(std::move(path)), listener_(std::move(listener)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

StatsSocket::~StatsSocket() { ::unlink(path_.c_str()); }

void StatsSocket::run(const std::stop_token& stop) {
  set_thread_name("stats");
  while (!stop.stop_requested()) {
    pollfd watched{.fd = listener_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&watched, 1, kPollMs) <= 0) continue;
    const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) continue;
    set_timeouts(client.get(), kSendTimeout);
    const std::string text = registry_.prometheus_text();
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t n = ::send(client.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) break;  // the client left or does not read; nobody is owed an answer
      sent += static_cast<std::size_t>(n);
    }
  }
}

Result<StatsAnswer> ask_stats(const std::string& path, std::chrono::seconds timeout) {
  const auto address = address_of(path);
  if (!address) return std::unexpected(address.error());
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("socket", errno);
  set_timeouts(socket.get(), timeout);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) !=
      0) {
    return fail(ErrorCode::kNotFound, "no daemon answers at " + path + ": " + std::strerror(errno));
  }
  StatsAnswer answer;
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0) {
    answer.daemon_pid = peer.pid;
  }
  char buffer[4096];
  while (true) {
    const ssize_t n = ::recv(socket.get(), buffer, sizeof(buffer), 0);
    if (n == 0) return answer;
    if (n < 0 && errno == EAGAIN) return fail(ErrorCode::kTimedOut, "the daemon does not answer");
    if (n < 0) return fail_errno("reading the daemon's answer", errno);
    answer.text.append(buffer, static_cast<std::size_t>(n));
  }
}

}  // namespace s3rdmafs::metrics
