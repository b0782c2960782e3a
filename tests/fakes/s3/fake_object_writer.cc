// SPDX-License-Identifier: Apache-2.0
// The writing half of FakeObjectStore: objects become visible whole or not at all.
#include <utility>

#include "fakes/s3/fake_object_store.h"
#include "s3rdmafs/base/checksum.h"

namespace s3rdmafs::fakes {
namespace {

using Failure = std::optional<s3::GetFailure>;

/// The bytes that a server reads from the window, if they match the client's checksum.
Result<std::string> read_body(const s3::PutBody& body) {
  if (body.window.length == 0) return std::string();
  const auto bytes = body.window.bytes();
  if (crc64nvme(0, bytes) != body.crc64nvme) {
    return fail(ErrorCode::kCorrupt, "the bytes do not have the checksum given");
  }
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::unexpected<Error> no_such_upload(const std::string& id) {
  return fail(ErrorCode::kNotFound, "no upload '" + id + "'");
}

}  // namespace

void FakeObjectStore::put(std::string key, s3::PutBody body, s3::PutOptions options, Deadline,
                          s3::PutDone done) {
  Call call{.operation = Operation::kPut, .key = key, .token = {}, .window = body.window};
  arrive(std::move(call), [this, key = std::move(key), body, options = std::move(options),
                           done = std::move(done)](Failure failure) mutable {
    if (failure) {
      return done({.etag = std::unexpected(std::move(failure->error)),
                   .late_read_possible = failure->late_write_possible});
    }
    done(put_outcome(as_heard(answer_put(key, body, std::move(options)))));
  });
}

void FakeObjectStore::lose_answers_of_stores(bool are_lost) {
  const MutexLock lock(mutex_);
  loses_answers_ = are_lost;
}

void FakeObjectStore::ignore_conditions() {
  const MutexLock lock(mutex_);
  ignores_conditions_ = true;
}

Result<std::string> FakeObjectStore::as_heard(Result<std::string> stored) const {
  const MutexLock lock(mutex_);
  if (!stored || !loses_answers_) return stored;
  return fail(ErrorCode::kTimedOut, "the answer was lost");
}

void FakeObjectStore::create_upload(std::string key, s3::UserMetadata metadata, Deadline,
                                    Done<std::string> done) {
  Call call{.operation = Operation::kCreateUpload, .key = key, .token = {}, .window = {}};
  arrive(std::move(call), [this, key = std::move(key), metadata = std::move(metadata),
                           done = std::move(done)](Failure failure) mutable {
    if (failure) return done(std::unexpected(std::move(failure->error)));
    std::string id;
    {
      const MutexLock lock(mutex_);
      id = "upload-" + std::to_string(++versions_);
      uploads_[id].key = std::move(key);
      uploads_[id].metadata = std::move(metadata);
      uploads_[id].initiated = server_time();
    }
    done(std::move(id));
  });
}

void FakeObjectStore::upload_part(std::string key, std::string upload_id, unsigned number,
                                  s3::PutBody body, Deadline, s3::PutDone done) {
  Call call{.operation = Operation::kUploadPart,
            .key = std::move(key),
            .token = {},
            .window = body.window,
            .upload_id = std::move(upload_id),
            .part_number = number};
  Call copy = call;
  arrive(std::move(copy),
         [this, call = std::move(call), body, done = std::move(done)](Failure failure) mutable {
           if (failure) {
             return done({.etag = std::unexpected(std::move(failure->error)),
                          .late_read_possible = failure->late_write_possible});
           }
           done(put_outcome(answer_part(call, body)));
         });
}

void FakeObjectStore::complete_upload(std::string key, std::string upload_id,
                                      std::vector<s3::UploadedPart> parts, s3::Precondition when,
                                      Deadline, Done<std::string> done) {
  Call call{.operation = Operation::kCompleteUpload,
            .key = std::move(key),
            .token = {},
            .window = {},
            .upload_id = std::move(upload_id)};
  Call copy = call;
  arrive(std::move(copy),
         [this, call = std::move(call), parts = std::move(parts), when = std::move(when),
          done = std::move(done)](Failure failure) mutable {
           if (failure) return done(std::unexpected(std::move(failure->error)));
           done(as_heard(answer_complete(call, parts, when)));
         });
}

void FakeObjectStore::abort_upload(std::string key, std::string upload_id, Deadline,
                                   Done<void> done) {
  Call call{.operation = Operation::kAbortUpload,
            .key = std::move(key),
            .token = {},
            .window = {},
            .upload_id = upload_id};
  arrive(std::move(call),
         [this, upload_id = std::move(upload_id), done = std::move(done)](Failure failure) mutable {
           if (failure) return done(std::unexpected(std::move(failure->error)));
           {
             const MutexLock lock(mutex_);
             uploads_.erase(upload_id);
           }
           done({});
         });
}

// A server shows no fractions of a second.
std::chrono::system_clock::time_point FakeObjectStore::server_time() const {
  return std::chrono::floor<std::chrono::seconds>(clock_.wall_now() + ahead_);
}

void FakeObjectStore::list_uploads(std::string key, Deadline, Done<s3::OpenUploads> done) {
  Call call{.operation = Operation::kListUploads, .key = key, .token = {}, .window = {}};
  arrive(std::move(call),
         [this, key = std::move(key), done = std::move(done)](Failure failure) mutable {
           if (failure) return done(std::unexpected(std::move(failure->error)));
           done(answer_list_uploads(key));
         });
}

s3::OpenUploads FakeObjectStore::answer_list_uploads(const std::string& key) const {
  const MutexLock lock(mutex_);
  s3::OpenUploads found{.uploads = {}, .server_time = server_time()};
  for (const auto& [id, upload] : uploads_) {
    if (upload.key == key) found.uploads.push_back({.id = id, .initiated = upload.initiated});
  }
  return found;
}

void FakeObjectStore::has_parts(std::string key, std::string upload_id, Deadline, Done<bool> done) {
  Call call{.operation = Operation::kListParts,
            .key = std::move(key),
            .token = {},
            .window = {},
            .upload_id = upload_id};
  arrive(std::move(call),
         [this, upload_id = std::move(upload_id), done = std::move(done)](Failure failure) mutable {
           if (failure) return done(std::unexpected(std::move(failure->error)));
           std::optional<bool> has_parts;
           {
             const MutexLock lock(mutex_);
             const auto found = uploads_.find(upload_id);
             if (found != uploads_.end()) has_parts = !found->second.parts.empty();
           }
           if (!has_parts) return done(no_such_upload(upload_id));
           done(*has_parts);
         });
}

void FakeObjectStore::remove(std::string key, Deadline, Done<void> done) {
  Call call{.operation = Operation::kRemove, .key = key, .token = {}, .window = {}};
  arrive(std::move(call),
         [this, key = std::move(key), done = std::move(done)](Failure failure) mutable {
           if (failure) return done(std::unexpected(std::move(failure->error)));
           remove(key);
           done({});
         });
}

Result<std::string> FakeObjectStore::answer_put(const std::string& key, const s3::PutBody& body,
                                                s3::PutOptions options) {
  Result<std::string> bytes = read_body(body);
  if (!bytes) return bytes;
  const MutexLock lock(mutex_);
  if (auto holds = check(options.when, key); !holds) return std::unexpected(holds.error());
  return store_locked(key, std::move(*bytes), std::move(options.metadata),
                      std::move(options.headers));
}

Result<void> FakeObjectStore::check(const s3::Precondition& when, const std::string& key) const {
  if (ignores_conditions_) return {};
  const auto found = objects_.find(key);
  const bool is_there = found != objects_.end();
  if (when.kind == s3::Precondition::Kind::kAbsent && is_there) {
    return fail(ErrorCode::kExists, "'" + key + "' is there already");
  }
  if (when.kind == s3::Precondition::Kind::kMatches &&
      (!is_there || found->second.etag != when.etag)) {
    return fail(ErrorCode::kStale, "'" + key + "' has another version");
  }
  return {};
}

Result<FakeObjectStore::Object> FakeObjectStore::find_version(const s3::CopySource& source) const {
  const auto found = objects_.find(source.key);
  if (found == objects_.end() || found->second.etag != source.etag) {
    return fail(ErrorCode::kStale, "no version " + source.etag + " of '" + source.key + "'");
  }
  return found->second;
}

Result<std::string> FakeObjectStore::answer_copy(const s3::CopySource& source,
                                                 const std::string& key, s3::CopyOptions options) {
  const MutexLock lock(mutex_);
  Result<Object> object = find_version(source);
  if (!object) return std::unexpected(object.error());
  if (auto holds = check(options.when, key); !holds) return std::unexpected(holds.error());
  if (options.metadata) {
    object->metadata = std::move(*options.metadata);
    object->headers = std::move(options.headers);
  }
  const std::string source_etag = object->etag;
  std::string etag = store_locked(key, std::move(object->bytes), std::move(object->metadata),
                                  std::move(object->headers));
  if (keeps_etags_) etag = objects_[key].etag = source_etag;
  return etag;
}

Result<std::string> FakeObjectStore::answer_part_copy(const Call& call,
                                                      const s3::CopySource& source,
                                                      std::uint64_t length_bytes) {
  const MutexLock lock(mutex_);
  const Result<Object> object = find_version(source);
  if (!object) return std::unexpected(object.error());
  const auto found = uploads_.find(call.upload_id);
  if (found == uploads_.end() || found->second.key != call.key) {
    return no_such_upload(call.upload_id);
  }
  if (length_bytes == 0 || call.offset_bytes + length_bytes > object->bytes.size()) {
    return fail(ErrorCode::kInvalidArgument, "the range is not within the source");
  }
  std::string etag = "\"p" + std::to_string(++versions_) + "\"";
  found->second.parts[call.part_number] = {object->bytes.substr(call.offset_bytes, length_bytes),
                                           etag};
  return etag;
}

void FakeObjectStore::copy(s3::CopySource source, std::string key, s3::CopyOptions options,
                           Deadline, Done<std::string> done) {
  Call call{.operation = Operation::kCopy,
            .key = std::move(key),
            .token = {},
            .window = {},
            .source = source.key};
  Call asked = call;
  arrive(std::move(asked),
         [this, call = std::move(call), source = std::move(source), options = std::move(options),
          done = std::move(done)](Failure failure) mutable {
           if (failure) return done(std::unexpected(std::move(failure->error)));
           done(answer_copy(source, call.key, std::move(options)));
         });
}

void FakeObjectStore::know_renames() {
  const MutexLock lock(mutex_);
  knows_renames_ = true;
}

void FakeObjectStore::run_before_answers_of_renames(std::function<void()> run) {
  const MutexLock lock(mutex_);
  on_renamed_ = std::move(run);
}

void FakeObjectStore::rename(s3::CopySource source, std::string key, s3::Precondition when,
                             Deadline, Done<std::string> done) {
  bool has_it = false;
  {
    const MutexLock lock(mutex_);
    has_it = knows_renames_ && !source.key.ends_with('/') && !key.ends_with('/');
  }
  if (!has_it) return done(fail(ErrorCode::kUnsupported, "no RenameObject"));
  Call call{.operation = Operation::kRename,
            .key = std::move(key),
            .token = {},
            .window = {},
            .source = source.key};
  Call asked = call;
  arrive(std::move(asked),
         [this, call = std::move(call), source = std::move(source), when = std::move(when),
          done = std::move(done)](Failure failure) mutable {
           if (failure) return done(std::unexpected(std::move(failure->error)));
           Result<std::string> etag = answer_rename(source, call.key, when);
           std::function<void()> run;
           {
             const MutexLock lock(mutex_);
             run = on_renamed_;
           }
           if (etag && run) run();
           done(as_heard(std::move(etag)));
         });
}

Result<std::string> FakeObjectStore::answer_rename(const s3::CopySource& source,
                                                   const std::string& key,
                                                   const s3::Precondition& when) {
  const MutexLock lock(mutex_);
  Result<Object> object = find_version(source);
  if (!object) return std::unexpected(object.error());
  if (auto holds = check(when, key); !holds) return std::unexpected(holds.error());
  objects_.erase(source.key);
  objects_[key] = std::move(*object);
  return source.etag;
}

void FakeObjectStore::upload_part_copy(s3::CopySource source, std::uint64_t offset_bytes,
                                       std::uint64_t length_bytes, std::string key,
                                       std::string upload_id, unsigned number, Deadline,
                                       Done<std::string> done) {
  Call call{.operation = Operation::kPartCopy,
            .key = std::move(key),
            .token = {},
            .offset_bytes = offset_bytes,
            .window = {},
            .upload_id = std::move(upload_id),
            .part_number = number,
            .source = source.key};
  Call asked = call;
  arrive(std::move(asked), [this, call = std::move(call), source = std::move(source), length_bytes,
                            done = std::move(done)](Failure failure) mutable {
    if (failure) return done(std::unexpected(std::move(failure->error)));
    done(answer_part_copy(call, source, length_bytes));
  });
}

void FakeObjectStore::remove_version(std::string key, std::string etag, Deadline, Done<void> done) {
  Call call{.operation = Operation::kRemove, .key = key, .token = {}, .window = {}};
  arrive(std::move(call), [this, key = std::move(key), etag = std::move(etag),
                           done = std::move(done)](Failure failure) mutable {
    if (failure) return done(std::unexpected(std::move(failure->error)));
    {
      const MutexLock lock(mutex_);
      const bool is_there = objects_.contains(key);
      auto holds = check(s3::Precondition::matches(etag), key);
      if (is_there && !holds) return done(std::move(holds));
    }
    remove(key);
    done({});
  });
}

Result<std::string> FakeObjectStore::answer_part(const Call& call, const s3::PutBody& body) {
  Result<std::string> bytes = read_body(body);
  if (!bytes) return bytes;
  const MutexLock lock(mutex_);
  const auto found = uploads_.find(call.upload_id);
  if (found == uploads_.end() || found->second.key != call.key) {
    return no_such_upload(call.upload_id);
  }
  std::string etag = "\"p" + std::to_string(++versions_) + "\"";
  found->second.parts[call.part_number] = {std::move(*bytes), etag};
  return etag;
}

Result<std::string> FakeObjectStore::answer_complete(const Call& call,
                                                     const std::vector<s3::UploadedPart>& parts,
                                                     const s3::Precondition& when) {
  const MutexLock lock(mutex_);
  const auto found = uploads_.find(call.upload_id);
  if (found == uploads_.end() || found->second.key != call.key) {
    return no_such_upload(call.upload_id);
  }
  std::string bytes;
  unsigned last_number = 0;
  for (const s3::UploadedPart& part : parts) {
    const auto stored = found->second.parts.find(part.number);
    if (stored == found->second.parts.end() || stored->second.second != part.etag ||
        part.number <= last_number) {
      return fail(ErrorCode::kInvalidArgument, "no part " + std::to_string(part.number));
    }
    last_number = part.number;
    bytes += stored->second.first;
  }
  if (parts.empty()) return fail(ErrorCode::kInvalidArgument, "an upload of no parts");
  if (auto holds = check(when, call.key); !holds) return std::unexpected(holds.error());
  s3::UserMetadata metadata = std::move(found->second.metadata);
  uploads_.erase(found);
  return store_locked(call.key, std::move(bytes), std::move(metadata));
}

s3::PutOutcome FakeObjectStore::put_outcome(Result<std::string> etag) const {
  const MutexLock lock(mutex_);
  return {.etag = std::move(etag), .path = path_};
}

}  // namespace s3rdmafs::fakes
