// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "target/s3_error.h"
#include "target/store/bucket.h"
#include "target/store/folder_snapshot.h"

namespace s3rdmafs::target {

struct ListQuery {
  std::string prefix = {};
  std::string delimiter = {};  ///< empty: none
  /// Only keys that sort after this are listed. If it ends in the delimiter and is a common prefix,
  /// nothing below that prefix is.
  std::string after = {};
  std::size_t max_keys = 1000;
  /// Keys that are not UTF-8 cannot stand in XML; they are listed only where they will be encoded.
  bool include_non_utf8 = false;
};

struct ListedObject {
  std::string key;
  std::string etag;
  std::uint64_t size_bytes = 0;
  timespec modified{};
};

/// One page; objects and common prefixes each in byte order.
struct ListPage {
  std::vector<ListedObject> objects;
  std::vector<std::string> common_prefixes;
  bool is_truncated = false;
  std::string last;  ///< the last key or common prefix listed: `after` of the next page
};

/// Lists keys in S3's byte order, reading only the folders that can hold such keys.
[[nodiscard]] S3Result<ListPage> list_keys(const Bucket& bucket, SnapshotCache& snapshots,
                                           const ListQuery& query);

}  // namespace s3rdmafs::target
