// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::fuse {

/// The largest request asked for, in bytes: larger synchronous direct reads gain no more, and one
/// read of the cache can be no longer (cache::ObjectReader::read).
inline constexpr unsigned kRequestBytesMax = 4 * kMiB;

/// The largest request the kernel grants, at most kRequestBytesMax. libfuse leaves the sysctl
/// fs.fuse.max_pages_limit (Linux 6.13) to its user.
/// @param pages_limit  the sysctl's value; nothing: a kernel without it, which allows 256 pages
[[nodiscard]] unsigned request_bytes_granted(std::optional<unsigned> pages_limit,
                                             unsigned page_bytes);
/// The same for this machine.
[[nodiscard]] unsigned request_bytes_granted();

/// Background requests (the kernel's read-ahead, asynchronous direct I/O) under way at once. The
/// kernel's default of 12 starves them.
inline constexpr unsigned kBackgroundMax = 128;

/// How many of them the kernel grants: users other than root get max_user_bgreq at most.
/// @param user_limit  the value of /sys/module/fuse/parameters/max_user_bgreq; nothing: not known
[[nodiscard]] unsigned background_granted(unsigned asked, bool privileged,
                                          std::optional<unsigned> user_limit);
/// The same for this process.
[[nodiscard]] unsigned background_granted(unsigned asked);

/// Whether this process has CAP_SYS_ADMIN, which the kernel checks at INIT.
[[nodiscard]] bool is_privileged();

/// Raises the kernel's read-ahead of a mount that answers. Logs it where the process may not.
void raise_kernel_read_ahead(const std::string& mount_point);

}  // namespace s3rdmafs::fuse
