// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "journal/journal.h"
#include "journal/state_folder.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::journal {

/// The multipart uploads that a mount has begun and not yet ended, so that the next mount can abort
/// those that a killed one left: servers list uploads by exact key at best. Records outlive the
/// process, not a power failure. Thread-safe; calls write to a local file and wait for no disk, so
/// every thread may make them, without a lock of another layer.
class UploadJournal {
 public:
  struct Upload {
    std::string key;
    std::string id;
  };

  /// Borrows both. Errors: kSystem.
  [[nodiscard]] static Result<std::unique_ptr<UploadJournal>> open(const StateFolder& folder,
                                                                   const Clock& clock);

  /// The uploads of earlier mounts that never ended. Each stays in the journal until ended().
  [[nodiscard]] const std::vector<Upload>& left() const noexcept { return left_; }

  /// An error of the journal is logged once: the upload goes on.
  void begun(const std::string& key, const std::string& id);
  /// It was completed or aborted.
  void ended(const std::string& id);

 private:
  explicit UploadJournal(std::unique_ptr<Journal> journal) : journal_(std::move(journal)) {}
  void append(const Record& record) REQUIRES(mutex_);
  void compact() REQUIRES(mutex_);

  const std::unique_ptr<Journal> journal_;
  std::vector<Upload> left_;

  Mutex mutex_;  // before the journal's own: the order of records is the order of the map's changes
  std::map<std::string, std::string> open_ GUARDED_BY(mutex_);  ///< id -> key
  bool has_complained_ GUARDED_BY(mutex_) = false;
};

}  // namespace s3rdmafs::journal
