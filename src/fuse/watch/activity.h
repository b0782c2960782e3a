// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "s3rdmafs/base/mutex.h"
#include "vfs/types.h"

namespace s3rdmafs::fuse {

/// The files that are open now, and the threads that opened files, with the bytes that each has
/// moved through the daemon or read past FUSE: for a person who looks (`s3rdmafs top`). Reads and
/// writes that the kernel serves by itself are not seen. Thread-safe.
class Activity {
 public:
  /// How the bytes of a handle move.
  enum class Way : std::uint8_t { kCached, kDirect, kByKernel, kPastFuse };

  struct Bytes {
    std::uint64_t read = 0, written = 0;
  };
  struct File {
    std::uint64_t handle = 0;  ///< never used twice
    vfs::Ino ino = 0;
    pid_t thread = 0;  ///< that opened it; 0: of another PID namespace
    Way way{};
    Bytes bytes;
  };
  /// A thread that has opened a file lately, over all its files, closed ones included.
  struct Thread {
    pid_t thread = 0;
    std::uint64_t opens = 0;
    Bytes bytes;
  };
  struct Snapshot {
    std::vector<File> files;
    std::vector<Thread> threads;
  };

  void opened(std::uint64_t handle, vfs::Ino ino, pid_t thread, Way way);
  void read(std::uint64_t handle, std::size_t bytes) { moved(handle, {.read = bytes}); }
  void wrote(std::uint64_t handle, std::size_t bytes) { moved(handle, {.written = bytes}); }
  /// A program reads this handle past FUSE from now on, and was given so many bytes of it.
  void gave(std::uint64_t handle, std::uint64_t bytes);
  void released(std::uint64_t handle);

  struct Opener {
    std::uint64_t handle = 0;
    pid_t thread = 0;
  };
  /// The open handles of a file, in no order. Looks at all that are open.
  [[nodiscard]] std::vector<Opener> openers_of(vfs::Ino ino) const;

  /// In no order. Not of one instant: requests go on meanwhile.
  [[nodiscard]] Snapshot snapshot() const;

  /// Threads that are remembered; of more, those that opened a file longest ago are forgotten.
  static constexpr std::size_t kThreadsMax = 1024;

 private:
  // As many as requests that are served at one time on a large machine.
  static constexpr std::size_t kShards = 16;

  struct Totals {
    std::uint64_t opens = 0;
    std::uint64_t last_handle = 0;  // handles ascend, so this orders the threads
    Bytes closed;                   // of handles that are released
  };
  struct Shard {
    mutable Mutex mutex;  // leaf
    std::unordered_map<std::uint64_t, File> files GUARDED_BY(mutex);
    std::unordered_map<pid_t, Totals> threads GUARDED_BY(mutex);
  };

  void moved(std::uint64_t handle, Bytes bytes);
  static void make_room(std::unordered_map<pid_t, Totals>& threads);
  [[nodiscard]] Shard& shard_of(std::uint64_t handle) { return shards_[handle % kShards]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace s3rdmafs::fuse
