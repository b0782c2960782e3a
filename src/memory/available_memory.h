// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

namespace s3rdmafs::memory {

/// The memory in bytes that can be taken before the kernel kills a process for it: MemAvailable of
/// /proc/meminfo, or less where a control group of this process leaves less. The largest number
/// where neither is known.
///
/// @param root  the folder of /proc and /sys; tests have their own
[[nodiscard]] std::uint64_t available_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace s3rdmafs::memory
