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
#include "upload/early/early_upload.h"
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
  if (stored->early) return store_early(std::move(stored), std::move(source), std::move(done));
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

std::shared_ptr<EarlyUpload> StagedUploads::begin_early(EarlyObject object) {
  PartSizes sizes = context_.part_sizes;
  while (sizes.max_bytes > object.part_bytes_max && sizes.max_bytes > sizes.first_bytes) {
    sizes.max_bytes /= 2;
  }
  WorkerThread& thread = threads_[next_thread_++ % threads_.size()];
  return std::make_shared<EarlyUpload>(PartReader{.uploads = context_, .thread = thread},
                                       EarlyUpload::Start{.key = std::move(object.key),
                                                          .metadata = std::move(object.metadata),
                                                          .sizes = sizes,
                                                          .run = object.run});
}

void StagedUploads::store_early(std::shared_ptr<StagedObject> object,
                                std::shared_ptr<StagedSource> source, Done<std::string> done) {
  const std::shared_ptr<EarlyUpload> early = std::exchange(object->early, nullptr);
  const bool is_of_it = early->key() == object->key && early->metadata() == object->metadata &&
                        object->size_bytes > context_.part_sizes.first_bytes;
  early->end([this, object = std::move(object), source = std::move(source), is_of_it,
              done = std::move(done)](EarlyUpload::Sent sent) mutable {
    const bool has_any = !sent.parts.empty();
    if (object->needs_early || (is_of_it && has_any)) {
      WorkerThread& thread = threads_[next_thread_++ % threads_.size()];
      return StagedAttempt::start(
          {.uploads = context_, .thread = thread, .begun = std::move(sent)}, object, source,
          [this, object, source, done = std::move(done)](StagedAttempt::Outcome outcome) mutable {
            if (outcome.etag) return done(std::move(outcome.etag));
            // The server may end uploads that are old (AbortIncompleteMultipartUpload).
            const bool is_gone = outcome.etag.error().code == ErrorCode::kNotFound;
            if (is_gone && !object->needs_early) return attempt(object, source, std::move(done));
            done(failed(*object, std::move(outcome.etag.error())));
          });
    }
    if (!sent.upload_id.empty()) context_.abandoned.add(object->key, std::move(sent.upload_id));
    attempt(std::move(object), std::move(source), std::move(done));
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
