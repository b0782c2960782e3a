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

struct KeepProgress {
  std::size_t objects = 0;
  std::uint64_t bytes = 0;
};

/// What became of a list of objects.
struct KeepOutcome {
  KeepProgress fetched;
  KeepProgress were_there;
  KeepProgress no_room;
  std::size_t failed = 0;
  bool was_cancelled = false;  ///< the rest was not tried
  std::vector<std::string>
      problems;  ///< of the first few that failed or found no room, a line each

  [[nodiscard]] bool is_whole() const noexcept {
    return no_room.objects == 0 && failed == 0 && !was_cancelled;
  }
};

/// Makes objects resident and keeps them there, a few at once, in their order. Empty ones count as
/// there. Blocks until each is answered; where `on_progress` says false, that is soon.
///
/// @param part_timeout  of each part of an object
/// @param on_progress   told on this thread, several times a second, what is resident so far
[[nodiscard]] KeepOutcome keep_objects(
    cache::ObjectCache& cache, const std::vector<s3::ObjectInfo>& objects,
    std::chrono::milliseconds part_timeout,
    const std::function<bool(const KeepProgress& so_far)>& on_progress);

}  // namespace s3rdmafs::daemon
