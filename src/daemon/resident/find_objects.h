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

/// The most that one path may stand for. Each takes about 300 bytes of the daemon's memory, and a
/// descriptor once it is resident: so many are more than fit in either, and are a path that was
/// named by mistake. As many directories may be listed for it.
inline constexpr std::size_t kObjectsMax = 1'000'000;

/// Where to look; borrowed.
struct Bucket {
  s3::ObjectStore& store;
  const Clock& clock;
  std::string prefix;                         ///< of the mount: empty or ending in "/"
  std::chrono::milliseconds request_timeout;  ///< with all attempts
  std::size_t objects_max = kObjectsMax;      ///< what one path may stand for
  std::size_t directories_max = kObjectsMax;  ///< and may have listed for it
};

/// The objects that a path of the mount stands for: a file; all that is below a directory; each
/// match of a pattern, directories again with all that is below them. What cannot
/// be a path in the mount is left out (vfs/directories/directory_listing.h). What is really called
/// like the pattern comes first. Blocks for one request after another.
///
/// @param goes_on  asked between two requests; false: kCancelled
/// Errors: kNotFound (nothing is called so), kTooLarge (too many objects or
/// directories), kCancelled, and the store's.
[[nodiscard]] Result<std::vector<s3::ObjectInfo>> find_objects(
    const Bucket& bucket, const config::PathGlob& glob, const std::function<bool()>& goes_on);

}  // namespace s3rdmafs::daemon
