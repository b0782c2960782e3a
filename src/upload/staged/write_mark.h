// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <optional>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::upload {

/// Tells whether a local file was written since a certain moment, by whichever process: the file
/// gets a modification time that no clock shows, and any write(2) or ftruncate(2) afterwards gives
/// it a real one. A mark is that time, in seconds since 1970, from 1 to below 100,000,000. 0: none,
/// which no file has. The file system must take no write while it sets a time, as tmpfs; writes
/// through a shared mapping leave the time as it is there.
using WriteMark = std::uint32_t;

/// Waits for a write that is under way. Errors: kSystem.
[[nodiscard]] Result<void> set_write_mark(int file, WriteMark mark);
/// Takes the mark off. Errors: kSystem.
[[nodiscard]] Result<void> note_write(int file);
/// The mark that a file has; 0: it was written since it got one, or never got one.
[[nodiscard]] WriteMark write_mark_of(const struct stat& status);
/// The time of the last write; nothing: a mark has taken its place.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point> write_time_of(
    const struct stat& status);

}  // namespace s3rdmafs::upload
