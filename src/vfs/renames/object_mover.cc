// SPDX-License-Identifier: Apache-2.0
// One file's rename: one request, or where the server has no such request, these steps: the log has
// the intent, the server copies, the log has the copy, the server removes the source, the log ends.
// vfs/renames/unfinished_renames.cc says what a crash after each step leads to.
//
// Lifetime. The owner keeps it alive until each `done` was called.
#include "vfs/renames/object_mover.h"

#include <utility>

#include "s3rdmafs/base/log.h"
#include "vfs/renames/copy_time.h"

namespace s3rdmafs::vfs {

void ObjectMover::move(ObjectMove move, Done<std::string> done) {
  if (move.on_moving) move.on_moving();
  s3::CopySource source{move.from.key, move.from.etag, move.from.size_bytes};
  std::string to = move.to;
  s3::Precondition when = move.options.when;
  writer_.rename(
      std::move(source), std::move(to), std::move(when), request_deadline_(),
      [this, move = std::move(move), done = std::move(done)](Result<std::string> etag) mutable {
        if (!etag && etag.error().code == ErrorCode::kUnsupported) {
          return copy_and_remove(std::move(move), std::move(done));
        }
        if (etag && move.on_moved) move.on_moved(*etag);
        done(std::move(etag));
      });
}

void ObjectMover::copy_and_remove(ObjectMove move, Done<std::string> done) {
  const std::uint64_t id = log_.next_id();
  BegunRename begun{.id = id,
                    .from = move.from.key,
                    .to = move.to,
                    .etag = move.from.etag,
                    .size_bytes = move.from.size_bytes,
                    .replaced_etag = move.replaced_etag,
                    .newest = move.from.modified};
  log_.begun(begun,
             [this, id, move = std::move(move), done = std::move(done)](Result<void> kept) mutable {
               if (!kept) {
                 log_.ended(id);  // the record may be there, and only its sync have failed
                 return done(std::unexpected(std::move(kept.error())));
               }
               copy(id, std::move(move), std::move(done));
             });
}

void ObjectMover::copy(std::uint64_t id, ObjectMove move, Done<std::string> done) {
  s3::CopySource source{move.from.key, move.from.etag, move.from.size_bytes};
  const Deadline deadline = request_deadline_() + copy_time(source.size_bytes);
  writer_.copy(std::move(source), move.to, std::move(move.options), deadline,
               [this, id, from = std::move(move.from), on_moved = std::move(move.on_moved),
                done = std::move(done)](Result<std::string> etag) mutable {
                 if (!etag) {
                   log_.ended(id);
                   return done(std::move(etag));
                 }
                 log_.copied(id, *etag);
                 if (on_moved) on_moved(*etag);
                 remove_source(id, from, std::move(*etag), std::move(done));
               });
}

// A source that another client replaced since the copy stays: the rename came first. After an error
// the log ends as well: the program hears that the rename failed, so nothing may finish it later.
void ObjectMover::remove_source(std::uint64_t id, const s3::ObjectInfo& from, std::string etag,
                                Done<std::string> done) {
  writer_.remove_version(from.key, from.etag, request_deadline_(),
                         [this, id, key = from.key, etag = std::move(etag),
                          done = std::move(done)](Result<void> removed) mutable {
                           log_.ended(id);
                           if (removed || removed.error().code == ErrorCode::kStale)
                             return done(std::move(etag));
                           log::warn(
                               "rename: '{}' was copied, but not removed: {}; both names have it",
                               key, removed.error().detail);
                           done(std::unexpected(std::move(removed.error())));
                         });
}

}  // namespace s3rdmafs::vfs
