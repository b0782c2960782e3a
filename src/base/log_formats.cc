// SPDX-License-Identifier: Apache-2.0
#include "base/log_formats.h"

#include <unistd.h>

#include <utility>

#include <spdlog/pattern_formatter.h>

#include "s3rdmafs/base/printable.h"
#include "s3rdmafs/base/utf8.h"

namespace s3rdmafs {
namespace {

class JournalPriority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string prefix = fmt::format("<{}>", priority_of(message.level));
    out.append(prefix.data(), prefix.data() + prefix.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JournalPriority>();
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

// A string of RFC 8259, for a text without control characters.
std::string json_string(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const std::size_t bytes = utf8_character_bytes(text);
    if (text.front() == '"' || text.front() == '\\') json += '\\';
    json += bytes == 0 ? "\xEF\xBF\xBD" : text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return json + '"';
}

class JsonMessage final : public spdlog::custom_flag_formatter {
 public:
  explicit JsonMessage(std::string end) : end_(std::move(end)) {}

  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string text =
        json_string(printable({message.payload.data(), message.payload.size()}));
    fmt::format_to(std::back_inserter(out), R"("message":{},"pid":{},"thread":{}{})", text,
                   ::getpid(), message.thread_id, end_);
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessage>(end_);
  }

 private:
  const std::string end_;  // what is the same in every line
};

}  // namespace

int priority_of(spdlog::level::level_enum level) noexcept {
  switch (level) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return 7;
    case spdlog::level::warn:
      return 4;
    case spdlog::level::err:
      return 3;
    case spdlog::level::critical:
      return 2;
    default:
      return 6;
  }
}

std::unique_ptr<spdlog::formatter> make_format(const std::string& pattern) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<JournalPriority>('@').add_flag<PrintableMessage>('v').set_pattern(pattern);
  return formatter;
}

std::unique_ptr<spdlog::formatter> make_json_format(const std::string& prefix,
                                                    const std::string& mount_point) {
  std::string end;
  if (!mount_point.empty()) end = ",\"mount\":" + json_string(printable(mount_point));
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<JournalPriority>('@').add_flag<JsonMessage>('v', end);
  formatter->set_pattern(prefix + R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})");
  return formatter;
}

}  // namespace s3rdmafs
