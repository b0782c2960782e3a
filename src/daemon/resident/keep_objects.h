// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cache/whole/object_cache.h"
#include "s3/object_store.h"

namespace s3rdmafs::daemon {

/// A number of objects and of their bytes.
struct KeepProgress {
  std::size_t objects = 0;
  std::uint64_t bytes = 0;
};

/// The outcome of making a list of objects resident.
struct KeepOutcome {
  KeepProgress fetched;
  KeepProgress were_there;  ///< resident before
  KeepProgress no_room;
  std::size_t failed = 0;
  bool was_cancelled = false;  ///< the rest was not attempted
  std::vector<std::string>
      problems;  ///< one line for each of the first few that failed or found no room

  [[nodiscard]] bool is_whole() const noexcept {
    return no_room.objects == 0 && failed == 0 && !was_cancelled;
  }
};

/// Makes objects resident, in order and a few at a time, and keeps them resident. Empty objects
/// count as resident before. Blocks until every object is done, or soon after `on_progress` returns
/// false.
///
/// @param part_timeout  of each part of an object
/// @param on_progress   called on this thread several times a second; false cancels the rest
[[nodiscard]] KeepOutcome keep_objects(
    cache::ObjectCache& cache, const std::vector<s3::ObjectInfo>& objects,
    std::chrono::milliseconds part_timeout,
    const std::function<bool(const KeepProgress& so_far)>& on_progress);

}  // namespace s3rdmafs::daemon
