// SPDX-License-Identifier: Apache-2.0
// Logging is spdlog; this header is the only one that includes it, so that its set-up is in one
// place. Use spdlog::info("...", ...) and its siblings. Never log a secret key, a session token or
// a whole rdma token (its rkey grants access to memory).
#pragma once

#include <string_view>

#include <spdlog/spdlog.h>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs {

/// How log lines look: `kText` for people, `kJournal` with the "<6>" prefixes that systemd reads.
enum class LogFormat { kText, kJournal };

/// Sends the process's log to standard error at `level` ("trace", "debug", "info", "warn",
/// "error"). Errors: kInvalidArgument for another level. Call once, before threads start.
[[nodiscard]] Result<void> set_up_log(std::string_view level, LogFormat format);

}  // namespace s3rdmafs
