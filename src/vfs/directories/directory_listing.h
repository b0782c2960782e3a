// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "s3/object_store.h"
#include "vfs/names/node.h"

namespace s3rdmafs::vfs {

/// One name in a directory.
struct ListedName {
  std::string name;
  Node node;
  SeenAt seen_at;
};

/// Turns the pages of one directory's listing (delimiter "/") into its names. Each name comes once;
/// keys that cannot be names are hidden, and so is a file with a directory of the same name. A
/// server may ignore the delimiter: then the keys below a directory stand for it. Not thread-safe.
class DirectoryListing {
 public:
  explicit DirectoryListing(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Takes the next page. Returns the names that are now certain, in the order in which they became
  /// certain (not quite the order of bytes; see the .cc).
  std::vector<ListedName> add(s3::ListPage page, SeenAt seen_at);

  /// Names hidden so far.
  [[nodiscard]] std::uint64_t hidden() const { return hidden_; }

 private:
  void add_object(s3::ObjectInfo object, SeenAt seen_at);
  void add_prefix(std::string prefix, SeenAt seen_at);
  void add_file(s3::ObjectInfo object, SeenAt seen_at);
  void add_directory(std::string prefix, SeenAt seen_at);
  void pass(std::string_view position);

  const std::string prefix_;
  std::vector<ListedName> undecided_;  ///< files that a directory may yet hide; a stack
  std::vector<ListedName> certain_;
  std::string newest_directory_;  ///< its prefix, whether it could be shown or not
  std::uint64_t hidden_ = 0;
};

}  // namespace s3rdmafs::vfs
