// SPDX-License-Identifier: Apache-2.0
// Renames that a crash cut short. The server says how far each came:
//
//   file       the source is gone, newer, or another     ended, or made since: nothing to do
//              the new name has the copied version       finish: remove the source
//              the new name has what it had before       undone: nothing to do
//              else, and the copy is not in the log      the server cannot tell: both stay
//   directory  a key below the old name, as old as       copy it where its new name is free, and
//              those that the rename found               remove it
//              a newer one                               another client's: it stays
//
// What counts as the copy. The log has the ETag of a file's copy, unless the crash came between the
// server's answer and the record. Then the copy is known by the source's own ETag, which most
// servers give to the copy of an object that was stored by one request. An object of the same size
// alone proves nothing: checkpoints have one size. So a name is never replaced, and a source is
// removed only where its bytes are certainly at the new name.
//
// When. Before any name is used, by the next mount alone: later both names may have been used. So a
// rename that fails here is over, as after an error that a program has heard. Every step may be
// repeated, so that a crash here is one more unfinished rename.
#include "vfs/renames/unfinished_renames.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "vfs/directories/listing_cursor.h"
#include "vfs/renames/copy_time.h"
#include "vfs/renames/parallel_steps.h"

namespace s3rdmafs::vfs {
namespace {

constexpr std::size_t kParallelKeys = 32;  // as a rename itself

constexpr std::string_view kChanged = "another client stored it meanwhile";

/// Takes HEAD's "not found" for an answer: an info without an ETag.
Result<s3::ObjectInfo> absent_is_empty(Result<s3::ObjectInfo> info) {
  if (!info && info.error().code == ErrorCode::kNotFound) return s3::ObjectInfo{};
  return info;
}

class RenameFinisher : public std::enable_shared_from_this<RenameFinisher> {
 public:
  RenameFinisher(RenameFinish with, std::vector<BegunRename> renames, Done<void> done)
      : with_(std::move(with)), renames_(std::move(renames)), done_(std::move(done)) {}

  void run() {
    run_in_parallel(
        renames_.size(), /*width=*/1,
        [self = shared_from_this()](std::size_t index, Done<void> next) {
          const BegunRename& rename = self->renames_[index];
          auto ended = [self, &rename, next = std::move(next)](Result<void> outcome) mutable {
            self->on_ended(rename, outcome);
            next({});
          };
          if (rename.is_directory()) return self->finish_tree(rename, {}, std::move(ended));
          self->finish_file(rename, std::move(ended));
        },
        [self = shared_from_this()](Result<void> outcome) { self->done_(std::move(outcome)); });
  }

 private:
  void on_ended(const BegunRename& rename, const Result<void>& outcome) {
    with_.log.ended(rename.id);
    if (outcome) return;
    log::warn(
        "rename: '{}' to '{}', left by an earlier mount, cannot be finished: {}; files may be "
        "left under both names: remove those that you do not need",
        rename.from, rename.to, outcome.error().detail);
  }

  void finish_file(const BegunRename& rename, Done<void> ended) {
    with_.store.head(
        rename.from, with_.request_deadline(),
        [self = shared_from_this(), &rename,
         ended = std::move(ended)](Result<s3::ObjectInfo> source) mutable {
          source = absent_is_empty(std::move(source));
          if (!source) return ended(std::unexpected(std::move(source.error())));
          // A newer one with the same bytes was made since.
          if (source->etag != rename.etag || source->modified > rename.newest) return ended({});
          self->with_.store.head(
              rename.to, self->with_.request_deadline(),
              [self, &rename, ended = std::move(ended)](Result<s3::ObjectInfo> copy) mutable {
                copy = absent_is_empty(std::move(copy));
                if (!copy) return ended(std::unexpected(std::move(copy.error())));
                self->decide(rename, *copy, std::move(ended));
              });
        });
  }

  void decide(const BegunRename& rename, const s3::ObjectInfo& there, Done<void> ended) {
    const std::string& copied_etag = rename.is_copied ? rename.copied_etag : rename.etag;
    const bool has_no_copy =
        there.etag.empty() || (!rename.is_copied && there.etag == rename.replaced_etag);
    if (!has_no_copy && there.etag == copied_etag && there.size_bytes == rename.size_bytes) {
      return remove(rename, std::move(ended));
    }
    if (has_no_copy) {
      log::info("rename: '{}' to '{}', left by an earlier mount: not copied; '{}' stays",
                rename.from, rename.to, rename.from);
    } else {
      log::warn(
          "rename: '{}' to '{}', left by an earlier mount: the new name may have the copy or "
          "another client's object; both names stay: remove the one that you do not need",
          rename.from, rename.to);
    }
    ended({});
  }

