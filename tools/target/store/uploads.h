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
  std::string etag;
  std::string checksum_hex;  ///< of the upload's kind; empty without one
  std::uint64_t size_bytes = 0;
  /// Where it is in the file that the upload's parts share; nothing: in a file of its own.
  std::optional<std::uint64_t> place_bytes;
  timespec modified{};

  /// How the file is called: everything about a part is in its name, so that it appears whole.
  [[nodiscard]] std::string file_name() const;
};

/// The bytes of a part: its size from `offset_bytes` of the file on.
struct PartBytes {
  UniqueFd fd;
  std::uint64_t offset_bytes = 0;
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

  /// A file for a part: its place in the file that the parts share where that can be foreseen, or
  /// one of its own. @param length_bytes  that it will at most have, if known
  [[nodiscard]] S3Result<StagedFile> stage_part(const Store& store, unsigned number,
                                                std::optional<std::uint64_t> length_bytes) const;
  /// Stores a part instead of an earlier one of its number. Errors: kNoSuchUpload if the upload
  /// ended meanwhile.
  [[nodiscard]] S3Result<void> put_part(StoredPart part, StagedFile& file) const;
  /// By number.
  [[nodiscard]] S3Result<std::vector<StoredPart>> parts() const;
  [[nodiscard]] S3Result<PartBytes> open_part(const StoredPart& part) const;
  /// The file that the parts share, if it holds these parts, in this order and nothing else: the
  /// object as it is. Call after claim(); keep() it unless it becomes the object.
  [[nodiscard]] std::optional<StagedFile> shared_file(const std::vector<StoredPart>& parts) const;

  /// Hides the upload from other requests while it is completed. Errors: kNoSuchUpload if another
  /// request was faster.
  [[nodiscard]] S3Result<void> claim();
  /// Undoes claim() after a failure.
  void release();
  /// Removes the upload and its parts.
  void remove();

 private:
  MultipartUpload(const Store& store, std::string id, UniqueFd folder, UploadPlan plan,
                  timespec started)
      : uploads_(store.uploads_folder()),
        places_(&store.part_places()),
        id_(std::move(id)),
        folder_name_(id_),
        folder_(std::move(folder)),
        plan_(std::move(plan)),
        started_(started) {}
  static std::optional<MultipartUpload> load(const Store& store, const std::string& id);

  int uploads_;         // borrowed from the Store
  PartPlaces* places_;  // the same
  std::string id_;
  std::string folder_name_;
  UniqueFd folder_;
  UploadPlan plan_;
  timespec started_;
};

}  // namespace s3rdmafs::target
