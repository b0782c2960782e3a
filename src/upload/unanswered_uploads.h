// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "journal/upload_journal.h"
#include "s3/object_writer.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "upload/abandoned_uploads.h"

namespace s3rdmafs::upload {

/// Looks for the uploads that a killed mount asked for and heard no answer to, and has them
/// aborted. The server alone knows their ids. Thread-safe.
class UnansweredUploads : public std::enable_shared_from_this<UnansweredUploads> {
 public:
  /// Borrows writer, clock and journal.
  /// @param attempt_timeout  how long one request may take, with its retries
  UnansweredUploads(s3::ObjectWriter& writer, const Clock& clock,
                    std::chrono::milliseconds attempt_timeout, journal::UploadJournal& journal,
                    std::shared_ptr<AbandonedUploads> abandoned);

  /// Looks for all that the journal names, now or later.
  void look_for_left();
  /// Looks again for one that could not be looked for; to be called about once a second.
  void on_tick();
  /// The mount ends: waits until `deadline` for requests under way. The rest stays in the
  /// journal. Blocks.
  void end(Deadline deadline);

 private:
  using Asked = journal::UploadJournal::Asked;
  struct Search {
    Asked asked;
    std::vector<s3::OpenUpload> candidates;  ///< that may be meant; the last one is next
  };

  void look_for(Asked asked);
  void on_listed(Asked asked, const s3::OpenUploads& found);
  void check_next(std::shared_ptr<Search> search);
  void on_parts(std::shared_ptr<Search> search, const Result<bool>& has_parts);
  void on_failed(Asked asked, const Error& error);
  void settled(std::uint64_t number);
  void leave() EXCLUDES(mutex_);
  void look_later(Asked asked) EXCLUDES(mutex_);

  s3::ObjectWriter& writer_;
  const Clock& clock_;
  const std::chrono::milliseconds attempt_timeout_;
  journal::UploadJournal& journal_;
  const std::shared_ptr<AbandonedUploads> abandoned_;

  Mutex mutex_;  // leaf
  CondVar idle_;
  std::deque<Asked> due_ GUARDED_BY(mutex_);  ///< to be looked for again
  std::size_t in_flight_ GUARDED_BY(mutex_) = 0;
};

}  // namespace s3rdmafs::upload
