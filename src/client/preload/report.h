// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace s3rdmafs::client {

/// The environment variable with the path of the file to which each process appends at its exit
/// what it has read past FUSE.
inline constexpr const char* kReportVariable = "S3RDMAFS_RUN_REPORT";

/// Counts a read. Any thread.
void note_read(std::size_t bytes, bool is_past_fuse) noexcept;
/// Counts a file that is read through the mount, by its reason: a literal. Any thread.
void note_reason(const char* reason) noexcept;

}  // namespace s3rdmafs::client
