// SPDX-License-Identifier: Apache-2.0
// The process's log: log::info("...", ...) and its siblings format a line and hand it to spdlog's
// default logger. Any thread may. spdlog itself stays in log.cc, because its headers cost each file
// that logs a second of the compiler's time. Never log a secret key, a session token or a whole
// rdma token (its rkey grants access to memory).
#pragma once

#include <string>
#include <string_view>

#include <fmt/core.h>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs {
namespace log {

enum class Level { kDebug, kInfo, kWarn, kError, kCritical };

/// Writes one line, unless the log's level leaves it out. A line that cannot be formatted is logged
/// as such; nothing is thrown.
void write(Level level, fmt::string_view format, fmt::format_args arguments) noexcept;

/// `format` is checked when it is compiled, as fmt::format() does.
template <class... Arguments>
void line(Level level, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write(level, format, fmt::make_format_args(arguments...));
}

template <class... Arguments>
void debug(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write(Level::kDebug, format, fmt::make_format_args(arguments...));
}

template <class... Arguments>
void info(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write(Level::kInfo, format, fmt::make_format_args(arguments...));
}

template <class... Arguments>
void warn(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write(Level::kWarn, format, fmt::make_format_args(arguments...));
}

template <class... Arguments>
void error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write(Level::kError, format, fmt::make_format_args(arguments...));
}

template <class... Arguments>
void critical(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write(Level::kCritical, format, fmt::make_format_args(arguments...));
}

}  // namespace log

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
