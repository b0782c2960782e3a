// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "s3/object_store.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::manifest {

struct ListingOptions {
  std::string prefix;
  unsigned jobs = 1;  ///< listings side by side, each on a thread
  std::chrono::milliseconds request_timeout{30'000};
};

struct ListingProgress {
  std::uint64_t keys = 0;
  std::uint64_t requests = 0;
};

/// Lists every key below the prefix, by several listings side by side; see the .cc. Blocks, with
/// threads of its own.
///
/// @param take         gets the objects of one page, from any of the threads; an error ends all. If
///                     the server turns out not to begin where it is told to, all come once more
/// @param on_progress  called about once a second, on the caller's thread
/// @return the requests and keys at the end
/// Errors: the store's, those of `take`; kProtocol (the server's order is not that of the keys).
[[nodiscard]] Result<ListingProgress> list_keys(
    s3::ObjectStore& store, const Clock& clock, const ListingOptions& options,
    const std::function<Result<void>(std::vector<s3::ObjectInfo>)>& take,
    const std::function<void(const ListingProgress&)>& on_progress);

}  // namespace s3rdmafs::manifest
