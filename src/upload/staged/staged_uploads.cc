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
#include "upload/early/patience.h"
#include "upload/staged/staged_attempt.h"

namespace s3rdmafs::upload {
StagedUploads::StagedUploads(const Uploader::Context& context)
    : context_(context),
      threads_{WorkerThread("upload-read-0", context.clock, [this] { postponed_.run(); }),
               WorkerThread("upload-read-1", context.clock, [] {})} {}

// All have ended before the first is destroyed: a job of one posts to another.
StagedUploads::~StagedUploads() {
  for (WorkerThread& thread : threads_) thread.finish();
}

void StagedUploads::shut_down() {
  postponed_.end();
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
                                       postponed_,
                                       EarlyUpload::Start{.key = std::move(object.key),
                                                          .metadata = std::move(object.metadata),
                                                          .sizes = sizes,
                                                          .run = object.run});
}

// A store that an early upload may have parts of.
struct StagedUploads::EarlyStore {
  std::shared_ptr<StagedObject> object;
  std::shared_ptr<StagedSource> source;
  Done<std::string> done;
  Patience patience;
  std::optional<EarlyUpload::Sent> sent = {};  ///< nothing: it was given to an attempt
};

void StagedUploads::store_early(std::shared_ptr<StagedObject> object,
                                std::shared_ptr<StagedSource> source, Done<std::string> done) {
  const std::shared_ptr<EarlyUpload> early = std::exchange(object->early, nullptr);
  const bool is_of_it = early->key() == object->key && early->metadata() == object->metadata &&
                        object->size_bytes > context_.part_sizes.first_bytes;
  auto store = std::make_shared<EarlyStore>(std::move(object), std::move(source), std::move(done),
                                            Patience(context_.request_timeout));
  early->end([this, store, is_of_it](EarlyUpload::Sent sent) {
    const bool has_any = !sent.parts.empty();
    store->sent = std::move(sent);
    if (store->object->needs_early || (is_of_it && has_any)) return complete_early(store);
    abandon(*store);
    attempt(store->object, store->source, std::move(store->done));
  });
}

void StagedUploads::complete_early(const std::shared_ptr<EarlyStore>& store) {
  if (store->sent->key != store->object->key) {
    return end_early_in_vain(*store, {ErrorCode::kUnsupported,
                                      "its folder was renamed while parts of it were sent to '" +
                                          store->sent->key + "'"});
  }
  WorkerThread& thread = threads_[next_thread_++ % threads_.size()];
  StagedAttempt::start(
      {.uploads = context_, .thread = thread, .begun = std::exchange(store->sent, std::nullopt)},
      store->object, store->source, [this, store](StagedAttempt::Outcome outcome) {
        if (outcome.etag) return store->done(std::move(outcome.etag));
        store->sent = std::move(outcome.begun);
        on_early_failed(store, std::move(outcome.etag.error()));
      });
}

void StagedUploads::on_early_failed(const std::shared_ptr<EarlyStore>& store, Error error) {
  if (store->object->needs_early) {
    if (!store->patience.lasts(error.code, context_.clock.now())) {
      return end_early_in_vain(*store, std::move(error));
    }
    log::warn(
        "upload: '{}' is not stored yet: {}; it is tried again, as the server has the only copy of "
        "parts of it",
        store->object->key, error.detail);
    return postponed_.add([this, store, error = std::move(error)](bool is_over) mutable {
      if (!is_over) return complete_early(store);
      end_early_in_vain(*store, std::move(error));
    });
  }
  // The server may have ended an upload that was old (AbortIncompleteMultipartUpload), or have
  // mistaken a part that arrived late for the one that took its number. A plan of its own may need
  // fewer parts.
  const bool helps_another = error.code == ErrorCode::kNotFound ||
                             error.code == ErrorCode::kInvalidArgument ||
                             error.code == ErrorCode::kTooLarge;
  if (helps_another) return attempt(store->object, store->source, std::move(store->done));
  store->done(failed(*store->object, std::move(error)));
}

void StagedUploads::end_early_in_vain(EarlyStore& store, Error error) {
  abandon(store);
  store.done(failed(*store.object, std::move(error)));
}

void StagedUploads::abandon(EarlyStore& store) {
  const auto sent = std::exchange(store.sent, std::nullopt);
  if (sent && !sent->upload_id.empty()) context_.abandoned.add(sent->key, sent->upload_id);
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
      log::warn("upload: the server has no UploadPartCopy; changed files are sent whole");
    }
    return true;
  }
  if (!lacks_object_copies_.exchange(true)) {
    log::warn(
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
