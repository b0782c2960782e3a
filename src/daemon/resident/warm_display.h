// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace s3rdmafs::daemon {

/// What `s3rdmafs warm` shows of an answer (warm_request.h): one line that is drawn again and again
/// on a terminal, a plain one every few seconds elsewhere. Problems go to standard error.
class WarmDisplay {
 public:
  /// @param out  borrowed
  WarmDisplay(std::FILE* out, bool is_terminal, std::chrono::steady_clock::time_point begin);

  /// Takes one line of the answer.
  void take(std::string_view line, std::chrono::steady_clock::time_point now);

  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  /// Whether it ended, and everything that was asked for is resident.
  [[nodiscard]] bool is_whole() const noexcept { return has_ended_ && !has_problem_; }

 private:
  void show_progress(std::uint64_t objects, std::uint64_t bytes,
                     std::chrono::steady_clock::time_point now);
  void show_result(std::chrono::steady_clock::time_point now);
  void complain(std::string_view text);
  void clear_line();

  std::FILE* const out_;
  const bool is_terminal_;
  const std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point next_line_;
  std::uint64_t objects_ = 0, bytes_ = 0;  // to be resident
  std::uint64_t fetched_ = 0, fetched_bytes_ = 0;
  std::uint64_t were_there_ = 0, were_there_bytes_ = 0;
  std::uint64_t last_bytes_ = 0;  // of the last progress that was told, and when
  std::chrono::steady_clock::time_point last_at_;
  bool has_line_ = false;
  bool is_warm_ = false;
  bool has_problem_ = false;
  bool has_ended_ = false;
};

}  // namespace s3rdmafs::daemon