  void remove(const BegunRename& rename, Done<void> ended) {
    log::info("rename: '{}' to '{}', left by an earlier mount: copied; removing '{}'", rename.from,
              rename.to, rename.from);
    with_.writer.remove_version(rename.from, rename.etag, with_.request_deadline(),
                                std::move(ended));
  }

  // One page after another: what a page has is gone when the next is asked for, and conflicts stay
  // in the pages that were passed.
  void finish_tree(const BegunRename& rename, ListingCursor cursor, Done<void> ended) {
    s3::ListRequest request{
        .prefix = rename.from, .delimiter = "", .continuation_token = cursor.token()};
    with_.store.list(
        std::move(request), with_.request_deadline(),
        [self = shared_from_this(), &rename, cursor = std::move(cursor),
         ended = std::move(ended)](Result<s3::ListPage> page) mutable {
          if (!page) return ended(std::unexpected(std::move(page.error())));
          if (auto passed = cursor.pass(*page); !passed) return ended(std::move(passed));
          if (!page->objects.empty()) {
            log::info("rename: '{}' to '{}', left by an earlier mount: {} keys to move",
                      rename.from, rename.to, page->objects.size());
          }
          const auto objects =
              std::make_shared<const std::vector<s3::ObjectInfo>>(std::move(page->objects));
          run_in_parallel(
              objects->size(), kParallelKeys,
              [self, &rename, objects](std::size_t index, Done<void> moved) {
                self->finish_key(rename, (*objects)[index], std::move(moved));
              },
              [self, &rename, cursor = std::move(cursor),
               ended = std::move(ended)](Result<void> moved) mutable {
                if (!moved || cursor.is_at_end()) return ended(std::move(moved));
                self->finish_tree(rename, std::move(cursor), std::move(ended));
              });
        });
  }

  void finish_key(const BegunRename& rename, const s3::ObjectInfo& from, Done<void> moved) {
    if (!from.key.starts_with(rename.from)) return moved({});  // the server ignores the prefix
    if (from.modified > rename.newest) return leave(from, "it is newer than the rename", moved);
    std::string to = rename.to + from.key.substr(rename.from.size());
    if (rename.is_copied) return remove_if_copied(from, std::move(to), std::move(moved));
    with_.writer.copy({from.key, from.etag, from.size_bytes}, to,
                      {.when = s3::Precondition::absent()},
                      with_.request_deadline() + copy_time(from.size_bytes),
                      [self = shared_from_this(), from, to,
                       moved = std::move(moved)](const Result<std::string>& etag) mutable {
                        if (etag) return self->remove_version(from, std::move(moved));
                        const ErrorCode why = etag.error().code;
                        if (why == ErrorCode::kStale) return leave(from, kChanged, moved);
                        if (why != ErrorCode::kExists) {
                          return moved(std::unexpected(etag.error()));
                        }
                        self->remove_if_copied(from, std::move(to), std::move(moved));
                      });
  }

  void remove_if_copied(const s3::ObjectInfo& from, std::string to, Done<void> moved) {
    with_.store.head(std::move(to), with_.request_deadline(),
                     [self = shared_from_this(), from,
                      moved = std::move(moved)](Result<s3::ObjectInfo> there) mutable {
                       there = absent_is_empty(std::move(there));
                       if (!there) return moved(std::unexpected(std::move(there.error())));
                       if (!is_copy(from, *there)) {
                         return leave(from, "its new name may have another object", moved);
                       }
                       self->remove_version(from, std::move(moved));
                     });
  }

  /// @param there  what the new name has; without an ETag: nothing
  static bool is_copy(const s3::ObjectInfo& from, const s3::ObjectInfo& there) {
    return !there.etag.empty() && there.etag == from.etag && there.size_bytes == from.size_bytes;
  }

  static void leave(const s3::ObjectInfo& from, std::string_view why, Done<void>& moved) {
    log::warn("rename: '{}', of a directory that an earlier mount renamed, stays: {}", from.key,
              why);
    moved({});
  }

  void remove_version(const s3::ObjectInfo& from, Done<void> removed) {
    with_.writer.remove_version(from.key, from.etag, with_.request_deadline(),
                                [from, removed = std::move(removed)](Result<void> outcome) mutable {
                                  const bool is_newer =
                                      !outcome && outcome.error().code == ErrorCode::kStale;
                                  if (is_newer) return leave(from, kChanged, removed);
                                  removed(std::move(outcome));
                                });
  }

  const RenameFinish with_;
  const std::vector<BegunRename> renames_;
  Done<void> done_;
};

}  // namespace

void finish_renames(RenameFinish with, std::vector<BegunRename> renames, Done<void> done) {
  std::make_shared<RenameFinisher>(std::move(with), std::move(renames), std::move(done))->run();
}

}  // namespace s3rdmafs::vfs
