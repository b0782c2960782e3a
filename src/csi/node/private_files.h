// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::csi {

/// Puts a file in place of another one of this name: whole or not at all, with mode 0600. Errors:
/// kSystem.
[[nodiscard]] Result<void> replace_file(const std::string& path, std::string_view text);

/// The text of a file; nothing where it is missing. Errors: kSystem, also where it is larger than
/// 16 MiB.
[[nodiscard]] Result<std::optional<std::string>> read_private_file(const std::string& path);

/// Makes a folder with mode 0700; one that is there stays. Errors: kSystem.
[[nodiscard]] Result<void> make_folder(const std::string& path);

/// Of the folder's files and folders, sorted, without those that begin with "."; empty where it
/// cannot be read.
[[nodiscard]] std::vector<std::string> names_in(const std::string& folder);

/// SHA-256 in 64 hexadecimal digits, with a key (RFC 2104) where one is given.
[[nodiscard]] std::string hex_digest(std::string_view text, std::string_view key = {});

}  // namespace s3rdmafs::csi
