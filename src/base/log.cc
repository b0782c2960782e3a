// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#ifndef SPDLOG_HEADER_ONLY  // spdlog defines it where it is used as headers alone: the template is
                            // whole there
#include <spdlog/sinks/base_sink-inl.h>
#endif

#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/printable.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs {
namespace {

// The "<N>" that journald turns into a priority (sd-daemon(3)); systemd adds its own time stamps.
class JournalPriority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string_view prefix = prefix_of(message.level);
    out.append(prefix.data(), prefix.data() + prefix.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JournalPriority>();
  }

 private:
  static std::string_view prefix_of(spdlog::level::level_enum level) {
    switch (level) {
      case spdlog::level::trace:
      case spdlog::level::debug:
        return "<7>";
      case spdlog::level::warn:
        return "<4>";
      case spdlog::level::err:
        return "<3>";
      case spdlog::level::critical:
        return "<2>";
      default:
        return "<6>";
    }
  }
};

// The message without its control characters: names and servers' texts may have any.
class PrintableMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string text = printable({message.payload.data(), message.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PrintableMessage>();
  }
};

// spdlog's own follows symbolic links, and makes files that every user can read.
class FileSink final : public spdlog::sinks::base_sink<Mutex> {
 public:
  explicit FileSink(UniqueFd file) : file_(std::move(file)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const char* at = line.data();
    const char* const end = at + line.size();
    while (at != end) {
      const ssize_t n = ::write(file_.get(), at, static_cast<std::size_t>(end - at));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;  // a full disk costs lines, never the mount
      at += n;
    }
  }
  void flush_() override {}

  const UniqueFd file_;
};

Result<void> install(std::string_view level, spdlog::sink_ptr sink,
                     std::unique_ptr<spdlog::formatter> formatter) {
  const auto parsed = spdlog::level::from_str(std::string(level));
  if (parsed == spdlog::level::off && level != "off") {
    return fail(
        ErrorCode::kInvalidArgument,
        "'" + std::string(level) + "' is not a log level; use trace, debug, info, warn or error");
  }
  auto logger = std::make_shared<spdlog::logger>("s3rdmafs", std::move(sink));
  logger->set_formatter(std::move(formatter));
  logger->set_level(parsed);
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
  return {};
}

// Flags: "%@" the priority for journald, "%v" the message.
std::unique_ptr<spdlog::formatter> format_of(const std::string& pattern) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<JournalPriority>('@').add_flag<PrintableMessage>('v').set_pattern(pattern);
  return formatter;
}

std::unique_ptr<spdlog::formatter> text_format() {
  return format_of("%Y-%m-%dT%H:%M:%S.%e %-7l %v");
}

}  // namespace

Result<void> set_up_log(std::string_view level, LogSink sink) {
  switch (sink) {
    case LogSink::kStandardError:
      break;
    case LogSink::kJournal:
      return install(level, std::make_shared<spdlog::sinks::stderr_sink_mt>(), format_of("%@%v"));
    case LogSink::kSyslog:
      return install(level,
                     std::make_shared<spdlog::sinks::syslog_sink_mt>(
                         "s3rdmafs", LOG_PID, LOG_DAEMON, /*enable_formatting=*/true),
                     format_of("%v"));
  }
  return install(level, std::make_shared<spdlog::sinks::stderr_sink_mt>(), text_format());
}

Result<void> set_up_log_file(std::string_view level, const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                       S_IRUSR | S_IWUSR));
  if (!file && errno == ELOOP) {
    return fail(ErrorCode::kSystem,
                "log file " + path + " is a symbolic link; name the file itself");
  }
  if (!file) return fail_errno("log file " + path, errno);
  return install(level, std::make_shared<FileSink>(std::move(file)), text_format());
}

}  // namespace s3rdmafs
