// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "s3/object_store.h"

namespace s3rdmafs::s3 {

/// A bucket that has the empty directories given, and nothing else: the root of a mount of several
/// buckets. Answers at once, on the caller's thread. Thread-safe.
class DirectoryStore final : public ObjectStore {
 public:
  /// @param directories  each ends in "/", which stands nowhere else in it
  explicit DirectoryStore(std::vector<std::string> directories);

  void head(std::string key, Deadline deadline, Done<ObjectInfo> done) override;
  void list(ListRequest request, Deadline deadline, Done<ListPage> done) override;
  void get(GetRequest request, Deadline deadline, GetDone done) override;
  void shut_down() override {}

 private:
  const std::vector<std::string> directories_;  // in the order of bytes
};

}  // namespace s3rdmafs::s3
