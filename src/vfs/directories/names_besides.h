// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "vfs/directories/directory_listing.h"

namespace s3rdmafs::vfs {

/// The names of a directory that the store may not list, since their files are not stored yet. They
/// come after all that it lists, at offsets of their own, and once, although it may list them by
/// then. Constant, so thread-safe.
class NamesBesides {
 public:
  /// Of the first name. No listing has as many, and off_t holds twice as much.
  static constexpr std::uint64_t kFirstOffset = std::uint64_t{1} << 62;

  explicit NamesBesides(std::vector<ListedName> names) : names_(std::move(names)) {
    for (const ListedName& listed : names_) has_.insert(listed.name);
  }

  [[nodiscard]] bool has(const std::string& name) const { return has_.contains(name); }
  /// Up to `names_max` names from an offset on, which is kFirstOffset or more.
  [[nodiscard]] std::vector<ListedName> from(std::uint64_t offset, std::size_t names_max) const {
    const std::size_t begin = std::min<std::uint64_t>(offset - kFirstOffset, names_.size());
    const std::size_t end = begin + std::min(names_max, names_.size() - begin);
    return {names_.begin() + static_cast<std::ptrdiff_t>(begin),
            names_.begin() + static_cast<std::ptrdiff_t>(end)};
  }

 private:
  const std::vector<ListedName> names_;
  std::unordered_set<std::string> has_;
};

}  // namespace s3rdmafs::vfs
