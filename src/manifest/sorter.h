// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "manifest/entry.h"
#include "manifest/manifest.h"
#include "manifest/writer.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::manifest {

/// Brings entries into the order of their keys, in bounded memory: what exceeds it waits in files
/// without names. Of several entries of one key the newest stays. Thread-safe.
class Sorter {
 public:
  /// 2.5 million entries with keys of 40 bytes.
  static constexpr std::uint64_t kMemoryBytes = 512 * kMiB;
  /// Files that are merged at a time; each takes a descriptor and 1 MiB.
  static constexpr std::size_t kRunsMax = 64;

  /// @param folder  of the disk for what does not fit in memory
  explicit Sorter(std::string folder, std::uint64_t memory_bytes = kMemoryBytes);

  /// May wait for the disk. Errors: kInvalidArgument (check_entry), kSystem.
  [[nodiscard]] Result<void> add(Entry entry) EXCLUDES(mutex_);
  /// Hands over all entries in order. Once, after the last add(). Errors: kSystem, kCorrupt.
  [[nodiscard]] Result<void> write_to(Writer& writer) EXCLUDES(mutex_);

 private:
  void sort() REQUIRES(mutex_);
  [[nodiscard]] Result<void> spill() REQUIRES(mutex_);
  [[nodiscard]] Result<void> merge(Writer& into) REQUIRES(mutex_);
  [[nodiscard]] Result<void> keep_run(Writer& written) REQUIRES(mutex_);

  const std::string folder_;
  const std::uint64_t memory_bytes_;

  Mutex mutex_;  // leaf: held for file I/O, so that producers wait for the disk
  std::vector<Entry> entries_ GUARDED_BY(mutex_);
  std::uint64_t bytes_ GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<Manifest>> runs_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::manifest
