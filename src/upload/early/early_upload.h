// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s3/object_writer.h"
#include "s3rdmafs/base/mutex.h"
#include "upload/early/patience.h"
#include "upload/early/postponed_jobs.h"
#include "upload/part_sizes.h"
#include "upload/staged/byte_ranges.h"
#include "upload/staged/part_sender.h"
#include "upload/staged/staged_uploads.h"

namespace s3rdmafs::upload {

/// Where the bytes of an EarlyUpload come from, and who wants to know of its requests. Thread-safe.
class EarlySource : public StagedSource {
 public:
  /// The bytes are about to be read and sent. False: they are not to be, nor any after them.
  /// @param run  EarlyUpload::run()
  [[nodiscard]] virtual bool may_send(ByteRange bytes, std::uint64_t run) = 0;
  /// Work of the upload begins that waits for the server or a buffer; it always ends.
  virtual void work_begins() = 0;
  /// It has ended, and what it sent is in EarlyUpload::sent().
  virtual void work_ends() = 0;
};

/// The parts of a staged object that are sent while a program still writes it, in order, from its
/// first byte on. No client sees any of it: a store completes the upload (StagedObject::early), or
/// the parts are abandoned. A part that fails is sent again a little later, as long as Patience
/// lasts; any other error ends it. At most parallel_parts are under way. Made by StagedUploads.
/// Thread-safe; `done` rules as in base/callback.h.
class EarlyUpload : public std::enable_shared_from_this<EarlyUpload> {
 public:
  struct Start {
    std::string key;
    s3::UserMetadata metadata;  ///< S3 takes it when the upload begins
    PartSizes sizes;
    std::uint64_t run = 0;  ///< the caller's; so that it knows whose parts these are
  };
  struct SentPart {
    ByteRange bytes;
    s3::UploadedPart part;
  };
  /// The upload as the server has it.
  struct Sent {
    std::string key;
    std::string upload_id;  ///< empty: nothing
    PartSizes sizes;        ///< part N has the N-th of these
    std::map<unsigned, SentPart> parts;
  };

  /// Borrows what the reader borrows, and the jobs.
  EarlyUpload(const PartReader& reader, PostponedJobs& postponed, Start start);
  /// Abandons the upload, unless end() gave it away.
  ~EarlyUpload();

  [[nodiscard]] const std::string& key() const noexcept { return start_.key; }
  [[nodiscard]] const s3::UserMetadata& metadata() const noexcept { return start_.metadata; }

  [[nodiscard]] std::uint64_t run() const noexcept { return start_.run; }
  /// The largest object that it can become.
  [[nodiscard]] std::uint64_t size_bytes_max() const noexcept {
    return start_.sizes.object_bytes_max();
  }

  /// The file has so many bytes, in order. Sends the parts that another byte follows.
  void grow(std::uint64_t size_bytes, const std::shared_ptr<EarlySource>& source);
  /// Whether grow() would send a part.
  [[nodiscard]] bool can_grow(std::uint64_t size_bytes) const;
  /// The parts that the server has, in order.
  [[nodiscard]] std::vector<ByteRange> sent() const;
  /// Why no part is sent now, if there was an error.
  [[nodiscard]] std::optional<Error> error() const;

  using EndDone = std::move_only_function<void(Sent)>;
  /// Begins nothing more, and gives the upload away when nothing of it is under way. Once.
  void end(EndDone done);
  /// As end(), and abandons it. Does nothing after end().
  void discard();

 private:
  using Action = std::move_only_function<void()>;
  using SourcePtr = std::shared_ptr<EarlySource>;

  [[nodiscard]] ByteRange next_part() const REQUIRES(mutex_);
  [[nodiscard]] bool has_part_to_send() const REQUIRES(mutex_);
  /// Carries out next_action() until there is none.
  void advance(const SourcePtr& source);
  [[nodiscard]] Action next_action(const SourcePtr& source) REQUIRES(mutex_);
  void create(const SourcePtr& source);
  void create_again(const SourcePtr& source, bool is_over);
  struct PartPlace {
    ByteRange bytes;
    unsigned number;
  };
  void send(const SourcePtr& source, PartPlace part);
  void send_again(const SourcePtr& source, PartPlace part, bool is_over);
  /// Whether the part waits to be sent again.
  [[nodiscard]] bool on_sent(PartPlace place, Result<s3::UploadedPart> part);
  /// Whether what failed is tried again; else nothing is.
  [[nodiscard]] bool on_error(Error error) REQUIRES(mutex_);
  void stop();

  const PartReader reader_;
  PostponedJobs& postponed_;
  const Start start_;

  mutable Mutex mutex_;  // leaf
  std::uint64_t size_bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t next_begin_ GUARDED_BY(mutex_) = 0;
  unsigned next_number_ GUARDED_BY(mutex_) = 1;
  bool creating_ GUARDED_BY(mutex_) = false;
  bool is_stopped_ GUARDED_BY(mutex_) = false;  ///< no part begins any more
  bool is_ended_ GUARDED_BY(mutex_) = false;
  unsigned under_way_ GUARDED_BY(mutex_) = 0;
  unsigned to_send_again_ GUARDED_BY(mutex_) = 0;       ///< parts that wait for that
  bool is_to_create_again_ GUARDED_BY(mutex_) = false;  ///< the beginning of the upload does
  Patience patience_ GUARDED_BY(mutex_);
  std::optional<Error> error_ GUARDED_BY(mutex_);
  std::string upload_id_ GUARDED_BY(mutex_);
  std::map<unsigned, SentPart> parts_ GUARDED_BY(mutex_);
  EndDone end_done_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::upload
