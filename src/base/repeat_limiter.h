// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace s3rdmafs {

/// Decides which log lines are repeats. Lines are alike if they differ only in numbers and in what
/// stands between quotation marks. Of lines that are alike some pass in each window; the rest is
/// counted, and the count is told when the window is over. Not thread-safe.
class RepeatLimiter {
 public:
  using Time = std::chrono::system_clock::time_point;  ///< as the lines have it

  /// In each window a line may repeat so often: enough to see a pattern in keys and servers.
  static constexpr unsigned kLinesMax = 10;
  static constexpr std::chrono::seconds kWindow{10};
  /// Kinds of lines that are followed; others pass.
  static constexpr std::size_t kKindsMax = 256;

  /// Lines that did not pass.
  struct Dropped {
    std::string example;  ///< the last that did
    unsigned long count = 0;
  };

  [[nodiscard]] bool may_pass(std::string_view line, Time now);
  /// The drops of windows that are over at `now`. Each is told once.
  [[nodiscard]] std::vector<Dropped> take_dropped(Time now);

 private:
  struct Kind {
    Time window_begin;
    unsigned passed = 0;
    Dropped dropped = {};
  };
  [[nodiscard]] static bool is_over(const Kind& kind, Time now);

  std::map<std::string, Kind, std::less<>> kinds_;  // by what their lines have in common
};

}  // namespace s3rdmafs
