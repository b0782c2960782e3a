// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vfs/directories/directory_listing.h"

namespace s3rdmafs::vfs {

/// The names of one directory in the order in which they were listed, in little memory: about 40
/// bytes and the name itself, each. They are added a page at a time and never change. Not
/// thread-safe.
class NameStore {
 public:
  /// @param prefix  of the directory: what a name is added to for its key
  explicit NameStore(std::string prefix) : prefix_(std::move(prefix)) {}

  /// The names must be below the prefix, without user metadata, and not be written.
  void add(std::span<const ListedName> names);

  [[nodiscard]] std::size_t size() const { return size_; }
  /// @param index  below size()
  [[nodiscard]] ListedName at(std::size_t index) const;
  /// The memory that they take.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct Record {
    std::uint32_t text_at = 0;  ///< of the name; the ETag follows it
    std::uint16_t etag_length = 0;
    std::uint8_t name_length = 0;
    bool is_directory : 1 = false;
    bool has_packed_etag : 1 = false;
    std::uint64_t size_bytes = 0;
    std::chrono::system_clock::time_point modified;
  };
  /// The names of one page that were seen at one time: a file may be certain a page later.
  struct Page {
    std::size_t first = 0;  ///< index of its first name
    SeenAt seen_at;
    std::vector<Record> records;
    std::string text;
  };
  static void add(Page& page, const ListedName& listed);
  void add_page(std::span<const ListedName> names);

  const std::string prefix_;
  std::vector<Page> pages_;
  std::size_t size_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace s3rdmafs::vfs
