// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/log.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>

#include "base/log_formats.h"
#include "base/log_sinks.h"
#include "s3rdmafs/base/log_setup.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs {
namespace log {
namespace {

spdlog::level::level_enum level_of(Level level) noexcept {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
    case Level::kCritical:
      break;
  }
  return spdlog::level::critical;
}

}  // namespace

void write(Level level, fmt::string_view format, fmt::format_args arguments) noexcept {
  const auto severity = level_of(level);
  auto* const logger = spdlog::default_logger_raw();
  if (!logger->should_log(severity)) return;
  try {
    fmt::memory_buffer text;
    fmt::vformat_to(fmt::appender(text), format, arguments);
    logger->log(severity, spdlog::string_view_t(text.data(), text.size()));
  } catch (const std::exception& problem) {
    logger->log(severity, spdlog::string_view_t(problem.what()));
  }
}

}  // namespace log

namespace {

Result<spdlog::level::level_enum> parse_level(std::string_view level) {
  const auto parsed = spdlog::level::from_str(std::string(level));
  if (parsed != spdlog::level::off || level == "off") return parsed;
  return fail(
      ErrorCode::kInvalidArgument,
      "'" + std::string(level) + "' is not a log level; use trace, debug, info, warn or error");
}

Result<void> install(std::string_view level, spdlog::sink_ptr sink,
                     std::unique_ptr<spdlog::formatter> formatter) {
  const auto parsed = parse_level(level);
  if (!parsed) return std::unexpected(parsed.error());
  auto logger = std::make_shared<spdlog::logger>("s3rdmafs", std::move(sink));
  logger->set_formatter(std::move(formatter));
  logger->set_level(*parsed);
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
  return {};
}

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%e %-7l %v";

struct Destination {
  spdlog::sink_ptr sink;
  std::string text_pattern;
  std::string json_prefix = {};  // a pattern
};

Destination destination_of(LogSink sink) {
  switch (sink) {
    case LogSink::kStandardError:
      break;
    case LogSink::kJournal:
      return {std::make_shared<spdlog::sinks::stderr_sink_mt>(), "%@%v", "%@"};
    case LogSink::kSyslog:
      return {std::make_shared<spdlog::sinks::syslog_sink_mt>("s3rdmafs", LOG_PID, LOG_DAEMON,
                                                              /*enable_formatting=*/true),
              "%v"};
  }
  return {std::make_shared<spdlog::sinks::stderr_sink_mt>(), kTextPattern};
}

Result<spdlog::sink_ptr> open_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                       S_IRUSR | S_IWUSR));
  if (!file && errno == ELOOP) {
    return fail(ErrorCode::kSystem,
                "log file " + path + " is a symbolic link; name the file itself");
  }
  if (!file) return fail_errno("log file " + path, errno);
  return make_file_sink(std::move(file));
}

}  // namespace

Result<void> set_up_log(std::string_view level, LogSink sink) {
  Destination to = destination_of(sink);
  return install(level, std::move(to.sink), make_format(to.text_pattern));
}

Result<void> set_up_log_file(std::string_view level, const std::string& path) {
  auto file = open_file(path);
  if (!file) return std::unexpected(file.error());
  return install(level, std::move(*file), make_format(kTextPattern));
}

Result<void> set_up_log(const LogSetup& setup) {
  std::string problem;
  if (setup.format == LogFormat::kJournald) {
    auto journal = make_journal_sink(setup.journal_socket, setup.mount_point);
    if (journal) {
      return install(setup.level, make_limited_sink(std::move(*journal)), make_format("%v"));
    }
    problem = journal.error().detail;
  }
  Destination to = destination_of(setup.sink);
  if (!setup.file.empty()) {
    auto file = open_file(setup.file);
    if (!file) return std::unexpected(file.error());
    to = {std::move(*file), kTextPattern};
  }
  auto format = setup.format == LogFormat::kJson
                    ? make_json_format(to.json_prefix, setup.mount_point)
                    : make_format(to.text_pattern);
  auto installed = install(setup.level, make_limited_sink(std::move(to.sink)), std::move(format));
  if (installed && !problem.empty()) {
    log::warn("log: {}; lines go elsewhere, as text", problem);
  }
  return installed;
}

Result<void> set_log_level(std::string_view level) {
  const auto parsed = parse_level(level);
  if (!parsed) return std::unexpected(parsed.error());
  spdlog::set_level(*parsed);
  return {};
}

}  // namespace s3rdmafs
