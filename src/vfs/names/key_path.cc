// SPDX-License-Identifier: Apache-2.0
#include "vfs/names/key_path.h"

namespace s3rdmafs::vfs {

bool is_valid_name(std::string_view name) noexcept {
  constexpr std::string_view kForbidden("/\0", 2);
  return !name.empty() && name.size() <= kNameBytesMax && name != "." && name != ".." &&
         name.find_first_of(kForbidden) == std::string_view::npos;
}

std::string directory_prefix(std::string_view key) { return std::string(key) + "/"; }

std::string prefix_of(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(key.substr(0, slash + 1));
}

std::string parent_prefix(std::string_view prefix, std::string_view root_prefix) {
  if (prefix.size() <= root_prefix.size()) return std::string(root_prefix);
  return prefix_of(prefix.substr(0, prefix.size() - 1));
}

std::string_view name_below(std::string_view prefix, std::string_view key) noexcept {
  if (!key.starts_with(prefix)) return {};
  std::string_view name = key.substr(prefix.size());
  if (name.ends_with('/')) name.remove_suffix(1);
  return name;
}

}  // namespace s3rdmafs::vfs
