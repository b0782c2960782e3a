// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cache/whole/object_cache.h"
#include "daemon/resident/pace.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/error.h"

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
  std::vector<s3::ObjectInfo> replaced;  ///< the server has other versions by now, or none
  bool was_cancelled = false;            ///< the rest was not attempted
  std::vector<std::string>
      problems;  ///< one line for each of the first few that failed or found no room

  [[nodiscard]] bool is_whole() const noexcept {
    return no_room.objects == 0 && failed == 0 && replaced.empty() && !was_cancelled;
  }
  /// Counts an object whose bytes did not come. kNoMemory: it found no room.
  void add_failure(const s3::ObjectInfo& object, const Error& error);
  /// For a caller that does not look for newer versions: they have failed.
  void fail_replaced();
  /// Adds the outcome of other objects.
  void add(KeepOutcome other);
};

/// Makes objects resident, in order and a few at a time, and keeps them resident. Empty objects
/// count as resident before. Blocks until every object is done, or soon after `on_progress` returns
/// false.
///
/// @param part_timeout  of each part of an object
/// @param pace          when the next object is begun
/// @param on_progress   called on this thread several times a second; false cancels the rest
[[nodiscard]] KeepOutcome keep_objects(
    cache::ObjectCache& cache, const std::vector<s3::ObjectInfo>& objects,
    std::chrono::milliseconds part_timeout, Pace pace,
    const std::function<bool(const KeepProgress& so_far)>& on_progress);

}  // namespace s3rdmafs::daemon
