// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "manifest/entry.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::manifest {

/// Reads an S3 Inventory in CSV (Amazon S3 User Guide, "Amazon S3 Inventory list"): the current
/// version of each object, delete markers left out. The inventory's manifest.json may stand among
/// the files; its "fileSchema" then names the columns. Without it they are Bucket, Key, Size,
/// LastModifiedDate, ETag. Pipes can be read too; nothing is read twice.
class InventoryReader {
 public:
  using Take = std::function<Result<void>(Entry)>;

  /// @param bucket  that each row must be of
  /// @param prefix  keys without it are left out
  InventoryReader(std::string bucket, std::string prefix)
      : bucket_(std::move(bucket)), prefix_(std::move(prefix)) {}

  /// Hands over the entries of all files, in the files' order.
  /// Errors: kInvalidArgument (the file and line, and what is wrong there), kUnsupported (gzip, or
  /// not CSV), kSystem, and those of `take`.
  [[nodiscard]] Result<void> read(const std::vector<std::string>& paths, const Take& take);

 private:
  /// Places of the columns in a row; -1: the inventory does not have it.
  struct Columns {
    int bucket = -1;
    int key = -1;
    int is_latest = -1;
    int is_delete_marker = -1;
    int size = -1;
    int modified = -1;
    int etag = -1;
  };
  [[nodiscard]] Result<void> set_columns(std::string_view schema);
  [[nodiscard]] Result<void> read_schema(const std::string& path);
  [[nodiscard]] Result<void> read_rows(const std::string& path, const Take& take);
  [[nodiscard]] Result<void> take_row(const std::vector<std::string>& row, const Take& take) const;

  const std::string bucket_;
  const std::string prefix_;
  Columns columns_;
};

}  // namespace s3rdmafs::manifest
