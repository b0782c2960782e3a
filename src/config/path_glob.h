// SPDX-License-Identifier: Apache-2.0
// The one dialect of patterns for paths in a mount: of the mount file and of `s3rdmafs warm`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace s3rdmafs::config {

/// A pattern for paths relative to the mount point, as gitignore(5) has them: "*", "?" and "[...]"
/// stand for characters other than "/", a backslash makes the next character literal, and "**" as a
/// whole component stands for any number of directories, also for none. Plain value.
class PathGlob {
 public:
  using Components = std::span<const std::string>;

  /// A pattern of the mount file: without a "/" it is for a name in any directory ("*.bin" is
  /// "**/*.bin"), with one for a path from the mount point on; a "/" in front says only that.
  [[nodiscard]] static PathGlob of_mount_file(std::string_view pattern);
  /// A path or pattern from the mount point on, whether it has a "/" or not. Empty: the mount
  /// point.
  [[nodiscard]] static PathGlob anchored(std::string_view pattern);
  /// A path from the mount point on, whatever its characters: not a pattern.
  [[nodiscard]] static PathGlob literal(std::string_view path);

  /// Whether the pattern stands for `path`, which has no "/" in front.
  [[nodiscard]] bool matches(std::string_view path) const;
  /// Whether it stands for `path` or for a directory above it.
  [[nodiscard]] bool covers(std::string_view path) const;

  [[nodiscard]] bool has_wildcard() const noexcept;
  /// "a/**/c" -> "a", "**", "c"; none for the mount point.
  [[nodiscard]] Components components() const noexcept { return components_; }
  /// As it was given, without a "/" in front: the name of a file may look like a pattern.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  PathGlob(std::string_view pattern, std::vector<std::string> components, bool is_literal = false)
      : text_(pattern), components_(std::move(components)), is_literal_(is_literal) {}

  std::string text_;
  std::vector<std::string> components_;
  bool is_literal_;
};

/// The component that stands for any number of directories.
inline constexpr std::string_view kAnyDirectories = "**";

[[nodiscard]] bool has_wildcard(std::string_view pattern) noexcept;

/// Whether a component other than kAnyDirectories stands for this name.
[[nodiscard]] bool matches_name(const std::string& component, const std::string& name);

}  // namespace s3rdmafs::config
