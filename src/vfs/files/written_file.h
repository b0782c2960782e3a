// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "s3rdmafs/base/mutex.h"
#include "upload/uploads.h"
#include "vfs/names/node.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

/// A file from the open that creates or truncates it to its close: an inode that is not a version
/// yet.
///
/// It begins reserved: its name stands for it, and the process that it is reserved for claims it by
/// its next open. Then it has one handle. The kernel may know its inode for longer than it has
/// bytes or a handle, so a closed file keeps its size. Thread-safe.
class WrittenFile : public std::enable_shared_from_this<WrittenFile> {
 public:
  /// The version that the file replaces.
  struct Base {
    upload::Uploader::Start start = upload::Uploader::Start::kReplacing;
    /// The only version that it may replace; empty: any.
    std::string etag = {};
  };

  /// @param number  no other file of this mount has it
  WrittenFile(upload::Uploads& uploads, std::string key, std::uint64_t number,
              std::chrono::system_clock::time_point made_at, Base base);

  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  [[nodiscard]] Node node();
  [[nodiscard]] std::uint64_t size_bytes() const;

  /// Reserves it for the next open by this process. It is not yet written, so `base` may change.
  void reserve(ProcessId process, SeenAt now, Base base);
  /// True for the first call with the process that it is reserved for.
  [[nodiscard]] bool claim(ProcessId process);
  [[nodiscard]] bool is_claimed() const;
  /// The process that claimed it, or else the one it is reserved for.
  [[nodiscard]] ProcessId process() const;
  [[nodiscard]] SeenAt reserved_at() const;

  void append(std::uint64_t offset_bytes, std::span<const std::byte> bytes, Deadline deadline,
              Done<void> done);
  /// Makes the bytes visible, in the place of the base's version only.
  void finish(Done<void> done);
  /// Runs the turns one after the other, each when end_turn() has been called for the one before.
  void take_turn(std::move_only_function<void()> turn);
  void end_turn();
  /// finish() fails with this from now on, if it has something to do.
  void give_up(Error error);
  /// Another file of this mount replaced what this one stored: bytes that are not stored by now
  /// never will be.
  void supersede();
  /// The ETag of the version that it became; empty before.
  [[nodiscard]] std::string stored_etag() const;
  /// Whether finish() has nothing to do.
  [[nodiscard]] bool is_stored() const;
  /// Whether its name should stand for it: the store lacks some of its bytes, and may get them.
  [[nodiscard]] bool is_pending() const;
  /// To the size that it has, or to zero, which begins the object again. Errors: kSequentialOnly
  /// for another size, kStale where the file is closed, kBusy before it is claimed.
  void truncate(std::uint64_t size_bytes, Done<void> done);
  /// Nothing more of it becomes visible; `done` when none of its requests is under way.
  void discard(Done<void> done);
  /// Whether it was not discarded.
  [[nodiscard]] bool is_wanted() const;
  /// The mount ends before the file was finished: finish() fails from now on.
  void cancel(Done<void> done);
  /// No handle is left, and it was finished or discarded: frees its memory.
  void close();

 private:
  /// An uploader that replaces `base` only.
  [[nodiscard]] static std::shared_ptr<upload::Uploader> begin(upload::Uploads& uploads,
                                                               const std::string& key,
                                                               const Base& base);
  /// Null once closed.
  [[nodiscard]] std::shared_ptr<upload::Uploader> uploader() const;
  [[nodiscard]] bool is_superseded() const;
  /// Begins the object again, without bytes.
  /// @param stored_etag  of the version that was stored before; empty: none
  void restart(const std::string& stored_etag);

  upload::Uploads& uploads_;
  const std::string key_;
  const std::uint64_t number_;
  const std::chrono::system_clock::time_point made_at_;

  mutable Mutex mutex_;  // leaf
  SeenAt reserved_at_ GUARDED_BY(mutex_){};
  Base base_ GUARDED_BY(mutex_);
  bool superseded_ GUARDED_BY(mutex_) = false;
  bool has_turn_ GUARDED_BY(mutex_) = false;
  std::deque<std::move_only_function<void()>> turns_ GUARDED_BY(mutex_);  ///< those that wait
  bool wanted_ GUARDED_BY(mutex_) = true;
  bool claimed_ GUARDED_BY(mutex_) = false;
  ProcessId process_ GUARDED_BY(mutex_) = 0;
  std::shared_ptr<upload::Uploader> uploader_ GUARDED_BY(mutex_);
  std::uint64_t final_size_bytes_ GUARDED_BY(mutex_) = 0;  ///< of a closed one
};

}  // namespace s3rdmafs::vfs
