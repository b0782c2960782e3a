// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "s3rdmafs/base/mutex.h"
#include "upload/uploads.h"
#include "vfs/file_system.h"
#include "vfs/node.h"

namespace s3rdmafs::vfs {

/// A file from the open that makes or truncates it to its close: an inode that is no version yet.
///
/// It begins reserved: its name stands for it, and the one open that comes next claims it. Then it
/// has one handle. The kernel may know its inode for longer than it has bytes or a handle, so what
/// is left at the end is a size. Thread-safe.
class WrittenFile : public std::enable_shared_from_this<WrittenFile> {
 public:
  /// @param number  no other file of this mount has it
  WrittenFile(upload::Uploads& uploads, std::string key, std::uint64_t number, SeenAt reserved_at,
              std::chrono::system_clock::time_point made_at);

  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  [[nodiscard]] Node node();
  [[nodiscard]] std::uint64_t size_bytes() const;

  /// True for the first to ask.
  [[nodiscard]] bool claim(ProcessId process);
  [[nodiscard]] bool is_claimed() const;
  [[nodiscard]] ProcessId process() const;
  [[nodiscard]] SeenAt reserved_at() const noexcept { return reserved_at_; }

  void append(std::uint64_t offset_bytes, std::span<const std::byte> bytes, Deadline deadline,
              Done<void> done);
  void finish(Done<void> done);
  /// Whether finish() has nothing to do.
  [[nodiscard]] bool is_stored() const;
  /// Whether its name should stand for it: it has bytes that the store has not yet, and may get.
  [[nodiscard]] bool is_pending() const;
  /// To `size_bytes`: where it is already, or zero, which begins the object anew.
  void truncate(std::uint64_t size_bytes, Done<void> done);
  void discard(Done<void> done);
  /// The mount ends before the file was finished: finish() fails from now on.
  void cancel(Done<void> done);
  /// No handle is left, and it was finished or not wanted: lets go of its memory.
  void close();

 private:
  /// Null once closed.
  [[nodiscard]] std::shared_ptr<upload::Uploader> uploader() const;

  upload::Uploads& uploads_;
  const std::string key_;
  const std::uint64_t number_;
  const SeenAt reserved_at_;
  const std::chrono::system_clock::time_point made_at_;

  mutable Mutex mutex_;  // leaf
  bool wanted_ GUARDED_BY(mutex_) = true;
  bool claimed_ GUARDED_BY(mutex_) = false;
  ProcessId process_ GUARDED_BY(mutex_) = 0;
  std::shared_ptr<upload::Uploader> uploader_ GUARDED_BY(mutex_);
  std::uint64_t final_size_bytes_ GUARDED_BY(mutex_) = 0;  ///< of a closed one
};

}  // namespace s3rdmafs::vfs
