// SPDX-License-Identifier: Apache-2.0
// Sends the request to the mount's daemon and shows the answer. Interrupting this command closes
// the connection, so the daemon stops; objects that are resident by then stay resident.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "daemon/cli/verbs.h"
#include "daemon/mount/mount_point.h"
#include "daemon/resident/control_socket.h"
#include "daemon/resident/path_pattern.h"
#include "daemon/resident/warm_display.h"
#include "daemon/resident/warm_request.h"
#include "metrics/stats_socket.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unix_socket.h"

namespace s3rdmafs::daemon {
namespace {

// The daemon reports progress several times a second, unless it waits for its server or for the end
// of another request. This bound only ends the command where the daemon hangs.
constexpr std::chrono::hours kAnswerTimeout{1};

Result<std::vector<std::string>> words_of(const WarmCommand& command,
                                          const std::string& mount_point) {
  std::error_code failed;
  const std::string here = std::filesystem::current_path(failed).string();
  std::vector<std::string> words{command.release ? kReleaseCommand : kWarmCommand};
  for (const std::string& argument : command.paths) {
    auto path = path_in_mount(mount_point, argument, here);
    if (!path) return std::unexpected(path.error());
    words.push_back(std::move(*path));
  }
  return words;
}

// Returns when the daemon closes the connection.
void show_answer(int socket, WarmDisplay& display) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::recv(socket, buffer, sizeof(buffer), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.append(buffer, static_cast<std::size_t>(n));
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      display.take(std::string_view(text).substr(0, end), std::chrono::steady_clock::now());
      text.erase(0, end + 1);
    }
  }
}

}  // namespace

int run_warm(const WarmCommand& command) {
  const auto mount_point = resolve_mount_point(command.mountpoint);
  if (!mount_point) return report(mount_point.error());
  const auto words = words_of(command, *mount_point);
  if (!words) return report(words.error());
  const auto socket = send_request(control_socket_path(*mount_point), *words);
  if (!socket) return report(metrics::not_mounted(*mount_point, socket.error()));
  set_socket_timeouts(socket->get(), kAnswerTimeout);
  WarmDisplay display(stdout, ::isatty(STDOUT_FILENO) == 1, std::chrono::steady_clock::now());
  show_answer(socket->get(), display);
  if (!display.has_ended()) {
    return report({ErrorCode::kCancelled, "the daemon stopped answering: the mount ended"});
  }
  return display.is_whole() ? kExitSuccess : kExitFailure;
}

}  // namespace s3rdmafs::daemon
