// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/unique_fd.h"
#include "target/s3_error.h"
#include "target/store/bucket.h"
#include "target/store/part_places.h"
#include "target/store/rename/rename_tokens.h"

namespace s3rdmafs::target {

/// The server's own folder below the root. Hidden, so it is not a bucket.
inline constexpr const char* kInternalFolder = ".s3rdma-target";

struct BucketEntry {
  std::string name;
  timespec created{};
};

/// Locks of keys: a request that changes a key holds its lock, so that a condition still holds when
/// the change takes effect. Several keys share a lock. Thread-safe.
class KeyLocks {
 public:
  [[nodiscard]] Mutex& of(const std::string& bucket, const std::string& key) {
    return locks_.at(std::hash<std::string>()(bucket + "/" + key) % locks_.size());
  }

 private:
  static constexpr std::size_t kLocks = 64;  // more than connections that write at a time
  std::array<Mutex, kLocks> locks_;          // leaves
};

/// Holds the locks of two keys of a bucket for a scope: in one order, so that two requests with the
/// same keys do not wait for each other.
class KeyPairLock {
 public:
  KeyPairLock(KeyLocks& locks, const std::string& bucket, const std::string& one,
              const std::string& other) NO_THREAD_SAFETY_ANALYSIS;
  ~KeyPairLock() NO_THREAD_SAFETY_ANALYSIS;
  KeyPairLock(const KeyPairLock&) = delete;
  KeyPairLock& operator=(const KeyPairLock&) = delete;

 private:
  Mutex* first_;
  Mutex* second_;  ///< null: both keys share one
};

/// Of folders for uploads and half-written objects, which only the server uses.
inline constexpr mode_t kPrivateMode = 0700;

/// A folder whose subfolders are buckets. Thread-safe: its state is in the file system, but for the
/// locks.
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
  [[nodiscard]] KeyLocks& key_locks() const { return *key_locks_; }
  [[nodiscard]] RenameTokens& rename_tokens() const { return *rename_tokens_; }
  [[nodiscard]] PartPlaces& part_places() const { return *part_places_; }

 private:
  Store(UniqueFd root, UniqueFd staging, UniqueFd uploads)
      : root_(std::move(root)), staging_(std::move(staging)), uploads_(std::move(uploads)) {}

  UniqueFd root_, staging_, uploads_;
  std::unique_ptr<KeyLocks> key_locks_ = std::make_unique<KeyLocks>();
  std::unique_ptr<RenameTokens> rename_tokens_ = std::make_unique<RenameTokens>();
  std::unique_ptr<PartPlaces> part_places_ = std::make_unique<PartPlaces>();
};

}  // namespace s3rdmafs::target
