// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s3/exchanges/create_upload_exchange.h"
#include "s3/object_writer.h"
#include "s3/upload_log.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::s3 {

/// The operations that a large copy is made of. Borrowed; they outlive it.
struct LargeCopyContext {
  ObjectStore& objects;
  ObjectWriter& writer;
  const Clock& clock;
  std::function<void(NewUpload, Deadline, Done<std::string>)> create_upload;
  UploadLog* upload_log = nullptr;  ///< null: the upload is not noted
};

/// A copy of more bytes than one CopyObject may copy: an upload whose parts the server copies, some
/// at a time. Metadata and headers are carried over by a HEAD. Lives until its requests have ended.
/// Thread-safe: parts end on any event thread.
class LargeCopy : public std::enable_shared_from_this<LargeCopy> {
 public:
  /// The most that one CopyObject, or one part, copies (Amazon S3).
  static constexpr std::uint64_t kWholeBytesMax = 5ULL << 30;
  /// How many parts are under way: enough to use several servers and disks of one store.
  static constexpr unsigned kPartsAtOnce = 8;

  struct What {
    CopySource source;
    std::string key;
    CopyOptions options;
    Deadline deadline;
  };

  LargeCopy(LargeCopyContext context, What what, Done<std::string> done);
  void start();

 private:
  void create(UserMetadata metadata, StoredHeaders headers);
  void send_parts();
  void send_part(unsigned number);
  void on_part(unsigned number, Result<std::string> etag);
  void complete();
  void give_up(Error error);
  void note_end();
  [[nodiscard]] std::uint64_t offset_of(unsigned number) const;
  [[nodiscard]] std::uint64_t length_of(unsigned number) const;

  const LargeCopyContext context_;
  const What what_;
  const std::uint64_t part_bytes_;
  const unsigned parts_count_;
  Done<std::string> done_;
  std::string upload_id_;

  Mutex mutex_;  // leaf
  std::vector<UploadedPart> parts_ GUARDED_BY(mutex_);
  unsigned parts_sent_ GUARDED_BY(mutex_) = 0;
  unsigned in_flight_ GUARDED_BY(mutex_) = 0;
  std::optional<Error> error_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::s3
