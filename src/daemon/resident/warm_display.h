// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace s3rdmafs::daemon {

/// Shows the answers to the requests of one `s3rdmafs warm` (warm_request.h), together: on a
/// terminal one line that is redrawn, elsewhere a line every 5 s. Problems go to standard error.
/// Thread-bound.
class WarmDisplay {
 public:
  /// @param out  borrowed
  /// @param begin  when the first request was sent
  /// @param where  for the last line: "3 objects WHERE"; a literal
  WarmDisplay(std::FILE* out, bool is_terminal, std::chrono::steady_clock::time_point begin,
              std::string_view where = "resident");

  /// The next lines are the answer to a further request.
  void next_answer();

  /// Shows one line of the answer, without its line break.
  void take(std::string_view line, std::chrono::steady_clock::time_point now);

  /// All answers have come: shows the sum.
  void finish(std::chrono::steady_clock::time_point now);

  /// Whether the last line of this answer came.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  /// Whether the daemon refused the request.
  [[nodiscard]] bool was_refused() const noexcept { return was_refused_; }
  /// Whether this answer ended, and none reported a problem.
  [[nodiscard]] bool is_whole() const noexcept {
    return has_ended_ && !has_problem_ && no_room_ == 0 && failed_ == 0;
  }

 private:
  void show_progress(std::uint64_t objects, std::uint64_t bytes,
                     std::chrono::steady_clock::time_point now);
  void show_result(std::chrono::steady_clock::time_point now);
  void complain(std::string_view text);
  void clear_line();

  std::FILE* const out_;
  const bool is_terminal_;
  const std::string_view where_;
  const std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point next_line_;
  std::uint64_t objects_ = 0, bytes_ = 0;              // to be resident, of all answers so far
  std::uint64_t ended_objects_ = 0, ended_bytes_ = 0;  // of answers that have ended
  std::uint64_t fetched_ = 0, fetched_bytes_ = 0;
  std::uint64_t were_there_ = 0, were_there_bytes_ = 0;
  std::uint64_t no_room_ = 0, no_room_bytes_ = 0, room_bytes_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t last_bytes_ = 0;  // of the last progress that was told, and when
  std::chrono::steady_clock::time_point last_at_;
  bool has_line_ = false;
  bool is_warm_ = false;
  bool has_problem_ = false;
  bool has_ended_ = false;
  bool was_refused_ = false;
};

}  // namespace s3rdmafs::daemon
