// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "journal/journal.h"
#include "journal/state_folder.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "vfs/renames/rename_log.h"

namespace s3rdmafs::vfs {

/// The renames of a mount, in a journal of its state folder. Thread-safe.
class RenameJournal final : public RenameLog {
 public:
  /// Borrows both. The renames that earlier mounts have left stay in it until ended(). Blocks.
  /// Errors: kSystem.
  [[nodiscard]] static Result<std::unique_ptr<RenameJournal>> open(
      const journal::StateFolder& folder, const Clock& clock);

  /// The renames that earlier mounts did not end, in the order in which they began; empty the
  /// second time. For finish_renames().
  [[nodiscard]] std::vector<BegunRename> take_unfinished() {
    return std::exchange(unfinished_, {});
  }

  [[nodiscard]] std::uint64_t next_id() override { return ++last_id_; }
  void begun(const BegunRename& rename, Done<void> done) override;
  void copied(std::uint64_t id, const std::string& etag) override;
  void ended(std::uint64_t id) override;

  /// Answers every begun() that waits for the disk, and later ones with kCancelled. To be called
  /// while those who began them live. Blocks.
  void finish() { journal_->finish(); }

 private:
  explicit RenameJournal(std::unique_ptr<journal::Journal> journal)
      : journal_(std::move(journal)) {}
  void note(const journal::Record& record);

  const std::unique_ptr<journal::Journal> journal_;
  std::vector<BegunRename> unfinished_;  ///< of the thread that opened it
  std::atomic<std::uint64_t> last_id_ = 0;
};

}  // namespace s3rdmafs::vfs
