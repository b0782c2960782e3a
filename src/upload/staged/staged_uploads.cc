// SPDX-License-Identifier: Apache-2.0
// What stands around an attempt to store: the threads that read, and what is asked a second time.
//
// Some servers lack what an attempt asks for. One without UploadPartCopy gets all bytes; that is
// remembered for the mount, with one warning. One that refuses a condition is asked for the version
// of the key just before, and then stores without the condition: it offers no stronger promise.
//
// Locks. None here.
#include "upload/staged/staged_uploads.h"

#include <chrono>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "upload/staged/staged_attempt.h"

namespace s3rdmafs::upload {
namespace {

bool refuses_condition(const Error& error) {
  return error.code == ErrorCode::kUnsupported || error.code == ErrorCode::kInvalidArgument;
}

}  // namespace

StagedUploads::StagedUploads(const Uploader::Context& context, s3::ObjectStore& store)
    : context_(context),
      store_(store),
      threads_{WorkerThread("upload-read-0", context.clock, [] {}),
               WorkerThread("upload-read-1", context.clock, [] {})} {}

StagedUploads::~StagedUploads() = default;

void StagedUploads::store(StagedObject object, std::shared_ptr<StagedSource> source,
                          Done<std::string> done) {
  attempt(std::make_shared<const StagedObject>(std::move(object)), std::move(source),
          std::move(done));
}

void StagedUploads::attempt(std::shared_ptr<const StagedObject> object,
                            std::shared_ptr<StagedSource> source, Done<std::string> done) {
  const bool copies = !lacks_copies_ && object->base.has_value();
  WorkerThread& thread = threads_[next_thread_++ % threads_.size()];
  StagedAttempt::start(
      {.uploads = context_, .thread = thread, .copies = copies}, object, source,
      [this, object, source, copies,
       done = std::move(done)](StagedAttempt::Outcome outcome) mutable {
        if (outcome.etag) return done(std::move(outcome.etag));
        if (copies && outcome.copy_was_refused) {
          if (!lacks_copies_.exchange(true)) {
            spdlog::warn("upload: the server has no UploadPartCopy; changed files are sent whole");
          }
          return attempt(std::move(object), std::move(source), std::move(done));
        }
        on_failed(std::move(object), std::move(source), std::move(outcome.etag.error()),
                  std::move(done));
      });
}

void StagedUploads::on_failed(std::shared_ptr<const StagedObject> object,
                              std::shared_ptr<StagedSource> source, Error error,
                              Done<std::string> done) {
  const bool is_conflict = error.code == ErrorCode::kStale || error.code == ErrorCode::kExists;
  if (is_conflict) {
    return done(fail(ErrorCode::kStale,
                     "'" + object->key + "' was changed by another client: " + error.detail));
  }
  const bool has_condition = object->when.kind != s3::Precondition::Kind::kNone;
  if (!has_condition || !refuses_condition(error)) {
    return done(std::unexpected(std::move(error)));
  }
  store_after_head(std::move(object), std::move(source), std::move(done));
}

void StagedUploads::store_after_head(std::shared_ptr<const StagedObject> object,
                                     std::shared_ptr<StagedSource> source, Done<std::string> done) {
  store_.head(object->key, context_.clock.now() + context_.request_timeout,
              [this, object, source = std::move(source),
               done = std::move(done)](const Result<s3::ObjectInfo>& there) mutable {
                const bool is_absent = !there && there.error().code == ErrorCode::kNotFound;
                if (!there && !is_absent) return done(std::unexpected(there.error()));
                const s3::Precondition& when = object->when;
                const bool holds = when.kind == s3::Precondition::Kind::kAbsent
                                       ? is_absent
                                       : there && there->etag == when.etag;
                if (!holds) {
                  return done(fail(ErrorCode::kStale,
                                   "'" + object->key + "' was changed by another client"));
                }
                StagedObject unconditional = *object;
                unconditional.when = s3::Precondition::none();
                attempt(std::make_shared<const StagedObject>(std::move(unconditional)),
                        std::move(source), std::move(done));
              });
}

}  // namespace s3rdmafs::upload
