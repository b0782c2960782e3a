// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <termios.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::daemon {

/// A terminal that shows whole frames. While it exists, the terminal has its alternate screen and
/// no cursor, keys come one by one, and signals that would end the process are read here, so that
/// the destructor always gives the terminal back as it was. Sequences are those of ECMA-48 and of
/// xterm's alternate screen, which every terminal emulator and multiplexer of today has;
/// terminfo(5) is not asked, since a container may have none. One at a time; thread-bound.
class Terminal {
 public:
  enum class Event { kTimeout, kResize, kPause, kEnd };
  struct Size {
    std::size_t columns = 80, rows = 24;
  };

  /// Errors: kInvalidArgument, where standard input or output is not a terminal.
  [[nodiscard]] static Result<std::unique_ptr<Terminal>> open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] Size size() const;
  /// In one write(2), so that nothing flickers.
  void show(std::span<const std::string> lines);
  /// The next key that means something, signal or change of size; kTimeout at `deadline`.
  [[nodiscard]] Event wait_until(std::chrono::steady_clock::time_point deadline);

 private:
  Terminal(UniqueFd signals, sigset_t former_mask, termios former);

  const UniqueFd signals_;
  const sigset_t former_mask_;
  const termios former_;
};

/// Whether this process's locale says that the terminal takes UTF-8.
[[nodiscard]] bool terminal_takes_utf8();

}  // namespace s3rdmafs::daemon
