// SPDX-License-Identifier: Apache-2.0
#include "target/s3/dates.h"

#include <array>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {
namespace {

constexpr long kNanosecondsPerMillisecond = 1'000'000;

std::string format_utc(const char* format, std::time_t when) {
  std::tm parts{};
  ::gmtime_r(&when, &parts);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

std::string http_date(std::time_t when) { return format_utc("%a, %d %b %Y %H:%M:%S GMT", when); }

std::optional<std::time_t> parse_http_date(const std::string& text) {
  for (const char* format : {"%a, %d %b %Y %H:%M:%S GMT", "%Y-%m-%dT%H:%M:%SZ"}) {
    std::tm parts{};
    const char* end = ::strptime(text.c_str(), format, &parts);
    if (end != nullptr && *end == '\0') return ::timegm(&parts);
  }
  return std::nullopt;
}

std::string iso_date(const timespec& when) {
  return fmt::format("{}.{:03}Z", format_utc("%Y-%m-%dT%H:%M:%S", when.tv_sec),
                     when.tv_nsec / kNanosecondsPerMillisecond);
}

}  // namespace s3rdmafs::target
