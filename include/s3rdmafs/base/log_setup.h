// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs {

/// How log lines look.
enum class LogFormat {
  kText,      ///< for people
  kJson,      ///< one object a line: time (UTC), level, message, pid, thread, mount
  kJournald,  ///< fields of systemd's journal: those of text and S3RDMAFS_MOUNT
};

/// The log of a mount. Plain value.
struct LogSetup {
  std::string level;  ///< as set_up_log(level, sink) takes it
  LogSink sink = LogSink::kStandardError;
  std::string file = {};  ///< in place of `sink`; empty: none
  LogFormat format = LogFormat::kText;
  std::string mount_point = {};  ///< so that lines of several mounts can be told apart
  /// The socket of the journal's native protocol, systemd.io/JOURNAL_NATIVE_PROTOCOL.
  std::string journal_socket = "/run/systemd/journal/socket";
};

/// Sets up the log of a process as set_up_log(level, sink) does, and limits how often lines repeat
/// (src/base/repeat_limiter.h) unless the level asks for all. Without a journal, lines for it go to
/// `sink` as text, the first of which says so. Call once, before threads. Errors: kInvalidArgument
/// for a level, kSystem for a file.
[[nodiscard]] Result<void> set_up_log(const LogSetup& setup);

/// Another level for the log that was set up; repeats stay limited, or not, as they were. Any
/// thread. Errors: kInvalidArgument for a level.
[[nodiscard]] Result<void> set_log_level(std::string_view level);

}  // namespace s3rdmafs
