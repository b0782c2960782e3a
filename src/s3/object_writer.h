// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "s3/object_store.h"

namespace s3rdmafs::s3 {

/// Bytes to store: exactly one window of registered memory. The caller computes the checksum while
/// it fills the window, and keeps the window alive and unchanged until `done` *and*, if PutOutcome
/// says so, until its region was fenced.
struct PutBody {
  rdma::Window window;          ///< region nullptr, length 0: an empty body
  std::uint64_t crc64nvme = 0;  ///< of the window's bytes; sent, and checked by the server
};

/// The state of the key that a request requires. The server compares when the request takes effect,
/// so that of two clients only one succeeds.
struct Precondition {
  enum class Kind {
    kNone,
    kAbsent,   ///< If-None-Match: *; else error kExists
    kMatches,  ///< If-Match: the key has the version `etag`; else error kStale
  };
  Kind kind = Kind::kNone;
  std::string etag = {};

  [[nodiscard]] static Precondition none() { return {}; }
  [[nodiscard]] static Precondition absent() { return {.kind = Kind::kAbsent}; }
  [[nodiscard]] static Precondition matches(std::string etag) {
    return {.kind = Kind::kMatches, .etag = std::move(etag)};
  }
};

/// The further needs of an object that is stored.
struct PutOptions {
  Precondition when = {};
  UserMetadata metadata = {};
  StoredHeaders headers = {};
};

/// One version that the server copies from. The copy fails with kStale where the key has another.
struct CopySource {
  std::string key;
  std::string etag;  ///< never empty
  std::uint64_t size_bytes = 0;
};

struct CopyOptions {
  Precondition when = {};  ///< of the key that is copied to
  /// Replaces that of the source; nothing: it is copied too.
  std::optional<UserMetadata> metadata = {};
  StoredHeaders headers = {};  ///< beside `metadata`, which would remove those of the source
};

/// How a PUT or a part ended.
struct PutOutcome {
  Result<std::string> etag;  ///< as received, quotes included
  Path path = Path::kHttp;   ///< how the bytes went; meaningless after an error
  /// The server may still read the window: bytes put there next could end up in this object. Also
  /// possible after success, if an earlier attempt was never answered.
  bool late_read_possible = false;
};

using PutDone = std::move_only_function<void(PutOutcome)>;

/// A part that CompleteMultipartUpload names.
struct UploadedPart {
  unsigned number = 0;  ///< 1..10000
  std::string etag;
  std::uint64_t crc64nvme = 0;   ///< 0: not known, as that of a part which the server copied
  std::uint64_t size_bytes = 0;  ///< 0: not known
};

/// An upload that the server has begun and neither completed nor aborted.
struct OpenUpload {
  std::string id;
  std::chrono::system_clock::time_point initiated;  ///< by the server's clock
};

struct OpenUploads {
  std::vector<OpenUpload> uploads;  ///< in the server's order
  /// When the server answered, by the same clock, to the second; nothing: it does not say.
  std::optional<std::chrono::system_clock::time_point> server_time = {};
};

/// How long a server may need to assemble `parts`, beyond the time of any request: a second for
/// each 32 MiB, the speed of a server that copies them on a slow disk. A request that is given up
/// before that is repeated, and then finds neither the upload nor the object.
[[nodiscard]] std::chrono::seconds assembly_time(const std::vector<UploadedPart>& parts);

/// The same for the copy of so many bytes.
[[nodiscard]] std::chrono::seconds copy_time(std::uint64_t size_bytes);

/// The operations of one bucket that a writer needs. The real one is HttpObjectStore; tests use
/// tests/fakes/s3/fake_object_store.h. Asynchronous, retried, bounded and thread-safe as
/// ObjectStore is, with its errors; ObjectStore::shut_down ends these operations too.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;

  /// PutObject: the whole object becomes visible at once, or not at all. If `body` is not empty it
  /// never leaves an empty object: a PUT with a token goes only to a server known to read by RDMA,
  /// all others go by HTTP or probe the server first (s3rdmafs-protocol(7)).
  virtual void put(std::string key, PutBody body, PutOptions options, Deadline deadline,
                   PutDone done) = 0;

