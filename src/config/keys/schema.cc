// SPDX-License-Identifier: Apache-2.0
#include "config/keys/schema.h"

#include <algorithm>

#include "config/keys/keys.h"

namespace s3rdmafs::config {
namespace {

std::vector<Key> all_keys() {
  std::vector<Key> all;
  for (const auto& keys :
       {top_level_keys(), store_keys(), rdma_keys(), file_keys(), mount_keys()}) {
    all.insert(all.end(), keys.begin(), keys.end());
  }
  return all;
}

}  // namespace

std::string Key::full_name() const {
  return section.empty() ? std::string(name) : std::string(section) + "." + std::string(name);
}

std::string Key::variable_name() const {
  std::string result = "S3RDMAFS_" + full_name();
  std::ranges::transform(result, result.begin(), [](char c) {
    if (c == '.') return '_';
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return result;
}

std::span<const Key> schema() noexcept {
  static const std::vector<Key> all = all_keys();
  return all;
}

const Key* find_key(std::string_view section, std::string_view name) noexcept {
  const auto keys = schema();
  const auto found = std::ranges::find_if(
      keys, [&](const Key& key) { return key.section == section && key.name == name; });
  return found == keys.end() ? nullptr : &*found;
}

}  // namespace s3rdmafs::config
