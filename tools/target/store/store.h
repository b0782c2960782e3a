// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"
#include "target/s3_error.h"
#include "target/store/bucket.h"

namespace s3rdmafs::target {

/// The server's own folder below the root. Hidden, so it is not a bucket.
inline constexpr const char* kInternalFolder = ".s3rdma-target";

struct BucketEntry {
  std::string name;
  timespec created{};
};

/// A folder whose subfolders are buckets. Thread-safe: all its state is in the file system.
class Store {
 public:
  /// Takes `root` and sweeps the temporary files of an earlier run.
  /// Errors: kInvalidArgument if it is not a folder, kUnsupported without openat2, kSystem.
  [[nodiscard]] static Result<Store> open(const std::string& root);

  [[nodiscard]] S3Result<std::vector<BucketEntry>> list_buckets() const;
  /// Errors: kInvalidBucketName, kBucketAlreadyOwnedByYou.
  [[nodiscard]] S3Result<void> create_bucket(const std::string& name) const;
  /// Errors: kNoSuchBucket, kBucketNotEmpty.
  [[nodiscard]] S3Result<void> delete_bucket(const std::string& name) const;
  /// Errors: kNoSuchBucket.
  [[nodiscard]] S3Result<Bucket> open_bucket(const std::string& name) const;

  [[nodiscard]] S3Result<StagedFile> stage_file() const {
    return StagedFile::create(staging_.get());
  }
  /// The folder that holds multipart uploads, one subfolder each.
  [[nodiscard]] int uploads_folder() const { return uploads_.get(); }

 private:
  Store(UniqueFd root, UniqueFd staging, UniqueFd uploads)
      : root_(std::move(root)), staging_(std::move(staging)), uploads_(std::move(uploads)) {}

  UniqueFd root_, staging_, uploads_;
};

}  // namespace s3rdmafs::target
