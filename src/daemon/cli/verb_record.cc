// SPDX-License-Identifier: Apache-2.0
// `s3rdmafs warm --record`: asks the daemon every second what programs have opened, until it is
// told to end, and then writes the trace, whole. Where the mount ends first, what came by then is
// written too.
#include <pthread.h>

#include <charconv>
#include <csignal>
#include <ctime>

#include "daemon/cli/verbs.h"
#include "daemon/mount/mount_point.h"
#include "daemon/resident/control_socket.h"
#include "daemon/resident/read_trace.h"
#include "daemon/resident/record_request.h"
#include "metrics/stats_socket.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/new_file.h"
#include "s3rdmafs/base/unix_socket.h"

namespace s3rdmafs::daemon {
namespace {

// A daemon that takes longer for a hundred thousand lines hangs.
constexpr std::chrono::seconds kRecordAnswerTimeout{20};
// Well below OpenTrace::kSilenceMax.
constexpr timespec kRecordPause{.tv_sec = 1, .tv_nsec = 0};

/// The daemon's answer to one question.
struct RecordAnswer {
  std::uint64_t recording = 0;
  std::uint64_t lost = 0;
};

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

class Recorder {
 public:
  explicit Recorder(std::string mount_point) : mount_point_(std::move(mount_point)) {}

  Result<void> begin() {
    const auto answer = ask({kRecordCommand, "begin"});
    if (!answer) return std::unexpected(answer.error());
    recording_ = std::to_string(answer->recording);
    return {};
  }

  Result<void> take(const char* word) {
    const auto answer = ask({kRecordCommand, word, recording_});
    if (!answer) return std::unexpected(answer.error());
    lost_ = answer->lost;
    return {};
  }

  [[nodiscard]] const ReadTrace& trace() const { return trace_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  Result<RecordAnswer> ask(const std::vector<std::string>& words) {
    const auto socket = send_request(record_socket_path(mount_point_), words);
    if (!socket) return std::unexpected(metrics::not_mounted(mount_point_, socket.error()));
    set_socket_timeouts(socket->get(), kRecordAnswerTimeout);
    const auto text = receive_all(socket->get());
    if (!text) return std::unexpected(text.error());
    RecordAnswer answer;
    for (std::string_view rest = *text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line == "end") return answer;
      if (auto taken = take_line(line, answer); !taken) return std::unexpected(taken.error());
    }
    return fail(ErrorCode::kCancelled, "the daemon stopped answering: the mount ended");
  }

  Result<void> take_line(std::string_view line, RecordAnswer& answer) {
    const std::string_view word = line.substr(0, line.find(' '));
    const std::string_view rest = line.substr(std::min(word.size() + 1, line.size()));
    if (word == "error") return fail(ErrorCode::kBusy, std::string(rest));
    if (word == "recording") answer.recording = number_of(rest);
    if (word == "lost") answer.lost = number_of(rest);
    if (word != "opened") return {};
    const auto open = parse_line(rest);
    if (!open) return std::unexpected(open.error());
    trace_.add(*open);
    return {};
  }

  const std::string mount_point_;
  std::string recording_;
  ReadTrace trace_;
  std::uint64_t lost_ = 0;
};

/// Blocks the signals that end a command, so that wait_for_end() gets them.
sigset_t take_ending_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

/// Whether one of the signals came within the pause.
bool wait_for_end(const sigset_t& signals) {
  return ::sigtimedwait(&signals, nullptr, &kRecordPause) > 0;
}

int write_trace(NewFile& file, const RecordCommand& command, const Recorder& recorder,
                const Result<void>& recorded) {
  const ReadTrace& trace = recorder.trace();
  if (auto written = file.commit(trace.text()); !written) return report(written.error());
  fmt::print("{}: {} files, {:.1f} GB\n", command.file, trace.files(),
             static_cast<double>(trace.bytes()) / 1e9);
  if (!recorded) return report(recorded.error());
  if (recorder.lost() == 0) return kExitSuccess;
  return report({ErrorCode::kTooLarge,
                 fmt::format("{} opens are missing: more came in a second than the daemon keeps",
                             recorder.lost())});
}

}  // namespace

int run_record(const RecordCommand& command) {
  const auto mount_point = resolve_mount_point(command.mountpoint);
  if (!mount_point) return report(mount_point.error());
  auto file = NewFile::create("trace", command.file);
  if (!file) return report(file.error());
  const sigset_t signals = take_ending_signals();
  Recorder recorder(*mount_point);
  Result<void> recorded = recorder.begin();
  if (!recorded) return report(recorded.error());
  fmt::print("recording what programs open in {}; Ctrl-C writes the trace\n", *mount_point);
  std::fflush(stdout);
  bool is_over = false;
  while (recorded && !is_over) {
    is_over = wait_for_end(signals);
    recorded = recorder.take(is_over ? "end" : "take");
  }
  return write_trace(*file, command, recorder, recorded);
}

}  // namespace s3rdmafs::daemon