  /// CreateMultipartUpload, with CRC64NVME as its checksum if the server takes one.
  /// @return the upload's id
  virtual void create_upload(std::string key, UserMetadata metadata, Deadline deadline,
                             Done<std::string> done) = 0;

  /// UploadPart. `body` is not empty.
  virtual void upload_part(std::string key, std::string upload_id, unsigned number, PutBody body,
                           Deadline deadline, PutDone done) = 0;

  /// UploadPartCopy: the server itself copies bytes of the source into the part. It gets the time
  /// that so many bytes take (copy_time) beyond the deadline.
  /// @param length_bytes  1..5 GiB, within the source
  /// @return the part's ETag. Errors: kStale, kUnsupported (the server has no such operation)
  virtual void upload_part_copy(CopySource source, std::uint64_t offset_bytes,
                                std::uint64_t length_bytes, std::string key, std::string upload_id,
                                unsigned number, Deadline deadline, Done<std::string> done) = 0;

  /// CompleteMultipartUpload: the whole object becomes visible. Reads the answer's body, since a
  /// 200 may carry an error. After a lost answer a HEAD tells whether the request took effect. If
  /// the answer has a CRC64NVME of the whole object that differs from the parts', the object is
  /// removed and the error is kCorrupt. It is not compared if that of a part is not known.
  /// @param parts  ascending, at least one
  /// @return the object's ETag
  virtual void complete_upload(std::string key, std::string upload_id,
                               std::vector<UploadedPart> parts, Precondition when,
                               Deadline deadline, Done<std::string> done) = 0;

  /// The server itself copies the source to `key`: CopyObject, or parts of at most 5 GiB each where
  /// the source is larger. The object becomes visible whole or not at all. The server gets the time
  /// that so many bytes take (copy_time, twice for parts) beyond the deadline.
  /// @return the new object's ETag. Errors: kStale (the source has another version or is gone),
  ///         kExists or kStale by `options.when`, kUnsupported (the server has no such operation)
  virtual void copy(CopySource source, std::string key, CopyOptions options, Deadline deadline,
                    Done<std::string> done) = 0;

  /// RenameObject: the server gives one version another key, at once: at each moment one of the
  /// keys has it. Metadata, ETag and modification time stay. An object of `key` is replaced.
  /// @return the ETag that `key` has now. Errors: kStale (the source has another version or is
  ///         gone), kExists or kStale by `when`; kUnsupported: the source stays as it is and copy()
  ///         may do it, since the server lacks the operation, or has it not for this key. While one
  ///         rename finds that out, others get kUnsupported too.
  virtual void rename(CopySource source, std::string key, Precondition when, Deadline deadline,
                      Done<std::string> done) = 0;

  /// AbortMultipartUpload. Also succeeds if the upload does not exist.
  virtual void abort_upload(std::string key, std::string upload_id, Deadline deadline,
                            Done<void> done) = 0;

  /// ListMultipartUploads: those of exactly this key. Asks for pages until the key's uploads end,
  /// and for at most ten of a thousand. Errors: kUnsupported
  virtual void list_uploads(std::string key, Deadline deadline, Done<OpenUploads> done) = 0;

  /// ListParts: whether the upload has a part. Errors: kNotFound (it was completed or aborted)
  virtual void has_parts(std::string key, std::string upload_id, Deadline deadline,
                         Done<bool> done) = 0;

  /// DeleteObject. Also succeeds if the object does not exist, as S3 defines it.
  virtual void remove(std::string key, Deadline deadline, Done<void> done) = 0;

  /// As remove(), of this version alone. Also succeeds if the key has no object. Where the server
  /// knows no condition on DELETE, a HEAD just before takes its place. Errors: kStale.
  virtual void remove_version(std::string key, std::string etag, Deadline deadline,
                              Done<void> done) = 0;
};

}  // namespace s3rdmafs::s3
