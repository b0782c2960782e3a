// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "journal/state_folder.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"
#include "upload/staged/staging_file.h"

struct stat;

namespace s3rdmafs::upload {

/// Whether the kernel may write files of this open folder: it is a tmpfs that can take no more.
[[nodiscard]] bool is_bounded_tmpfs(int folder, std::uint64_t size_bytes);
/// The room that a local file takes.
[[nodiscard]] std::uint64_t allocated_bytes(const struct stat& status);

/// A staging file that an earlier mount left: it was killed, or could not store the file.
struct Leftover {
  std::string name;  ///< within the area; for StagingArea::open()
  StagedState state;
  std::chrono::system_clock::time_point modified;  ///< of the last write
};

/// A staging file that cannot be read. It is left as it is.
struct DamagedFile {
  std::string path;  ///< of the folder and the name, without the suffix
  std::string why;
};

/// The folder of all staging files of a mount, and the bytes that they may take together. Holds the
/// folder, so that neither a second mount nor `s3rdmafs recover` uses it too. Must live longer than
/// its files. Thread-safe; threads as StagingFile.
class StagingArea {
 public:
  struct Options {
    std::string path;              ///< write.staging_dir, resolved (journal/mount_folders.h)
    std::uint64_t size_bytes = 0;  ///< write.staging_size: of all files, leftovers included
    bool (*bounds_itself)(int folder, std::uint64_t size_bytes) = is_bounded_tmpfs;
  };

  /// Makes or takes the folder, and reads what earlier mounts left there. Files without changes,
  /// and halves of files, are removed. Borrows clock and metrics. Blocks.
  /// Errors: as journal::StateFolder::take, with "write.staging_dir" as the setting.
  [[nodiscard]] static Result<std::unique_ptr<StagingArea>> take(const Options& options,
                                                                 const Clock& clock,
                                                                 metrics::Registry& metrics);
  ~StagingArea();

  /// A new staging file. With a base its size is the base's, and no byte is changed. Errors:
  /// kNoSpace, kSystem.
  [[nodiscard]] Result<std::unique_ptr<StagingFile>> create(StagedIdentity identity) {
    return make(std::move(identity), /*is_whole=*/false);
  }
  /// A new whole staging file, which the kernel may write; it has no base. Errors: as create().
  [[nodiscard]] Result<std::unique_ptr<StagingFile>> create_whole(StagedIdentity identity) {
    return make(std::move(identity), /*is_whole=*/true);
  }
  /// One that was left, to be sent or removed; it stays charged as it was found. Errors: kSystem,
  /// kCorrupt.
  [[nodiscard]] Result<std::unique_ptr<StagingFile>> open(const Leftover& leftover);

  /// Found at take(), oldest first. Thread-bound: the mount's main thread.
  [[nodiscard]] const std::vector<Leftover>& leftovers() const noexcept { return leftovers_; }
  /// Found at take(). Threads as leftovers().
  [[nodiscard]] const std::vector<DamagedFile>& damaged() const noexcept { return damaged_; }
  [[nodiscard]] const std::string& path() const noexcept { return folder_.path(); }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  [[nodiscard]] std::uint64_t used_bytes() const;
  /// Whether the kernel may write files of the folder without asking. As at take().
  [[nodiscard]] bool bounds_itself() const noexcept { return bounds_itself_; }

 private:
  friend class StagingFile;
  StagingArea(journal::StateFolder folder, const Options& options, metrics::Registry& metrics);
  [[nodiscard]] Result<std::unique_ptr<StagingFile>> make(StagedIdentity identity, bool is_whole);
  void find_leftovers(const std::vector<std::string>& names);
  void find_leftover(const std::string& name);
  void remove_file(const std::string& name) const;

  /// Errors: kNoSpace.
  [[nodiscard]] Result<void> charge(std::uint64_t bytes);
  void discharge(std::uint64_t bytes);
  /// A file takes so much now, whether or not there is room for it.
  void recharge(std::uint64_t before_bytes, std::uint64_t now_bytes);

  const journal::StateFolder folder_;
  const std::uint64_t size_bytes_;
  const bool bounds_itself_;
  metrics::Gauge& used_gauge_;
  std::vector<Leftover> leftovers_;
  std::vector<DamagedFile> damaged_;

  mutable Mutex mutex_;  // leaf
  std::uint64_t used_bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t next_number_ GUARDED_BY(mutex_) = 1;
};

}  // namespace s3rdmafs::upload
