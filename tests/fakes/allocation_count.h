// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace s3rdmafs::fakes {

/// How often this thread has allocated so far. Compile allocation_count.cc, which replaces operator
/// new, into the test's executable.
[[nodiscard]] std::size_t allocations_of_this_thread() noexcept;

}  // namespace s3rdmafs::fakes
