// SPDX-License-Identifier: Apache-2.0
// What stands around an attempt to store: the threads that read, and a second attempt.
//
// Some servers lack what an attempt asks for. One without UploadPartCopy gets all bytes; one
// without CopyObject gets those of an object of one part, and of a larger one no new metadata,
// which would cost all its bytes. Both are remembered for the mount, with one warning each.
// Conditions are the writer's concern (s3/): nothing is ever stored without its own.
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
  auto stored = std::make_shared<StagedObject>(std::move(object));
  if (!may_have_parts(*stored)) return attempt(stored, std::move(source), std::move(done));
  WorkerThread& thread = threads_[next_thread_++ % threads_.size()];
  find_changes(stored->changed, *stored->parts, source, thread,
               context_.clock.now() + context_.request_timeout,
               [this, stored, source, done = std::move(done)](Result<ByteRanges> changed) mutable {
                 // None: a store all the same, so that the version has its time.
                 if (changed && !changed->empty()) stored->changed = std::move(*changed);
                 attempt(std::move(stored), std::move(source), std::move(done));
               });
}

bool StagedUploads::may_have_parts(const StagedObject& object) const {
  return object.parts && object.base && !object.changed.empty() && !lacks_part_copies_ &&
         object.size_bytes > context_.part_sizes.first_bytes;
}

void StagedUploads::attempt(std::shared_ptr<const StagedObject> object,
                            std::shared_ptr<StagedSource> source, Done<std::string> done) {
  const bool is_whole = object->has_bytes_of_base();
  if (is_whole && lacks_object_copies_ && !may_go_without_copy(*object)) {
    return done(fail(ErrorCode::kUnsupported,
                     "'" + object->key + "': the server copies no objects (CopyObject)"));
  }
  const bool copies =
      object->base.has_value() && !(is_whole ? lacks_object_copies_ : lacks_part_copies_);
  WorkerThread& thread = threads_[next_thread_++ % threads_.size()];
  StagedAttempt::start({.uploads = context_, .thread = thread, .copies = copies}, object, source,
                       [this, object, source, copies,
                        done = std::move(done)](StagedAttempt::Outcome outcome) mutable {
                         if (outcome.etag) return done(std::move(outcome.etag));
                         if (copies && outcome.copy_was_refused && may_go_without_copy(*object)) {
                           return attempt(std::move(object), std::move(source), std::move(done));
                         }
                         done(failed(*object, std::move(outcome.etag.error())));
                       });
}

bool StagedUploads::may_go_without_copy(const StagedObject& object) {
  if (!object.has_bytes_of_base()) {
    if (!lacks_part_copies_.exchange(true)) {
      spdlog::warn("upload: the server has no UploadPartCopy; changed files are sent whole");
    }
    return true;
  }
  if (!lacks_object_copies_.exchange(true)) {
    spdlog::warn(
        "upload: the server has no CopyObject; small files are sent again when their attributes "
        "change, and large ones keep theirs");
  }
  return object.size_bytes <= context_.part_sizes.first_bytes;
}

std::unexpected<Error> StagedUploads::failed(const StagedObject& object, Error error) {
  const bool is_conflict = error.code == ErrorCode::kStale || error.code == ErrorCode::kExists;
  if (!is_conflict) return std::unexpected(std::move(error));
  return fail(ErrorCode::kStale,
              "'" + object.key + "' was changed by another client: " + error.detail);
}

}  // namespace s3rdmafs::upload
