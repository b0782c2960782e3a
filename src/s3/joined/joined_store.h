// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "s3/object_store.h"
#include "s3/object_writer.h"
#include "s3/upload_log.h"

namespace s3rdmafs::s3 {

/// One bucket among several that show as one, each below a directory of its own.
struct JoinedBucket {
  std::string directory;           ///< ends in "/", which stands nowhere else in it
  std::string prefix = {};         ///< of the keys that show: empty, or ends in "/"
  ObjectStore* store = nullptr;    ///< borrowed
  ObjectWriter* writer = nullptr;  ///< borrowed

  /// The key in the bucket that `joined` stands for; it begins with the directory.
  [[nodiscard]] std::string own_key(std::string_view joined) const;
  /// The other way round. The key begins with the prefix.
  [[nodiscard]] std::string joined_key(std::string_view own) const;
};

/// Several buckets, of one or several stores, as one: key "k" of a bucket is "DIRECTORY/k" here. So
/// caches, uploads and journals serve all of them without knowing of buckets, and what they write
/// down says which bucket it is of.
///
/// Each operation is that of the bucket, with its errors; what it is asked of no directory ends
/// with kNotFound. A listing of all directories takes their buckets one after another, in order.
/// The server of one bucket copies nothing of another one's: kUnsupported. Thread-safe.
class JoinedStore final : public ObjectStore, public ObjectWriter {
 public:
  /// @param buckets  no two of one directory
  explicit JoinedStore(std::vector<JoinedBucket> buckets);

  [[nodiscard]] const std::vector<JoinedBucket>& buckets() const { return buckets_; }

  void head(std::string key, Deadline deadline, Done<ObjectInfo> done) override;
  void describe(std::string key, Deadline deadline, Done<ObjectDescription> done) override;
  void list(ListRequest request, Deadline deadline, Done<ListPage> done) override;
  void get(GetRequest request, Deadline deadline, GetDone done) override;
  void shut_down() override;

  void put(std::string key, PutBody body, PutOptions options, Deadline deadline,
           PutDone done) override;
  void create_upload(std::string key, UserMetadata metadata, Deadline deadline,
                     Done<std::string> done) override;
  void upload_part(std::string key, std::string upload_id, unsigned number, PutBody body,
                   Deadline deadline, PutDone done) override;
  void upload_part_copy(CopySource source, std::uint64_t offset_bytes, std::uint64_t length_bytes,
                        std::string key, std::string upload_id, unsigned number, Deadline deadline,
                        Done<std::string> done) override;
  void complete_upload(std::string key, std::string upload_id, std::vector<UploadedPart> parts,
                       Precondition when, Deadline deadline, Done<std::string> done) override;
  void copy(CopySource source, std::string key, CopyOptions options, Deadline deadline,
            Done<std::string> done) override;
  void rename(CopySource source, std::string key, Precondition when, Deadline deadline,
              Done<std::string> done) override;
  void abort_upload(std::string key, std::string upload_id, Deadline deadline,
                    Done<void> done) override;
  void list_uploads(std::string key, Deadline deadline, Done<OpenUploads> done) override;
  void has_parts(std::string key, std::string upload_id, Deadline deadline,
                 Done<bool> done) override;
  void remove(std::string key, Deadline deadline, Done<void> done) override;
  void remove_version(std::string key, std::string etag, Deadline deadline,
                      Done<void> done) override;

 private:
  /// Null where no directory has the key.
  [[nodiscard]] const JoinedBucket* find(std::string_view key) const;
  void list_directories(const ListRequest& request, Done<ListPage> done) const;
  void list_one_by_one(ListRequest request, Deadline deadline, Done<ListPage> done);
  static void list_in(const JoinedBucket& bucket, ListRequest request, Deadline deadline,
                      Done<ListPage> done);
  /// Both of one bucket, whose own key `source` gets then; else null.
  [[nodiscard]] const JoinedBucket* find_both(CopySource& source, std::string_view key) const;

  const std::vector<JoinedBucket> buckets_;  // by directory, in the order of bytes
};

/// Notes the uploads of one bucket's store by their joined keys. Thread-safe.
class JoinedUploadLog final : public UploadLog {
 public:
  /// Borrows the log.
  JoinedUploadLog(JoinedBucket bucket, UploadLog& log) : bucket_(std::move(bucket)), log_(log) {}
  void begun(const std::string& key, const std::string& upload_id) override {
    log_.begun(bucket_.joined_key(key), upload_id);
  }
  void ended(const std::string& upload_id) override { log_.ended(upload_id); }

 private:
  const JoinedBucket bucket_;
  UploadLog& log_;
};

}  // namespace s3rdmafs::s3
