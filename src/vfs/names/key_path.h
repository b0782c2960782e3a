// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace s3rdmafs::vfs {

/// The longest name of a file or directory: NAME_MAX of <limits.h>, the kernel's own limit.
inline constexpr std::size_t kNameBytesMax = 255;
/// The longest key S3 stores (Amazon S3 User Guide, "Naming Amazon S3 objects").
inline constexpr std::size_t kKeyBytesMax = 1024;

/// Whether one component of a key can be a name in a directory: 1..255 bytes, no "/" and no NUL,
/// and neither "." nor "..".
[[nodiscard]] bool is_valid_name(std::string_view name) noexcept;

/// The prefix all keys below a directory share: "a/b" -> "a/b/".
[[nodiscard]] std::string directory_prefix(std::string_view key);

/// The prefix of the directory that a key without a last "/" is in: "a/b" -> "a/", "a" -> "".
[[nodiscard]] std::string prefix_of(std::string_view key);

/// The prefix of the directory above: "p/a/" -> "p/". The root is its own parent, as in POSIX.
[[nodiscard]] std::string parent_prefix(std::string_view prefix, std::string_view root_prefix);

/// The name in directory `prefix` that a key or common prefix stands for, without its last "/".
/// Empty where `key` is the directory's own, or not below it at all. May fail is_valid_name().
[[nodiscard]] std::string_view name_below(std::string_view prefix, std::string_view key) noexcept;

}  // namespace s3rdmafs::vfs
