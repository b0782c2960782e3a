// SPDX-License-Identifier: Apache-2.0
#include "config/path_glob.h"

#include <fnmatch.h>

#include <algorithm>
#include <optional>

namespace s3rdmafs::config {
namespace {

std::vector<std::string> components_of(std::string_view path) {
  std::vector<std::string> components;
  while (!path.empty()) {
    const std::size_t end = path.find('/');
    if (end != 0) components.emplace_back(path.substr(0, end));
    path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
  }
  return components;
}

std::string_view without_slash_in_front(std::string_view pattern) {
  if (pattern.starts_with('/')) pattern.remove_prefix(1);
  return pattern;
}

enum class Match { kWhole, kPathOrDirectoryAbove };

// Only the last "**" passed has to be tried with more directories. The part after an earlier one
// has matched at its first place, and a later place could not leave more of the path. So the cost
// is at most the product of both lengths.
bool match_components(PathGlob::Components glob, PathGlob::Components path, Match match) {
  std::size_t in_glob = 0;
  std::size_t in_path = 0;
  std::optional<std::size_t> after_any;  // in the glob, after the last "**"
  std::size_t any_end = 0;               // where the directories it stands for end
  for (;;) {
    const bool is_glob_done = in_glob == glob.size();
    const bool is_path_done = in_path == path.size();
    if (is_glob_done && (is_path_done || match == Match::kPathOrDirectoryAbove)) return true;
    if (!is_glob_done && glob[in_glob] == kAnyDirectories) {
      // At the end it stands for the contents of a directory, not for the directory.
      if (in_glob + 1 == glob.size()) return !is_path_done;
      after_any = ++in_glob;
      any_end = in_path;
    } else if (!is_glob_done && !is_path_done && matches_name(glob[in_glob], path[in_path])) {
      ++in_glob;
      ++in_path;
    } else if (after_any && any_end < path.size()) {
      in_glob = *after_any;
      in_path = ++any_end;
    } else {
      return false;
    }
  }
}

}  // namespace

bool has_wildcard(std::string_view pattern) noexcept {
  return pattern.find_first_of("*?[\\") != std::string_view::npos;
}

bool matches_name(const std::string& component, const std::string& name) {
  return component == name || ::fnmatch(component.c_str(), name.c_str(), 0) == 0;
}

PathGlob PathGlob::of_mount_file(std::string_view pattern) {
  PathGlob glob = anchored(pattern);
  if (pattern.find('/') == std::string_view::npos) {
    glob.components_.insert(glob.components_.begin(), std::string(kAnyDirectories));
  }
  return glob;
}

PathGlob PathGlob::anchored(std::string_view pattern) {
  const std::string_view text = without_slash_in_front(pattern);
  return {text, components_of(text)};
}

PathGlob PathGlob::literal(std::string_view path) {
  const std::string_view text = without_slash_in_front(path);
  std::string escaped;
  for (const char c : text) {
    if (config::has_wildcard(std::string_view(&c, 1))) escaped += '\\';
    escaped += c;
  }
  return {text, components_of(escaped), /*is_literal=*/true};
}

bool PathGlob::matches(std::string_view path) const {
  return match_components(components_, components_of(path), Match::kWhole);
}

bool PathGlob::covers(std::string_view path) const {
  return match_components(components_, components_of(path), Match::kPathOrDirectoryAbove);
}

bool PathGlob::has_wildcard() const noexcept {
  return !is_literal_ && std::ranges::any_of(components_, config::has_wildcard);
}

}  // namespace s3rdmafs::config
