// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "cache/read_cache.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/files/handle_table.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

/// The files that are open. All handles of one version share one reader, so that they share its
/// streams; it goes with the last of them. Thread-safe.
class OpenFiles {
 public:
  struct File {
    Ino ino = 0;
    s3::ObjectInfo object;
    std::uint64_t generation = 0;
    std::shared_ptr<cache::ObjectReader> reader;
  };

  /// Borrows both.
  OpenFiles(cache::ReadCache& cache, metrics::Registry& metrics);

  std::uint64_t open(Ino ino, const s3::ObjectInfo& object, std::uint64_t generation = 0);
  /// Null for a handle that is not open.
  [[nodiscard]] std::shared_ptr<const File> find(std::uint64_t handle) const;
  void release(std::uint64_t handle);
  /// This version will probably be opened soon.
  void prefetch(const s3::ObjectInfo& object, std::uint64_t generation = 0);

 private:
  using Version = std::tuple<std::string, std::string, std::uint64_t>;  ///< with its generation
  struct SharedReader {
    std::shared_ptr<cache::ObjectReader> reader;
    std::size_t handles = 0;
  };

  std::shared_ptr<cache::ObjectReader> share(const s3::ObjectInfo& object,
                                             std::uint64_t generation);

  cache::ReadCache& cache_;
  metrics::Gauge& open_files_;
  HandleTable<File> files_;

  Mutex mutex_;  // leaf
  std::map<Version, SharedReader> readers_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::vfs
