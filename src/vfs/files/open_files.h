// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "cache/read_cache.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/files/handle_table.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

/// The version that a handle opened for reading stands for.
struct OpenVersion {
  Ino ino = 0;
  s3::ObjectInfo object;
  std::uint64_t generation = 0;
  std::shared_ptr<cache::ObjectReader> reader;
};

/// Versions that are open for reading. All handles of one version share one reader, so that they
/// share its streams; the last of them ends it. Thread-safe.
class OpenFiles {
 public:
  /// Borrows all.
  OpenFiles(cache::ReadCache& cache, HandleTable& handles, metrics::Registry& metrics);

  [[nodiscard]] std::uint64_t open(Ino ino, const s3::ObjectInfo& object,
                                   std::uint64_t generation = 0);
  /// The inode of the handle; nothing for one that is not open for reading.
  std::optional<Ino> release(std::uint64_t handle);
  /// This mount is about to have the server give the version another key: a reader may find it
  /// there before moved() is called, or never. Until move_ended().
  void moving(const s3::ObjectInfo& from, std::uint64_t from_generation, const s3::ObjectInfo& to,
              std::uint64_t to_generation);
  /// This mount has given the version another key, and maybe another ETag: the same bytes. Counts
  /// also for handles that are opened before move_ended().
  void moved(const s3::ObjectInfo& from, std::uint64_t from_generation, const s3::ObjectInfo& to,
             std::uint64_t to_generation);
  /// Nothing opens the former version any more: its key is gone, or stays.
  void move_ended(const s3::ObjectInfo& from, std::uint64_t from_generation);
  /// The place of a file's bytes, where `tried` no longer has them: what the version was moved to,
  /// or is being moved to. Nothing: there is none.
  [[nodiscard]] std::optional<cache::ObjectVersion> moved_from(const OpenVersion& file,
                                                               const cache::ObjectVersion& tried);
  [[nodiscard]] std::shared_ptr<cache::ObjectReader> read_at(cache::ObjectVersion place) {
    return cache_.open(std::move(place));
  }
  void note_answer(std::chrono::nanoseconds took) { cache_.note_answer(took); }
  /// This version will probably be opened soon.
  void prefetch(const s3::ObjectInfo& object, std::uint64_t generation = 0);

 private:
  using Version = std::tuple<std::string, std::string, std::uint64_t>;  ///< with its generation
  struct SharedReader {
    std::shared_ptr<cache::ObjectReader> reader;
    std::size_t handles = 0;
    std::optional<cache::ObjectVersion> moved_to = {};
  };

  std::shared_ptr<cache::ObjectReader> share(const s3::ObjectInfo& object,
                                             std::uint64_t generation);

  cache::ReadCache& cache_;
  HandleTable& handles_;
  metrics::Gauge& open_files_;

  Mutex mutex_;  // leaf
  std::map<Version, SharedReader> readers_ GUARDED_BY(mutex_);
  std::map<Version, cache::ObjectVersion> moves_ GUARDED_BY(mutex_);  ///< that have not ended
  std::map<Version, cache::ObjectVersion> begun_ GUARDED_BY(mutex_);  ///< and may yet fail
};

}  // namespace s3rdmafs::vfs
