// SPDX-License-Identifier: Apache-2.0
//
// The server says of an upload its key, its id and when it was begun, but not who began it. So an
// upload is taken for the killed mount's if all of this holds:
// - It is of exactly the key that the mount asked for.
// - It was begun between the mount's record and some seconds after its last life sign. Both are
//   times of this machine; the Date of the server's answer tells how far its clock is from ours.
// - It has no part: a mount sends none before it has recorded the id.
// - It is not this mount's own.
// Another client's upload of the same key meets all of this only if it was begun in those seconds
// and its first part is still on its way. It would fail then, and nothing would be stored wrong.
// If a condition cannot be judged, the upload stays: an entry in a list is better than that.
#include "upload/unanswered_uploads.h"

#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::upload {
namespace {

// Dates have whole seconds, at both ends.
constexpr std::chrono::seconds kDateError{2};

}  // namespace

UnansweredUploads::UnansweredUploads(s3::ObjectWriter& writer, const Clock& clock,
                                     std::chrono::milliseconds attempt_timeout,
                                     journal::UploadJournal& journal,
                                     std::shared_ptr<AbandonedUploads> abandoned)
    : writer_(writer),
      clock_(clock),
      attempt_timeout_(attempt_timeout),
      journal_(journal),
      abandoned_(std::move(abandoned)) {}

void UnansweredUploads::look_for_left() {
  for (const Asked& asked : journal_.left_unanswered()) look_for(asked);
}

void UnansweredUploads::look_for(Asked asked) {
  {
    const MutexLock lock(mutex_);
    ++in_flight_;
  }
  const std::string key = asked.key;
  writer_.list_uploads(
      key, clock_.now() + attempt_timeout_,
      [self = shared_from_this(), asked = std::move(asked)](Result<s3::OpenUploads> found) mutable {
        if (!found) return self->on_failed(std::move(asked), found.error());
        self->on_listed(std::move(asked), *found);
      });
}

void UnansweredUploads::on_listed(Asked asked, const s3::OpenUploads& found) {
  auto search = std::make_shared<Search>(Search{.asked = std::move(asked), .candidates = {}});
  if (found.server_time) {
    const auto ahead = *found.server_time - clock_.wall_now();
    const auto first = search->asked.from + ahead - kDateError;
    const auto last = search->asked.until + ahead + kDateError;
    for (const s3::OpenUpload& upload : found.uploads) {
      if (upload.initiated >= first && upload.initiated <= last) {
        search->candidates.push_back(upload);
      }
    }
  }
  check_next(std::move(search));
}

void UnansweredUploads::check_next(std::shared_ptr<Search> search) {
  if (search->candidates.empty()) return settled(search->asked.number);
  const std::string key = search->asked.key;
  const std::string id = search->candidates.back().id;
  writer_.has_parts(key, id, clock_.now() + attempt_timeout_,
                    [self = shared_from_this(), search = std::move(search)](
                        Result<bool> has) mutable { self->on_parts(std::move(search), has); });
}

void UnansweredUploads::on_parts(std::shared_ptr<Search> search, const Result<bool>& has_parts) {
  const std::string& key = search->asked.key;
  const std::string id = search->candidates.back().id;
  const bool is_gone = !has_parts && has_parts.error().code == ErrorCode::kNotFound;
  if (!has_parts && !is_gone) return on_failed(std::move(search->asked), has_parts.error());
  // Its own ones are told last: the server's answers above are older than what is known now.
  if (has_parts && !*has_parts && !journal_.knows(id)) {
    if (journal_.is_asking(key)) return look_later(std::move(search->asked));
    log::info("upload: a killed mount left an upload of '{}' that it did not know; aborting it",
              key);
    abandoned_->add(key, id);
  }
  search->candidates.pop_back();
  check_next(std::move(search));
}

void UnansweredUploads::on_failed(Asked asked, const Error& error) {
  const bool may_pass = is_retryable(error.code) || error.code == ErrorCode::kTimedOut ||
                        error.code == ErrorCode::kCancelled;
  if (may_pass) return look_later(std::move(asked));
  log::warn(
      "upload: uploads of '{}' cannot be listed: {}; one that a killed mount began may be left, "
      "without parts",
      asked.key, error.detail);
  settled(asked.number);
}

void UnansweredUploads::settled(std::uint64_t number) {
  journal_.answered(number);
  leave();
}

void UnansweredUploads::look_later(Asked asked) {
  {
    const MutexLock lock(mutex_);
    due_.push_back(std::move(asked));
  }
  leave();
}

void UnansweredUploads::leave() {
  const MutexLock lock(mutex_);
  if (--in_flight_ == 0) idle_.notify_all();
}

void UnansweredUploads::on_tick() {
  Asked asked;
  {
    const MutexLock lock(mutex_);
    // One at a time: while the server is dead, each is a request that times out.
    if (in_flight_ > 0 || due_.empty()) return;
    asked = std::move(due_.front());
    due_.pop_front();
  }
  look_for(std::move(asked));
}

void UnansweredUploads::end(Deadline deadline) {
  const MutexLock lock(mutex_);
  while (in_flight_ > 0 && idle_.wait_until(mutex_, deadline)) {
  }
}

}  // namespace s3rdmafs::upload
