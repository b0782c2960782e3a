// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "journal/journal.h"
#include "journal/state_folder.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::journal {

/// The multipart uploads that a mount has begun and not yet ended, so that the next mount can abort
/// those that a killed one left: servers list uploads by exact key at best. An upload is recorded
/// twice: when it is asked for, by its key, and when the server has answered, by its id. Records
/// outlive the process, not a power failure. Thread-safe; calls write to a local file and wait for
/// no disk, so every thread may make them, without a lock of another layer.
class UploadJournal {
 public:
  struct Upload {
    std::string key;
    std::string id;
  };

  /// An upload that an earlier mount asked for. It was killed before the server's answer, so the
  /// server has begun such an upload, or several, or none.
  struct Asked {
    std::uint64_t number = 0;
    std::string key;
    /// When the server can have begun it, by this machine's clock: from the record on until some
    /// seconds after the mount's last life sign.
    std::chrono::system_clock::time_point from, until;
  };

  /// Borrows both. Errors: kSystem.
  [[nodiscard]] static Result<std::unique_ptr<UploadJournal>> open(const StateFolder& folder,
                                                                   const Clock& clock);

  /// The uploads of earlier mounts that never ended. Each stays in the journal until ended().
  [[nodiscard]] const std::vector<Upload>& left() const noexcept { return left_; }
  /// The uploads that earlier mounts asked for, without an answer. Each stays until answered().
  [[nodiscard]] const std::vector<Asked>& left_unanswered() const noexcept {
    return left_unanswered_;
  }

  // An error of the journal is logged once: the upload goes on.

  /// To be called before an upload is asked for. @return its number
  [[nodiscard]] std::uint64_t asked(const std::string& key);
  /// The request has ended: begun() was called for its upload, or there is none to remember.
  void answered(std::uint64_t number);
  /// A life sign, if a request waits for its answer; to be called about once a second.
  void on_tick();
  void begun(const std::string& key, const std::string& id);
  /// It was completed or aborted.
  void ended(const std::string& id);

  /// Whether the upload has begun and not ended, as far as the journal knows.
  [[nodiscard]] bool knows(const std::string& id) const;
  /// Whether this mount waits for the answer to an upload of this key.
  [[nodiscard]] bool is_asking(const std::string& key) const;

 private:
  /// `until` is set where an earlier mount asked.
  struct Question {
    std::string key;
    std::int64_t from_ms = 0;
    std::optional<std::int64_t> until_ms = {};
  };

  UploadJournal(std::unique_ptr<Journal> journal, const Clock& clock)
      : journal_(std::move(journal)), clock_(clock) {}
  /// @param last_sign_ms  the latest time in the records so far
  void take(const Record& record, std::int64_t& last_sign_ms) REQUIRES(mutex_);
  [[nodiscard]] static Record record_of(std::uint64_t number, const Question& question);
  [[nodiscard]] std::int64_t now_ms() const;
  void append(const Record& record) REQUIRES(mutex_);
  void compact() REQUIRES(mutex_);

  const std::unique_ptr<Journal> journal_;
  const Clock& clock_;
  std::vector<Upload> left_;
  std::vector<Asked> left_unanswered_;

  mutable Mutex
      mutex_;  // before the journal's own: the order of records is the order of the map's changes
  std::map<std::string, std::string> open_ GUARDED_BY(mutex_);  ///< id -> key
  std::map<std::uint64_t, Question> asked_ GUARDED_BY(mutex_);  ///< by number
  std::uint64_t next_number_ GUARDED_BY(mutex_) = 1;
  bool has_complained_ GUARDED_BY(mutex_) = false;
};

}  // namespace s3rdmafs::journal
