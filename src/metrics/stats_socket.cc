// SPDX-License-Identifier: Apache-2.0
#include "metrics/stats_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <tuple>

#include "metrics/runtime_folder.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/thread_name.h"
#include "s3rdmafs/base/unix_socket.h"

namespace s3rdmafs::metrics {
namespace {

constexpr std::chrono::seconds kSendTimeout{2};

// FNV-1a: a file name of fixed length for any path, since sun_path holds 107 bytes.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return hash;
}

}  // namespace

std::string stats_socket_path(std::string_view mount_point) {
  return fmt::format("{}/{:016x}.sock", runtime_folder(RuntimePlaces::of_this_process()),
                     hash_of(mount_point));
}

Result<std::unique_ptr<StatsSocket>> StatsSocket::listen(const Registry& registry,
                                                         std::string path) {
  return listen([&registry] { return registry.prometheus_text(); }, std::move(path), "stats");
}

Result<std::unique_ptr<StatsSocket>> StatsSocket::listen(Text text, std::string path,
                                                         const char* thread) {
  auto listener = listen_on_unix_socket(path);
  if (!listener) return std::unexpected(listener.error());
  return std::unique_ptr<StatsSocket>(
      new StatsSocket(std::move(text), std::move(path), thread, std::move(*listener)));
}

StatsSocket::StatsSocket(Text text, std::string path, const char* thread, UniqueFd listener)
    : text_(std::move(text)), path_(std::move(path)), listener_(std::move(listener)) {
  thread_ = std::jthread([this, thread](const std::stop_token& stop) { run(stop, thread); });
}

StatsSocket::~StatsSocket() { ::unlink(path_.c_str()); }

void StatsSocket::run(const std::stop_token& stop, const char* name) {
  set_thread_name(name);
  serve_clients(listener_.get(), stop, kSendTimeout, [this](int client) {
    // A client that left or does not read gets no answer.
    std::ignore = send_all(client, text_());
  });
}

Result<StatsAnswer> ask_stats(const std::string& path, std::chrono::seconds timeout) {
  const auto socket = connect_to_unix_socket(path);
  if (!socket) return std::unexpected(socket.error());
  set_socket_timeouts(socket->get(), timeout);
  StatsAnswer answer;
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (::getsockopt(socket->get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0) {
    answer.daemon_pid = peer.pid;
  }
  auto text = receive_all(socket->get());
  if (!text && text.error().code == ErrorCode::kTimedOut) {
    return fail(ErrorCode::kTimedOut, "the daemon does not answer");
  }
  if (!text) return std::unexpected(text.error());
  answer.text = *std::move(text);
  return answer;
}

Error not_mounted(const std::string& mount_point, const Error& error) {
  return {error.code,
          "this user has no s3rdmafs mounted on " + mount_point + " (" + error.detail + ")"};
}

}  // namespace s3rdmafs::metrics
