// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "cache/read_cache.h"
#include "cache/resident_objects.h"
#include "daemon/resident/keep_objects.h"
#include "daemon/resident/pace.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/clock.h"

namespace s3rdmafs::daemon {

/// Where read_objects() puts them. Borrows all.
struct ReadInto {
  cache::ReadCache& blocks;
  cache::ResidentObjects* whole = nullptr;  ///< null: the mount keeps no whole objects
  const Clock& clock;
};

/// Fetches objects as programs that open and read them would, in order and several at a time, so
/// that their next readers find them: whole where the kernel would read them by itself, else
/// through the read cache, in its memory or on the disk tier. Nothing is pinned: where there is no
/// room, older objects go. Blocks until every object is done, or soon after `on_progress` returns
/// false.
///
/// @param part_timeout  of each read, by the clock
/// @param on_progress   called on this thread several times a second; false cancels the rest
[[nodiscard]] KeepOutcome read_objects(
    const ReadInto& into, const std::vector<s3::ObjectInfo>& objects,
    std::chrono::milliseconds part_timeout, Pace pace,
    const std::function<bool(const KeepProgress& so_far)>& on_progress);

}  // namespace s3rdmafs::daemon
