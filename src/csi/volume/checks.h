// SPDX-License-Identifier: Apache-2.0
// Checks of what comes over the socket. All errors: kInvalidArgument, without the value where it
// may be a secret.
#pragma once

#include <string_view>

#include "csi/volume/volume_use.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::csi {

/// 1 to 128 bytes (the specification's limit) of UTF-8 without control characters.
[[nodiscard]] Result<void> check_volume_id(std::string_view id);

/// Absolute and in its shortest form: no "//", ".", "..", "/" at the end or control character;
/// shorter than PATH_MAX.
/// @param field  for the message: "target_path"
[[nodiscard]] Result<void> check_path(std::string_view field, std::string_view path);

/// A file system and a known access mode.
[[nodiscard]] Result<void> check_capability(const Capability& capability);

/// Whether the mode forbids writing.
[[nodiscard]] bool is_read_only(AccessMode mode) noexcept;

/// UTF-8 without control characters.
[[nodiscard]] bool is_plain_text(std::string_view text) noexcept;

/// The text with each secret's value replaced: a program's message may quote what it was given.
[[nodiscard]] std::string without_secrets(std::string text, const Texts& secrets);

}  // namespace s3rdmafs::csi
