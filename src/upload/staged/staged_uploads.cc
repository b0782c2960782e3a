// SPDX-License-Identifier: Apache-2.0
// What stands around an attempt to store: the threads that read, and a second attempt.
//
// Some servers lack what an attempt asks for. One without UploadPartCopy gets all bytes; that is
// remembered for the mount, with one warning. Conditions are the writer's concern (s3/): nothing is
// ever stored without its own.
//
// Locks. None here.
#include "upload/staged/staged_uploads.h"

#include <chrono>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "upload/staged/staged_attempt.h"

namespace s3rdmafs::upload {
StagedUploads::StagedUploads(const Uploader::Context& context)
    : context_(context),
      threads_{WorkerThread("upload-read-0", context.clock, [] {}),
               WorkerThread("upload-read-1", context.clock, [] {})} {}

StagedUploads::~StagedUploads() = default;

void StagedUploads::shut_down() {
  for (WorkerThread& thread : threads_) thread.finish();
}

void StagedUploads::store(StagedObject object, std::shared_ptr<StagedSource> source,
                          Done<std::string> done) {
  attempt(std::make_shared<const StagedObject>(std::move(object)), std::move(source),
          std::move(done));
}

void StagedUploads::attempt(std::shared_ptr<const StagedObject> object,
                            std::shared_ptr<StagedSource> source, Done<std::string> done) {
  const bool copies = !lacks_copies_ && object->base.has_value();
  WorkerThread& thread = threads_[next_thread_++ % threads_.size()];
  StagedAttempt::start({.uploads = context_, .thread = thread, .copies = copies}, object, source,
                       [this, object, source, copies,
                        done = std::move(done)](StagedAttempt::Outcome outcome) mutable {
                         if (outcome.etag) return done(std::move(outcome.etag));
                         if (copies && outcome.copy_was_refused) {
                           if (!lacks_copies_.exchange(true)) {
                             spdlog::warn(
                                 "upload: the server has no UploadPartCopy or CopyObject; changed "
                                 "files are sent whole");
                           }
                           return attempt(std::move(object), std::move(source), std::move(done));
                         }
                         done(failed(*object, std::move(outcome.etag.error())));
                       });
}

std::unexpected<Error> StagedUploads::failed(const StagedObject& object, Error error) {
  const bool is_conflict = error.code == ErrorCode::kStale || error.code == ErrorCode::kExists;
  if (!is_conflict) return std::unexpected(std::move(error));
  return fail(ErrorCode::kStale,
              "'" + object.key + "' was changed by another client: " + error.detail);
}

}  // namespace s3rdmafs::upload
