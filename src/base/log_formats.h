// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <spdlog/spdlog.h>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs {

/// syslog(3)'s number for a level: 2 (critical) to 7 (debug).
[[nodiscard]] int priority_of(spdlog::level::level_enum level) noexcept;

/// spdlog's pattern with two flags more: "%@" is the "<N>" that journald takes for a priority
/// (sd-daemon(3)), "%v" the message without its control characters.
[[nodiscard]] std::unique_ptr<spdlog::formatter> make_format(const std::string& pattern);

/// A JSON object a line. Texts are valid UTF-8 whatever a line holds.
/// @param prefix  a pattern, before the object
/// @param mount_point  left out if empty
[[nodiscard]] std::unique_ptr<spdlog::formatter> make_json_format(const std::string& prefix,
                                                                  const std::string& mount_point);

}  // namespace s3rdmafs
