// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/log.h"

#include <memory>
#include <string>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

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

}  // namespace

Result<void> set_up_log(std::string_view level, LogFormat format) {
  const auto parsed = spdlog::level::from_str(std::string(level));
  if (parsed == spdlog::level::off && level != "off") {
    return fail(
        ErrorCode::kInvalidArgument,
        "'" + std::string(level) + "' is no log level; use trace, debug, info, warn or error");
  }
  auto logger = std::make_shared<spdlog::logger>("s3rdmafs",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  if (format == LogFormat::kJournal) {
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<JournalPriority>('*').set_pattern("%*%v");
    logger->set_formatter(std::move(formatter));
  } else {
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %-7l %v");
  }
  logger->set_level(parsed);
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
  return {};
}

}  // namespace s3rdmafs
