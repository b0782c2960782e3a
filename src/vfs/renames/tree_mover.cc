// SPDX-License-Identifier: Apache-2.0
// A directory's rename at the server. S3 renames no more than one key at a time, so other clients
// see it happen key by key: the new names appear one by one, and where the server has no
// RenameObject the old ones vanish later.
//
// Cost: a listing, and a rename for each key or a copy and a removal, 32 at a time; about 300 bytes
// of memory a key while it lasts.
#include "vfs/renames/tree_mover.h"

#include <string_view>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "vfs/names/key_path.h"
#include "vfs/renames/copy_time.h"
#include "vfs/renames/parallel_steps.h"

namespace s3rdmafs::vfs {
namespace {

// Copies and removals take a few milliseconds each at the server. Half of the connections that a
// mount has by default (http.connections_max) leave the rest to readers.
constexpr std::size_t kParallelRequests = 32;

/// Whether a copy or a rename that failed so was certainly not made. kExists may be the answer to a
/// repetition of one that was made, and kThrottled its last answer.
bool was_not_made(ErrorCode code) {
  using enum ErrorCode;
  return code == kStale || code == kAccessDenied || code == kNotFound || code == kUnsupported;
}

s3::CopySource source_of(const s3::ObjectInfo& object) {
  return {object.key, object.etag, object.size_bytes};
}

}  // namespace

void TreeMover::move(Listeners listeners, Done<void> done) {
  listeners_ = std::move(listeners);
  list({}, std::move(done));
}

void TreeMover::list(ListingCursor cursor, Done<void> done) {
  s3::ListRequest request{.prefix = from_, .delimiter = "", .continuation_token = cursor.token()};
  parts_.store.list(
      std::move(request), parts_.request_deadline(),
      [self = shared_from_this(), cursor = std::move(cursor),
       done = std::move(done)](Result<s3::ListPage> page) mutable {
        Result<void> added = page ? self->add_page(*page) : std::unexpected(page.error());
        if (added) added = cursor.pass(*page);
        if (!added) {
          log::warn("'{}' cannot be listed: {}; it keeps its name", self->from_,
                    added.error().detail);
          return done(std::move(added));
        }
        if (!cursor.is_at_end()) return self->list(std::move(cursor), std::move(done));
        self->parts_.log.begun(
            {.id = self->id_, .from = self->from_, .to = self->to_, .newest = self->newest_},
            [self, done = std::move(done)](Result<void> kept) mutable {
              if (!kept) {
                self->parts_.log.ended(self->id_);  // as for a file
                return done(std::unexpected(std::move(kept.error())));
              }
              self->move_all(std::move(done));
            });
      });
}

Result<void> TreeMover::add_page(const s3::ListPage& page) {
  for (const s3::ObjectInfo& object : page.objects) {
    if (!object.key.starts_with(from_)) continue;
    std::string to = to_ + object.key.substr(from_.size());
    if (to.size() > kKeyBytesMax) {
      return fail(ErrorCode::kNameTooLong, "'" + to + "' is longer than a key can be");
    }
    newest_ = std::max(newest_, object.modified);
    objects_.push_back({.from = object, .to = std::move(to), .etag = {}});
  }
  if (objects_.size() <= parts_.keys_max) return {};
  return fail_with_advice(ErrorCode::kTooManyKeys,
                          "'" + from_ + "' has more than " + std::to_string(parts_.keys_max) +
                              " keys, too many for a rename",
                          "raise write.rename_max_keys, or use mv(1), which copies");
}

void TreeMover::move_all(Done<void> done) {
  run_in_parallel(
      objects_.size(), kParallelRequests,
      [self = shared_from_this()](std::size_t index, Done<void> moved) {
        self->move_one(index, std::move(moved));
      },
      [self = shared_from_this(), done = std::move(done)](Result<void> moved) mutable {
        if (!moved) return self->take_back(std::move(moved.error()), std::move(done));
        self->parts_.log.copied(self->id_, /*etag=*/{});
        self->listeners_.on_moved(self->objects_);
        self->remove_all(std::move(done));
      });
}

// The directory was empty, so a file there is another client's. Its own key may be there.
s3::Precondition TreeMover::condition_of(const MovedObject& object) const {
  return object.to == to_ ? s3::Precondition::none() : s3::Precondition::absent();
}

void TreeMover::move_one(std::size_t index, Done<void> done) {
  const MovedObject& object = objects_[index];
  listeners_.on_moving(object);
  parts_.writer.rename(
      source_of(object.from), object.to, condition_of(object), parts_.request_deadline(),
      [self = shared_from_this(), index, done = std::move(done)](Result<std::string> etag) mutable {
        const bool has_no_rename = !etag && etag.error().code == ErrorCode::kUnsupported;
        if (has_no_rename) return self->copy_one(index, std::move(done));
        self->objects_[index].is_renamed = etag.has_value();
        self->note(index, std::move(etag), std::move(done));
      });
}

void TreeMover::copy_one(std::size_t index, Done<void> done) {
  const MovedObject& object = objects_[index];
  parts_.writer.copy(
      source_of(object.from), object.to, {.when = condition_of(object)},
      parts_.request_deadline() + copy_time(object.from.size_bytes),
      [self = shared_from_this(), index, done = std::move(done)](Result<std::string> etag) mutable {
        self->note(index, std::move(etag), std::move(done));
      });
}

void TreeMover::note(std::size_t index, Result<std::string> etag, Done<void> done) {
  if (etag) {
    objects_[index].etag = std::move(*etag);
    return done({});
  }
  objects_[index].may_be_there = !was_not_made(etag.error().code);
  done(std::unexpected(std::move(etag.error())));
}

void TreeMover::take_back(Error why, Done<void> done) {
  run_in_parallel(
      objects_.size(), kParallelRequests,
      [self = shared_from_this()](std::size_t index, Done<void> ended) {
        self->take_back_one(self->objects_[index], std::move(ended));
      },
      [self = shared_from_this(), why = std::move(why),
       done = std::move(done)](const Result<void>&) mutable {
        if (const std::size_t strays = self->strays_; strays > 0) {
          log::warn(
              "rename: '{}' was not renamed to '{}': {}; up to {} files are left there: move those "
              "back that the old name lacks, and remove the others",
              self->from_, self->to_, why.detail, strays);
        }
        self->parts_.log.ended(self->id_);
        done(std::unexpected(std::move(why)));
      });
}

// Always succeeds, so that one that fails does not keep the others there.
void TreeMover::take_back_one(const MovedObject& moved, Done<void> done) {
  if (moved.is_renamed) return rename_back(moved, std::move(done));
  const bool was_there = replaces_ && moved.to == to_;
  if (moved.may_be_there && !was_there) ++strays_;
  if (moved.etag.empty() || was_there) return done({});
  remove_copy(moved, std::move(done));
}

// Where the server has stopped to rename, it stays: its only bytes are there.
void TreeMover::rename_back(const MovedObject& moved, Done<void> done) {
  s3::ObjectInfo there = moved.from;
  there.key = moved.to;
  there.etag = moved.etag;
  parts_.writer.rename(source_of(there), moved.from.key, s3::Precondition::absent(),
                       parts_.request_deadline(),
                       [self = shared_from_this(),
                        done = std::move(done)](const Result<std::string>& renamed) mutable {
                         if (!renamed) ++self->strays_;
                         done({});
                       });
}

void TreeMover::remove_copy(const MovedObject& copy, Done<void> done) {
  parts_.writer.remove_version(
      copy.to, copy.etag, parts_.request_deadline(),
      [self = shared_from_this(), done = std::move(done)](const Result<void>& removed) mutable {
        // A newer version is another client's.
        if (!removed && removed.error().code != ErrorCode::kStale) ++self->strays_;
        done({});
      });
}

// A key that another client replaced since stays, as after ObjectMover::move.
void TreeMover::remove_all(Done<void> done) {
  run_in_parallel(
      objects_.size(), kParallelRequests,
      [self = shared_from_this()](std::size_t index, Done<void> removed) {
        const s3::ObjectInfo& from = self->objects_[index].from;
        if (self->objects_[index].is_renamed) return removed({});
        if (self->objects_[index].etag.empty()) {  // its only bytes
          return removed(fail(ErrorCode::kProtocol, "'" + from.key + "' was not copied"));
        }
        self->parts_.writer.remove_version(
            from.key, from.etag, self->parts_.request_deadline(),
            [removed = std::move(removed)](Result<void> outcome) mutable {
              const bool is_newer = !outcome && outcome.error().code == ErrorCode::kStale;
              removed(is_newer ? Result<void>() : std::move(outcome));
            });
      },
      [self = shared_from_this(), done = std::move(done)](Result<void> removed) mutable {
        self->parts_.log.ended(self->id_);
        if (removed) return done({});
        log::warn("rename: '{}' was copied to '{}', but not all was removed: {}; both are there",
                  self->from_, self->to_, removed.error().detail);
        done(std::unexpected(std::move(removed.error())));
      });
}

}  // namespace s3rdmafs::vfs
