// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// ThreadSanitizer brings operators of its own, and there can be only one of each.
#if defined(__SANITIZE_THREAD__)
#define S3RDMAFS_NO_ALLOCATION_COUNT
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define S3RDMAFS_NO_ALLOCATION_COUNT
#endif
#endif

namespace s3rdmafs::fakes {

/// False under ThreadSanitizer: then nothing is counted, and a test must not rely on it.
#ifdef S3RDMAFS_NO_ALLOCATION_COUNT
inline constexpr bool kCountsAllocations = false;
#else
inline constexpr bool kCountsAllocations = true;
#endif

/// How often this thread has allocated so far. Compile allocation_count.cc, which replaces operator
/// new, into the test's executable.
[[nodiscard]] std::size_t allocations_of_this_thread() noexcept;

}  // namespace s3rdmafs::fakes
