// SPDX-License-Identifier: Apache-2.0
// Where log lines go beyond what spdlog has. All are thread-safe.
#pragma once

#include <memory>
#include <string>

#include <spdlog/spdlog.h>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs {

/// Appends to an open file. A full disk costs lines, never the mount.
[[nodiscard]] spdlog::sink_ptr make_file_sink(UniqueFd file);

/// Sends each line to systemd's journal as fields: MESSAGE, PRIORITY, SYSLOG_IDENTIFIER, TID and
/// S3RDMAFS_MOUNT. A journal that takes nothing costs lines. Errors: kSystem: none listens at
/// `socket_path`.
[[nodiscard]] Result<spdlog::sink_ptr> make_journal_sink(const std::string& socket_path,
                                                         const std::string& mount_point);

/// Hands lines on to `sink`, of repeats those that base/repeat_limiter.h lets pass and the count of
/// the others. That count comes with the next line after the window, or at the end of the log.
/// Lines below info pass: who asks for them wants all.
[[nodiscard]] spdlog::sink_ptr make_limited_sink(spdlog::sink_ptr sink);

}  // namespace s3rdmafs
