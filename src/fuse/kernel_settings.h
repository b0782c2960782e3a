// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::fuse {

/// The largest request asked for: where synchronous direct reads stop gaining by larger ones, and
/// the most that one read of the cache may be (cache::ObjectReader::read).
inline constexpr unsigned kRequestBytesMax = 4 * kMiB;

/// The largest request the kernel grants, at most kRequestBytesMax. libfuse leaves the sysctl
/// fs.fuse.max_pages_limit (Linux 6.13) to its user.
/// @param pages_limit  of that sysctl; nothing: a kernel without it, which allows 256 pages
[[nodiscard]] unsigned request_bytes_granted(std::optional<unsigned> pages_limit,
                                             unsigned page_bytes);
/// The same for this machine.
[[nodiscard]] unsigned request_bytes_granted();

/// Requests that nobody waits for (read-ahead of the kernel's, asynchronous direct I/O) under way
/// at once. The kernel's own default of 12 starves them.
inline constexpr unsigned kBackgroundMax = 128;

/// How many of them the kernel grants: others than root get fs.fuse's max_user_bgreq at most.
/// @param user_limit  of /sys/module/fuse/parameters/max_user_bgreq; nothing: not known
[[nodiscard]] unsigned background_granted(unsigned asked, bool privileged,
                                          std::optional<unsigned> user_limit);
/// The same for this process.
[[nodiscard]] unsigned background_granted(unsigned asked);

/// Whether this process has CAP_SYS_ADMIN, which the kernel asks for at INIT.
[[nodiscard]] bool is_privileged();

/// Raises the kernel's read-ahead of a mount that answers; where that is not ours to do, says so.
void raise_kernel_read_ahead(const std::string& mount_point);

}  // namespace s3rdmafs::fuse
