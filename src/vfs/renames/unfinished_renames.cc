// SPDX-License-Identifier: Apache-2.0
// Renames that a crash cut short. The server says how far each came:
//
//   file       the source is gone or another version     ended, or another client's: nothing to do
//              the new name has the copied version       finish: remove the source
//              the new name has what it had before       undone: nothing to do
//              else, and the copy is not in the log      the copy may be there: copy again, remove
//   directory  each key still below the old name         copy it where no copy of its size is, and
//                                                        remove it
//
// Every step may be repeated, so that a crash here is one more unfinished rename. A version of the
// new name that another client stored, of another size, is never replaced.
#include "vfs/renames/unfinished_renames.h"

#include <memory>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "vfs/directories/listing_cursor.h"
#include "vfs/renames/copy_time.h"
#include "vfs/renames/parallel_steps.h"

namespace s3rdmafs::vfs {
namespace {

constexpr std::size_t kParallelKeys = 32;  // as a rename itself

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
    if (outcome) return with_.log.ended(rename.id);
    spdlog::warn(
        "rename: '{}' to '{}', left by an earlier mount, cannot be finished: {}; the next "
        "mount tries again",
        rename.from, rename.to, outcome.error().detail);
  }

  void finish_file(const BegunRename& rename, Done<void> ended) {
    with_.store.head(
        rename.from, with_.request_deadline(),
        [self = shared_from_this(), &rename,
         ended = std::move(ended)](Result<s3::ObjectInfo> source) mutable {
          source = absent_is_empty(std::move(source));
          if (!source) return ended(std::unexpected(std::move(source.error())));
          if (source->etag != rename.etag) return ended({});
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
    if (rename.is_copied && there.etag == rename.copied_etag) {
      return remove(rename, std::move(ended));
    }
    const bool is_as_before = there.etag == rename.replaced_etag;
    if (rename.is_copied || is_as_before || there.size_bytes != rename.size_bytes) {
      spdlog::info("rename: '{}' to '{}', left by an earlier mount: not copied; '{}' stays",
                   rename.from, rename.to, rename.from);
      return ended({});
    }
    copy_again(rename, there.etag, std::move(ended));
  }

  void copy_again(const BegunRename& rename, std::string there, Done<void> ended) {
    with_.writer.copy({rename.from, rename.etag, rename.size_bytes}, rename.to,
                      {.when = s3::Precondition::matches(std::move(there))},
                      with_.request_deadline() + copy_time(rename.size_bytes),
                      [self = shared_from_this(), &rename,
                       ended = std::move(ended)](Result<std::string> etag) mutable {
                        if (!etag) return ended(std::unexpected(std::move(etag.error())));
                        self->with_.log.copied(rename.id, *etag);
                        self->remove(rename, std::move(ended));
                      });
  }

  void remove(const BegunRename& rename, Done<void> ended) {
    spdlog::info("rename: '{}' to '{}', left by an earlier mount: copied; removing '{}'",
                 rename.from, rename.to, rename.from);
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
            spdlog::info("rename: '{}' to '{}', left by an earlier mount: {} keys to move",
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
    std::string to = rename.to + from.key.substr(rename.from.size());
    if (rename.is_copied) return remove_if_copied(from, std::move(to), std::move(moved));
    with_.writer.copy({from.key, from.etag, from.size_bytes}, to,
                      {.when = s3::Precondition::absent()},
                      with_.request_deadline() + copy_time(from.size_bytes),
                      [self = shared_from_this(), from, to,
                       moved = std::move(moved)](const Result<std::string>& etag) mutable {
                        const bool is_there = etag || etag.error().code == ErrorCode::kExists;
                        if (!is_there) return moved(std::unexpected(etag.error()));
                        self->remove_if_copied(from, std::move(to), std::move(moved));
                      });
  }

  void remove_if_copied(const s3::ObjectInfo& from, std::string to, Done<void> moved) {
    with_.store.head(std::move(to), with_.request_deadline(),
                     [self = shared_from_this(), from,
                      moved = std::move(moved)](Result<s3::ObjectInfo> there) mutable {
                       there = absent_is_empty(std::move(there));
                       if (!there) return moved(std::unexpected(std::move(there.error())));
                       if (there->etag.empty() || there->size_bytes != from.size_bytes) {
                         spdlog::warn("rename: '{}' stays: its new name has another object",
                                      from.key);
                         return moved({});
                       }
                       self->with_.writer.remove_version(
                           from.key, from.etag, self->with_.request_deadline(), std::move(moved));
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
