// SPDX-License-Identifier: Apache-2.0
// The rows of schema(), one file for a few sections each. A default or a bound stands there and
// nowhere else, with its reason; s3rdmafs.toml(5) is tested against them.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "config/keys/schema.h"

namespace s3rdmafs::config {

[[nodiscard]] std::span<const Key> top_level_keys() noexcept;
[[nodiscard]] std::span<const Key> store_keys() noexcept;
[[nodiscard]] std::span<const Key> rdma_keys() noexcept;
[[nodiscard]] std::span<const Key> file_keys() noexcept;
[[nodiscard]] std::span<const Key> mount_keys() noexcept;

/// The values of a Choice.
template <class T>
using Names = std::pair<std::string_view, T>;

// Bounds of time-outs: below 100 ms a busy server on a good network misses them; above an hour no
// job waits for a read.
inline constexpr std::chrono::milliseconds kTimeoutMin{100};
inline constexpr std::chrono::milliseconds kTimeoutMax = std::chrono::hours(1);

}  // namespace s3rdmafs::config
