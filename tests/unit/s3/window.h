// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace s3rdmafs::s3 {

/// What the object client's tests move at a time, and the memory they move it into or out of.
inline constexpr std::size_t kWindowBytes = 4096;

}  // namespace s3rdmafs::s3
