// SPDX-License-Identifier: Apache-2.0
// Logging is spdlog; this header is the only one that includes it, so that its set-up is in one
// place. Use spdlog::info("...", ...) and its siblings. Never log a secret key, a session token or
// a whole rdma token (its rkey grants access to memory).
#pragma once

#include <string>
#include <string_view>

#include <spdlog/spdlog.h>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs {

/// Where log lines go and how they look.
enum class LogSink {
  kStandardError,  ///< for people
  kJournal,        ///< standard error with the "<6>" prefixes that systemd reads
  kSyslog,         ///< for daemons that have no standard error
};

/// Sends the process's log to `sink` at `level` ("trace", "debug", "info", "warn", "error"), each
/// message as printable(). Call once, before threads. Errors: kInvalidArgument for another level.
[[nodiscard]] Result<void> set_up_log(std::string_view level, LogSink sink);

/// The same, into a file, made with mode 0600. Errors: kSystem: no file, or a symbolic link.
[[nodiscard]] Result<void> set_up_log_file(std::string_view level, const std::string& path);

}  // namespace s3rdmafs
