// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <functional>

#include "cache/whole/object_part.h"
#include "s3/object_store.h"

namespace s3rdmafs::cache {

using ObjectFetched = std::move_only_function<void(std::expected<void, s3::GetFailure>)>;

/// How long a fetch may take, and how its caller follows it.
struct FetchTerms {
  std::function<Deadline()> part_deadline;  ///< asked for each piece when it is asked for
  /// Called with the bytes of each piece that arrived, by several threads at once. If it returns
  /// false the fetch ends with kCancelled. May be empty.
  std::function<bool(std::uint64_t bytes)> on_part = {};
};

/// Fetches a part to the beginning of a region, by a few ranged GETs
/// at a time. All or nothing. `done` is called once, when no request is under way any more, with
/// the first failure; its late_write_possible is true if it was for any request. Borrows the store
/// and the region until then. `done` runs on a thread of the store, or on the caller's.
void fetch_object(s3::ObjectStore& store, const ObjectPart& part, rdma::MemoryRegion& region,
                  FetchTerms terms, ObjectFetched done);

}  // namespace s3rdmafs::cache
