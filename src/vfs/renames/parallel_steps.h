// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include "s3rdmafs/base/callback.h"

namespace s3rdmafs::vfs {

/// Runs steps 0 to count - 1, up to `width` of them at a time. After the first error no further
/// step begins. `done` gets that error, when the steps under way have ended. Steps may answer on
/// any thread, or before they return. `step` is called by one thread at a time.
void run_in_parallel(std::size_t count, std::size_t width,
                     std::move_only_function<void(std::size_t, Done<void>)> step, Done<void> done);

}  // namespace s3rdmafs::vfs
