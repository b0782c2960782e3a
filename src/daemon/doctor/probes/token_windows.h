// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/mount_config.h"
#include "daemon/doctor/check.h"

namespace s3rdmafs::daemon::doctor {

/// The memory that one token opens to a server.
struct TokenWindow {
  std::uint64_t address = 0;  ///< as the token has it; not always the memory's own
  std::uint64_t rkey = 0;
};

/// Reads the window out of a token of the dc or rc fabric; nothing for other tokens.
[[nodiscard]] std::optional<TokenWindow> window_of(std::string_view token,
                                                   config::DcTokenForm form);

/// Judges whether a fence invalidates older tokens of the same memory.
/// @param windows  at least two, each taken after a fence that followed the one before
/// @param length   of each window, in bytes
[[nodiscard]] Finding judge_fence(const std::vector<TokenWindow>& windows, std::uint64_t length);

}  // namespace s3rdmafs::daemon::doctor
