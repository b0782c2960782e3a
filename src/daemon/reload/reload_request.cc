// SPDX-License-Identifier: Apache-2.0
#include "daemon/reload/reload_request.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <ranges>

#include "s3rdmafs/base/field.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unix_socket.h"

namespace s3rdmafs::daemon {
namespace {

constexpr std::string_view kTell = "tell";
constexpr std::string_view kApply = "apply";
// The daemon reads one file. A name in it may have to be resolved, which takes at most 10 s.
constexpr std::chrono::seconds kReloadAnswerTimeout{20};

std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

std::optional<SettingChange> parse_change(std::string_view line) {
  SettingChange change{.key = {}, .before = {}, .after = {}, .is_live = take_word(line) == "1"};
  for (std::string* const text : {&change.key, &change.before, &change.after}) {
    auto field = unescaped_field(take_word(line));
    if (!field) return std::nullopt;
    *text = *std::move(field);
  }
  return change;
}

}  // namespace

bool is_reload_request(const ControlRequest& request) {
  return !request.words().empty() && request.words().front() == kReloadCommand;
}

void answer_reload_request(Reloader& reloader, ControlRequest& request) {
  const bool is_whole = request.words().size() == 2;
  const bool applies = is_whole && request.words()[1] == kApply;
  if (!applies && !(is_whole && request.words()[1] == kTell)) {
    request.say("error the request is not whole: the daemon is of another version");
    return;
  }
  const auto changes =
      reloader.reload(applies ? Reloader::Extent::kApply : Reloader::Extent::kTell);
  if (!changes) {
    for (const auto line : std::views::split(changes.error().detail, '\n')) {
      request.say("error " + std::string(std::string_view(line)));
    }
    return;
  }
  for (const SettingChange& change : *changes) {
    request.say(fmt::format("change {} {} {} {}", change.is_live ? 1 : 0, escaped_field(change.key),
                            escaped_field(change.before), escaped_field(change.after)));
  }
  request.say("end");
}

Result<std::vector<SettingChange>> ask_for_reload(const std::string& socket_path,
                                                  Reloader::Extent extent) {
  const std::string_view word = extent == Reloader::Extent::kApply ? kApply : kTell;
  const auto socket = send_request(socket_path, {kReloadCommand, std::string(word)});
  if (!socket) return std::unexpected(socket.error());
  set_socket_timeouts(socket->get(), kReloadAnswerTimeout);
  const auto answer = receive_all(socket->get());
  if (!answer) return std::unexpected(answer.error());
  std::vector<SettingChange> changes;
  std::string mistakes;
  for (const auto part : std::views::split(*answer, '\n')) {
    std::string_view line(part);
    const std::string_view word_of_line = take_word(line);
    if (word_of_line == "end") return changes;
    if (word_of_line == "error") mistakes += (mistakes.empty() ? "" : "\n") + std::string(line);
    if (word_of_line != "change") continue;
    auto change = parse_change(line);
    if (!change) return fail(ErrorCode::kCorrupt, "the daemon's answer is not as expected");
    changes.push_back(*std::move(change));
  }
  if (!mistakes.empty()) return fail(ErrorCode::kConfig, std::move(mistakes));
  return fail(ErrorCode::kCancelled, "the daemon stopped answering: the mount ended");
}

}  // namespace s3rdmafs::daemon
