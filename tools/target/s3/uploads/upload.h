// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "target/digest/body_digests.h"
#include "target/digest/digests.h"
#include "target/s3/conditions.h"
#include "target/s3/services.h"
#include "target/store/bucket.h"

namespace s3rdmafs::target {

/// An operation whose body is an object's bytes.
class Upload {
 public:
  virtual ~Upload() = default;
  [[nodiscard]] virtual S3Result<void> receive(std::span<const std::byte> bytes) = 0;
  /// The body is complete and checked against its signature.
  [[nodiscard]] virtual S3Result<Response> finish(const NameValues& trailers) = 0;
};

/// The hashes of a received body, in the forms in which they are needed.
struct BodySummary {
  std::string etag;      ///< of these bytes alone, without what a key or a server adds
  NameValues checksums;  ///< x-amz-checksum-..., base64
  std::uint64_t size_bytes = 0;
};

/// A body on its way into a file, hashed as it comes.
class UploadBody {
 public:
  /// Computes the checksums the request announces, and `wanted` besides.
  [[nodiscard]] static UploadBody start(const Services& services, const Call& call,
                                        std::optional<ChecksumKind> wanted, StagedFile file);

  /// Errors: kInvalidRequest for more than the file has room for.
  [[nodiscard]] S3Result<void> receive(std::span<const std::byte> bytes);
  /// Hashes the first `size_bytes` of file(), for bytes that did not come by receive().
  [[nodiscard]] S3Result<void> hash_file(std::uint64_t size_bytes);
  /// For a body of `size_bytes` that was not moved (--dma none): believes the checksums that the
  /// request claims, and makes the ETag of them.
  void believe(const Request& request, std::uint64_t size_bytes);
  /// Compares with Content-MD5 and, where this server does that, the checksums of headers and
  /// trailers.
  /// Errors: kBadDigest, kInvalidDigest, kInvalidRequest.
  [[nodiscard]] S3Result<BodySummary> finish(const Request& request, const NameValues& trailers);

  [[nodiscard]] StagedFile& file() { return file_; }
  /// The kinds of the checksums that are computed.
  [[nodiscard]] const std::vector<ChecksumKind>& kinds() const { return kinds_; }

 private:
  UploadBody(StagedFile file, EtagKind etags, bool needs_md5, std::vector<ChecksumKind> kinds)
      : file_(std::move(file)),
        etags_(etags),
        kinds_(std::move(kinds)),
        digests_(etags, needs_md5, kinds_) {}
  void hash(std::span<const std::byte> bytes);
  [[nodiscard]] S3Result<void> check_md5(const Request& request, const std::string& md5) const;
  [[nodiscard]] NameValues believed_checksums(const Request& request) const;
  StagedFile file_;
  EtagKind etags_;
  std::vector<ChecksumKind> kinds_;
  BodyDigests digests_;
  bool compares_checksums_ = true;
  bool is_believed_ = false;
  std::uint64_t size_bytes_ = 0;
};

/// The headers that are kept with an object: Content-Type and its like, those of
/// is_storage_header(), and x-amz-meta-*.
[[nodiscard]] NameValues kept_headers(const Request& request);

/// Refuses headers of an upload that S3 knows and that this server would silently ignore.
/// @param change  that its conditions are judged by
[[nodiscard]] S3Result<void> check_upload_headers(const Services& services, const Request& request,
                                                  KeyChange change = KeyChange::kPut);

/// The ETag of a new object: `digest`, or the ETag of a server whose ETags repeat.
[[nodiscard]] std::string object_etag(const Services& services, const std::string& digest,
                                      std::uint64_t size_bytes);

/// Makes a complete file the object of the call's key, under its conditions. Sets the ETag in
/// `metadata` where the file system cannot keep one.
/// Errors: kPreconditionFailed, kKeyConflict, kNotImplemented, kNoSuchKey (If-Match without
/// object).
[[nodiscard]] S3Result<void> publish_object(const Services& services, const Call& call,
                                            const Bucket& bucket, StagedFile& file,
                                            Metadata& metadata, KeyChange change);

[[nodiscard]] S3Result<std::unique_ptr<Upload>> start_put_object(const Services& services,
                                                                 const Call& call);
[[nodiscard]] S3Result<std::unique_ptr<Upload>> start_upload_part(const Services& services,
                                                                  const Call& call);

}  // namespace s3rdmafs::target
