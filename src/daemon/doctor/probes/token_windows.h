// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/mount_config.h"
#include "daemon/doctor/check.h"

namespace s3rdmafs::daemon::doctor {

/// What a NIC lets a server reach by one token.
struct TokenWindow {
  std::uint64_t address = 0;  ///< as the token says it; not always the memory's own
  std::uint64_t rkey = 0;
};

/// The window of a token of the dc or rc fabric; nothing for other tokens.
[[nodiscard]] std::optional<TokenWindow> window_of(std::string_view token,
                                                   config::DcTokenForm form);

/// Whether tokens of one memory can be told from those before a fence.
/// @param windows  of the same memory, with a fence between one and the next; at least two
/// @param length  of each, in bytes
[[nodiscard]] Finding judge_fence(const std::vector<TokenWindow>& windows, std::uint64_t length);

}  // namespace s3rdmafs::daemon::doctor
