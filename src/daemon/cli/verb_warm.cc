// SPDX-License-Identifier: Apache-2.0
// Sends requests to the mount's daemon and shows the answers. Interrupting this command closes the
// connection, so the daemon stops; what it has fetched by then stays.
//
// Objects that a file names go in several requests, one after the other, since a manifest may have
// more of them than one request holds.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "daemon/cli/verbs.h"
#include "daemon/mount/mount_point.h"
#include "daemon/resident/control_socket.h"
#include "daemon/resident/path_pattern.h"
#include "daemon/resident/read_trace.h"
#include "daemon/resident/warm_display.h"
#include "daemon/resident/warm_request.h"
#include "manifest/manifest.h"
#include "metrics/stats_socket.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/base/unix_socket.h"

namespace s3rdmafs::daemon {
namespace {

using Words = std::vector<std::string>;

// The daemon reports progress several times a second, unless it waits for its server or for the end
// of another request. This bound only ends the command where the daemon hangs.
constexpr std::chrono::hours kAnswerTimeout{1};
// Half of what a request may be (control_socket.cc), since it is looked at after each object.
constexpr std::size_t kRequestBytes = 4 * kMiB;
// So that the words of a request stay below their bound as well, and its objects begin soon.
constexpr std::size_t kRequestObjects = 20'000;

/// The next object that a file names; nothing at its end.
using Versions = std::function<Result<std::optional<s3::ObjectInfo>>()>;

Result<Versions> versions_of_trace(const std::string& path) {
  auto loaded = load_trace(path);
  if (!loaded) return std::unexpected(std::move(loaded.error()));
  const auto versions = std::make_shared<std::vector<s3::ObjectInfo>>(std::move(*loaded));
  return [versions, next = std::size_t{0}]() mutable -> Result<std::optional<s3::ObjectInfo>> {
    if (next == versions->size()) return std::nullopt;
    return (*versions)[next++];
  };
}

Result<Versions> versions_of_manifest(const std::string& path) {
  auto opened = manifest::Manifest::open(path);
  if (!opened) return std::unexpected(std::move(opened.error()));
  const std::shared_ptr<manifest::Manifest> manifest = std::move(*opened);
  auto begin = manifest->seek("");
  if (!begin) return std::unexpected(std::move(begin.error()));
  const auto cursor = std::make_shared<manifest::Cursor>(std::move(*begin));
  return [manifest, cursor]() -> Result<std::optional<s3::ObjectInfo>> {
    while (const manifest::Entry* entry = cursor->entry()) {
      s3::ObjectInfo object = entry->object;
      if (auto moved = cursor->advance(); !moved) return std::unexpected(moved.error());
      if (!object.key.ends_with('/')) return object;  // such a key makes a directory exist
    }
    return std::nullopt;
  };
}

Words options_of(const WarmCommand& command) {
  if (command.release) return {kReleaseCommand};
  Words words{kWarmCommand};
  if (command.cached) words.emplace_back(kIntoCache);
  if (command.bytes_per_second > 0) {
    words.push_back(kBytesPerSecond + std::to_string(command.bytes_per_second));
  }
  if (command.requests_per_second > 0) {
    words.push_back(kRequestsPerSecond + std::to_string(command.requests_per_second));
  }
  return words;
}

Result<Words> words_of(const WarmCommand& command, const std::string& mount_point) {
  std::error_code failed;
  const std::string here = std::filesystem::current_path(failed).string();
  Words words = options_of(command);
  if (!command.release) words.emplace_back();
  for (const std::string& argument : command.paths) {
    auto path = path_in_mount(mount_point, argument, here);
    if (!path) return std::unexpected(path.error());
    words.push_back(std::move(*path));
  }
  return words;
}

/// The words of the next request; nothing: all versions were sent.
Result<std::optional<Words>> words_of(const WarmCommand& command, const Versions& versions) {
  Words words = options_of(command);
  words.emplace_back(kNamesAreVersions);
  words.emplace_back();
  std::size_t bytes = 0, objects = 0;
  while (bytes < kRequestBytes && objects < kRequestObjects) {
    auto version = versions();
    if (!version) return std::unexpected(std::move(version.error()));
    if (!*version) break;
    words.push_back((*version)->key);
    words.push_back((*version)->etag);
    words.push_back(std::to_string((*version)->size_bytes));
    for (std::size_t i = words.size() - 3; i < words.size(); ++i) bytes += words[i].size() + 1;
    ++objects;
  }
  if (objects == 0) return std::nullopt;
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

Result<void> ask(const std::string& mount_point, const Words& words, WarmDisplay& display) {
  const auto socket = send_request(control_socket_path(mount_point), words);
  if (!socket) return std::unexpected(metrics::not_mounted(mount_point, socket.error()));
  set_socket_timeouts(socket->get(), kAnswerTimeout);
  display.next_answer();
  show_answer(socket->get(), display);
  if (display.has_ended()) return {};
  return fail(ErrorCode::kCancelled, "the daemon stopped answering: the mount ended");
}

Result<void> ask_for_paths(const WarmCommand& command, const std::string& mount_point,
                           WarmDisplay& display) {
  const auto words = words_of(command, mount_point);
  if (!words) return std::unexpected(words.error());
  return ask(mount_point, *words, display);
}

Result<void> ask_for_versions(const WarmCommand& command, const std::string& mount_point,
                              WarmDisplay& display) {
  const auto versions = command.trace.empty() ? versions_of_manifest(command.manifest)
                                              : versions_of_trace(command.trace);
  if (!versions) return std::unexpected(versions.error());
  for (;;) {
    const auto words = words_of(command, *versions);
    if (!words) return std::unexpected(words.error());
    if (!*words) return {};
    auto asked = ask(mount_point, **words, display);
    if (!asked || display.was_refused()) return asked;
  }
}

}  // namespace

int run_warm(const WarmCommand& command) {
  const auto mount_point = resolve_mount_point(command.mountpoint);
  if (!mount_point) return report(mount_point.error());
  WarmDisplay display(stdout, ::isatty(STDOUT_FILENO) == 1, std::chrono::steady_clock::now(),
                      command.cached ? "read into the cache" : "resident");
  const auto asked = command.paths.empty() ? ask_for_versions(command, *mount_point, display)
                                           : ask_for_paths(command, *mount_point, display);
  display.finish(std::chrono::steady_clock::now());
  if (!asked) return report(asked.error());
  return display.is_whole() ? kExitSuccess : kExitFailure;
}

}  // namespace s3rdmafs::daemon
