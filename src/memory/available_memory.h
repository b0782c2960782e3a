// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

namespace s3rdmafs::memory {

/// The memory that can be taken before the kernel kills somebody for it: what /proc/meminfo calls
/// available, or less where a control group of this process leaves less. The largest
/// number where nothing is known.
///
/// @param root  where /proc and /sys are; tests have their own
[[nodiscard]] std::uint64_t available_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace s3rdmafs::memory
