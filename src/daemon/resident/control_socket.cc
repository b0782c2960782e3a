// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/control_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "metrics/stats_socket.h"
#include "s3rdmafs/base/thread_name.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/base/unix_socket.h"

namespace s3rdmafs::daemon {
namespace {

// How soon the end of the mount is noticed while a client sends its request.
constexpr std::chrono::milliseconds kPollTime{200};
// For a whole request, or for sending one line of an answer; a stopped client counts as gone.
constexpr std::chrono::seconds kClientTimeout{5};
// A command line has at most 2 MiB (execve(2)), unless the limit on stacks was raised.
constexpr std::size_t kRequestBytesMax = 8 * kMiB;
// A command line of 2 MiB has fewer words: each takes 8 bytes for a pointer, and its own bytes.
constexpr std::ptrdiff_t kWordsMax = 2 * kMiB / 8;

std::optional<std::string> read_to_end(int socket, const std::stop_token& stop) {
  using SteadyClock = std::chrono::steady_clock;
  const auto deadline = SteadyClock::now() + kClientTimeout;
  std::string text;
  char buffer[4096];
  while (text.size() < kRequestBytesMax && SteadyClock::now() < deadline &&
         !stop.stop_requested()) {
    pollfd watched{.fd = socket, .events = POLLIN, .revents = 0};
    if (::poll(&watched, 1, static_cast<int>(kPollTime.count())) <= 0) continue;
    const ssize_t n = ::recv(socket, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (n < 0) return std::nullopt;
    if (n == 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return std::nullopt;
}

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

std::string control_socket_path(std::string_view mount_point) {
  return metrics::stats_socket_path(mount_point) + ".control";
}

std::string record_socket_path(std::string_view mount_point) {
  return metrics::stats_socket_path(mount_point) + ".record";
}

bool ControlRequest::say(std::string line) {
  std::ranges::replace(line, '\n', '?');
  line += '\n';
  has_left_ = has_left_ || !send_all(socket_, line);
  return !has_left_;
}

bool ControlRequest::is_wanted() const {
  if (has_left_ || stop_.stop_requested()) return false;
  // The client has shut its side down already; POLLHUP means that it closed both.
  pollfd watched{.fd = socket_, .events = 0, .revents = 0};
  return ::poll(&watched, 1, 0) == 0;
}

Result<std::unique_ptr<ControlSocket>> ControlSocket::listen(std::string path, Answer answer,
                                                             const char* thread) {
  auto listener = listen_on_unix_socket(path);
  if (!listener) return std::unexpected(listener.error());
  return std::unique_ptr<ControlSocket>(
      new ControlSocket(std::move(path), std::move(answer), thread, std::move(*listener)));
}

ControlSocket::ControlSocket(std::string path, Answer answer, const char* thread, UniqueFd listener)
    : path_(std::move(path)), answer_(std::move(answer)), listener_(std::move(listener)) {
  thread_ = std::jthread([this, thread](const std::stop_token& stop) { run(stop, thread); });
}

ControlSocket::~ControlSocket() { ::unlink(path_.c_str()); }

void ControlSocket::run(const std::stop_token& stop, const char* name) {
  set_thread_name(name);
  serve_clients(listener_.get(), stop, kClientTimeout, [&](int client) {
    const auto text = read_to_end(client, stop);
    if (!text) return;
    if (std::ranges::count(*text, '\0') > kWordsMax) {
      static_cast<void>(send_all(client, "error too many paths; name fewer\n"));
      return;
    }
    ControlRequest request(client, stop, split_words(*text));
    answer_(request);
  });
}

Result<UniqueFd> send_request(const std::string& path, const std::vector<std::string>& words) {
  auto socket = connect_to_unix_socket(path);
  if (!socket) return socket;
  std::string text;
  for (const std::string& word : words) text.append(word).push_back('\0');
  if (!send_all(socket->get(), text) || ::shutdown(socket->get(), SHUT_WR) != 0) {
    return fail(ErrorCode::kSystem, "the daemon did not accept the request");
  }
  return socket;
}

}  // namespace s3rdmafs::daemon
