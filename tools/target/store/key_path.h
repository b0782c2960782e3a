// SPDX-License-Identifier: Apache-2.0
// A key is a path below its bucket's folder, byte for byte. Which keys can be one is decided here,
// and open_beneath() makes the kernel hold to it: no "..", no symbolic link, no mount of /proc
// leads out.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <string>
#include <string_view>

#include "s3rdmafs/base/unique_fd.h"
#include "target/s3_error.h"

namespace s3rdmafs::target {

/// S3's limit on keys, in bytes.
inline constexpr std::size_t kKeyMaxBytes = 1024;

/// Whether a file or folder of this key could exist. A trailing "/" names a folder.
[[nodiscard]] bool is_storable_key(std::string_view key);

/// Refuses a key that is_storable_key() does not take, and says why.
[[nodiscard]] S3Result<void> check_new_key(std::string_view key);

/// "a/b/" and "c" of "a/b/c"; "a/" and "b/" of "a/b/". The parent is empty at the top.
struct SplitKey {
  std::string parent;
  std::string name;
};
[[nodiscard]] SplitKey split_key(std::string_view key);

/// Whether a client may use this as a bucket's name in an address: any single folder name that is
/// not hidden. Creating one is stricter, see is_new_bucket_name().
[[nodiscard]] bool is_bucket_folder_name(std::string_view name);

/// S3's rules for new general-purpose buckets.
[[nodiscard]] bool is_new_bucket_name(std::string_view name);

/// The flags of open_beneath() for a folder.
inline constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY;

/// openat2 with RESOLVE_BENEATH, no symbolic links and no magic links; O_CLOEXEC is added.
/// An empty path means the folder itself. Empty with errno set if it fails.
[[nodiscard]] UniqueFd open_beneath(int folder, const std::string& path, int flags,
                                    mode_t mode = 0) noexcept;

}  // namespace s3rdmafs::target
