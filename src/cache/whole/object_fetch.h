// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <functional>

#include "cache/read_cache.h"
#include "s3/object_store.h"

namespace s3rdmafs::cache {

using ObjectFetched = std::move_only_function<void(std::expected<void, s3::GetFailure>)>;

/// How long a fetch may take, and who follows it.
struct FetchTerms {
  std::function<Deadline()> part_deadline;  ///< asked for each part when it is sent
  /// Told of the bytes of each part that came, by several threads at once. False: give up, which is
  /// kCancelled. Empty: nobody follows.
  std::function<bool(std::uint64_t bytes)> on_part = {};
};

/// Fetches a whole object of at least one byte to the beginning of a region, by ranged GETs that
/// travel a few at once. All or nothing: `done` gets the first failure, but is called only when no
/// request is left under way, and late_write_possible is then true if it was for any of them.
/// Borrows the store and the region until then. `done` runs as the store's does.
void fetch_object(s3::ObjectStore& store, const ObjectVersion& version, rdma::MemoryRegion& region,
                  FetchTerms terms, ObjectFetched done);

}  // namespace s3rdmafs::cache
