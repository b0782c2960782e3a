// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace s3rdmafs::client {

/// The environment variable with the path of the file to which each process appends at its end what
/// it has read past FUSE.
inline constexpr const char* kReportVariable = "S3RDMAFS_RUN_REPORT";

/// Counts a read. Any thread.
void note_read(std::size_t bytes, bool is_past_fuse) noexcept;
/// Counts a file that is read through the mount, by its reason: a literal. Any thread.
void note_reason(const char* reason) noexcept;

/// Appends to that file, where there is one. exit(3) does so by itself.
void tell() noexcept;
/// In a child of fork(2): its parent tells of those.
void forget_reads() noexcept;

}  // namespace s3rdmafs::client
