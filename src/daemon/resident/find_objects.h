// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "config/path_glob.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/clock.h"

namespace s3rdmafs::daemon {

/// The most objects that one path may stand for, and the most directories that may be listed for
/// it. Each object takes about 300 bytes of the daemon's memory, and a descriptor once it is
/// resident; a path that exceeds this was named by mistake.
inline constexpr std::size_t kObjectsMax = 1'000'000;

/// The bucket of a mount, as this room sees it. Borrows the store and the clock.
struct Bucket {
  s3::ObjectStore& store;
  const Clock& clock;
  std::string prefix;                         ///< bucket.prefix: empty, or ending in "/"
  std::chrono::milliseconds request_timeout;  ///< of one request with all its attempts
  std::size_t objects_max = kObjectsMax;      ///< that one path may stand for
  std::size_t directories_max = kObjectsMax;  ///< that may be listed for one path
};

/// Finds the objects that a path of the mount stands for: a file, everything below a directory, or
/// every match of a pattern, with everything below a directory that matches. A file or directory
/// whose name equals the pattern wins over its matches. Keys that cannot be paths in the mount are
/// left out (vfs/directories/directory_listing.h). Blocks for one request after another.
///
/// @param goes_on  called between two requests; false ends the search with kCancelled
/// Errors: kNotFound (nothing matches), kTooLarge (too many objects or directories), kCancelled,
/// and
///         those of the store.
[[nodiscard]] Result<std::vector<s3::ObjectInfo>> find_objects(
    const Bucket& bucket, const config::PathGlob& glob, const std::function<bool()>& goes_on);

}  // namespace s3rdmafs::daemon
