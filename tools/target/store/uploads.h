// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "s3rdmafs/base/unique_fd.h"
#include "target/digest/digests.h"
#include "target/s3_error.h"
#include "target/store/bucket.h"
#include "target/store/store.h"

namespace s3rdmafs::target {

/// How the parts' checksums make the object's.
struct UploadChecksum {
  ChecksumKind kind = ChecksumKind::kCrc64Nvme;
  bool is_composite = false;  ///< the checksum of the parts' checksums, else of the whole object
};

/// The properties with which a multipart upload was begun.
struct UploadPlan {
  std::string bucket;
  std::string key;
  s3::NameValues headers;  ///< as Metadata::headers
  std::optional<UploadChecksum> checksum;
};

struct StoredPart {
  unsigned number = 0;
  std::string md5_hex;
  std::string checksum_hex;  ///< of the upload's kind; empty without one
  std::uint64_t size_bytes = 0;
  timespec modified{};

  /// How the file is called: everything about a part is in its name, so that it appears whole.
  [[nodiscard]] std::string file_name() const;
};

/// One multipart upload: a folder of part files. Thread-safe: all its state is the file system's.
class MultipartUpload {
 public:
  /// Begins one and gives it an id. Errors: kInternalError.
  [[nodiscard]] static S3Result<std::string> create(const Store& store, const UploadPlan& plan);
  /// Errors: kNoSuchUpload, also if `bucket` or `key` is not the upload's.
  [[nodiscard]] static S3Result<MultipartUpload> open(const Store& store, const std::string& id,
                                                      const std::string& bucket,
                                                      const std::string& key);
  /// All of a bucket, by key and then by beginning.
  [[nodiscard]] static std::vector<MultipartUpload> list(const Store& store,
                                                         const std::string& bucket);

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const UploadPlan& plan() const { return plan_; }
  [[nodiscard]] const timespec& started() const { return started_; }

  /// Stores a part in place of an earlier one of its number. Errors: kNoSuchUpload if the upload
  /// ended meanwhile.
  [[nodiscard]] S3Result<void> put_part(const StoredPart& part, StagedFile& file) const;
  /// By number.
  [[nodiscard]] S3Result<std::vector<StoredPart>> parts() const;
  [[nodiscard]] S3Result<UniqueFd> open_part(const StoredPart& part) const;

  /// Hides the upload from other requests while it is completed. Errors: kNoSuchUpload if another
  /// request was faster.
  [[nodiscard]] S3Result<void> claim();
  /// Undoes claim() after a failure.
  void release();
  /// Removes the upload and its parts.
  void remove();

 private:
  MultipartUpload(int uploads, std::string id, UniqueFd folder, UploadPlan plan, timespec started)
      : uploads_(uploads),
        id_(std::move(id)),
        folder_name_(id_),
        folder_(std::move(folder)),
        plan_(std::move(plan)),
        started_(started) {}
  static std::optional<MultipartUpload> load(int uploads, const std::string& id);

  int uploads_;  // borrowed from the Store
  std::string id_;
  std::string folder_name_;
  UniqueFd folder_;
  UploadPlan plan_;
  timespec started_;
};

}  // namespace s3rdmafs::target
