// SPDX-License-Identifier: Apache-2.0
// POSIX attributes as user metadata, under the names that s3fs has published: mode, uid, gid,
// mtime, ctime and atime, in decimal; mode with the bits of the type, times in seconds with or
// without a fraction. Objects move between the two.
#pragma once

#include <optional>

#include "s3/object_store.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

/// The attributes in the metadata. It comes from other clients: a value that cannot be one is
/// ignored. A mode may also be octal, as "0100644", as rclone's "100644" or as "644"; it is ignored
/// where its type is neither a file nor a symbolic link.
[[nodiscard]] PosixAttributes posix_attributes(const s3::UserMetadata& metadata);
/// Of an object of this size: only one whose body can be a target is a symbolic link.
[[nodiscard]] PosixAttributes posix_attributes(const s3::UserMetadata& metadata,
                                               std::uint64_t size_bytes);

/// Puts all that `set` has into the metadata, and keeps everything else. The mode of a symbolic
/// link stays that of one.
void set_posix_attributes(s3::UserMetadata& metadata, const PosixAttributes& set);

/// The metadata without the set-user-ID bit, and without the set-group-ID bit of a program, as a
/// write leaves a file; nothing: it has neither.
[[nodiscard]] std::optional<s3::UserMetadata> without_set_id_bits(const s3::UserMetadata& metadata);

/// Without the times of modification and change, which another content of the object had.
[[nodiscard]] s3::UserMetadata without_posix_times(s3::UserMetadata metadata);

/// Of an object that is made now.
[[nodiscard]] s3::UserMetadata new_posix_metadata(PosixAttributes attributes,
                                                  PosixAttributes::Time now);

}  // namespace s3rdmafs::vfs
