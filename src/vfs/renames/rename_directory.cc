// SPDX-License-Identifier: Apache-2.0
// The renames of directories: pending files below are stored, the tree moves at the server, and
// everything that knows a name below is told.
//
// Inodes below keep their numbers, since the kernel keeps its names of them. A file that is created
// below the old name while the move runs stays there: it is not among the keys that moved, so its
// writer goes on and its bytes are stored. The writer of a file that moved cannot follow it; its
// next write fails with kStale.
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "vfs/names/key_path.h"
#include "vfs/renames/renames.h"
#include "vfs/renames/tree_mover.h"

namespace s3rdmafs::vfs {
namespace {

/// Names that this mount must ask for again: the key's own, and those of its directories below the
/// prefix.
void add_names_of(std::string_view key, std::string_view prefix, std::set<std::string>& names) {
  while (key.size() > prefix.size()) {
    if (key.ends_with('/')) key.remove_suffix(1);
    if (!names.emplace(key).second) return;  // then those above it are there too
    const std::size_t slash = key.rfind('/');
    if (slash == std::string_view::npos) return;
    key = key.substr(0, slash + 1);
  }
}

}  // namespace

void Renames::move_directory(const CallPtr& call) {
  if (!call->destination) return store_pending_below(call);
  check_empty(call, {});
}

// A page may be short, or empty, and more follow.
void Renames::check_empty(const CallPtr& call, ListingCursor cursor) {
  const std::string to = directory_prefix(call->request.to);
  s3::ListRequest request{
      .prefix = to, .delimiter = "", .continuation_token = cursor.token(), .keys_max = 2};
  parts_.store.list(
      std::move(request), parts_.request_deadline(),
      [self = shared_from_this(), call, to,
       cursor = std::move(cursor)](const Result<s3::ListPage>& page) mutable {
        if (!page) return self->end(call, std::unexpected(page.error()));
        bool is_empty = page->common_prefixes.empty() && !self->parts_.files->any_below(to);
        for (const s3::ObjectInfo& object : page->objects) {
          is_empty = is_empty && object.key == to;
        }
        if (!is_empty) {
          return self->end(call, fail(ErrorCode::kNotEmpty, "'" + to + "' is not empty"));
        }
        if (auto passed = cursor.pass(*page); !passed) return self->end(call, std::move(passed));
        if (!cursor.is_at_end()) return self->check_empty(call, std::move(cursor));
        self->store_pending_below(call);
      });
}

// The held files have the directories' own names: there are none. All turns of a rename are
// taken at once, so that no two renames wait for each other.
void Renames::store_pending_below(const CallPtr& call) {
  std::exchange(call->held, nullptr)->release();
  const std::string from = directory_prefix(call->request.from);
  parts_.files->store_pending_below(from,
                                    [self = shared_from_this(), call, from](Result<void> stored) {
                                      if (!stored) return self->end(call, std::move(stored));
                                      self->hold(call, {from}, &Renames::move_tree);
                                    });
}

void Renames::move_tree(const CallPtr& call) {
  const std::string from = directory_prefix(call->request.from);
  const std::string to = directory_prefix(call->request.to);
  const auto mover =
      std::make_shared<TreeMover>(TreeMover::Parts{parts_.store, parts_.writer, log_,
                                                   parts_.request_deadline, parts_.tree_keys_max},
                                  log_.next_id(), from, to, call->destination.has_value());
  TreeMover::Listeners listeners{
      .on_moving = [self = shared_from_this()](
                       const MovedObject& object) { self->announce(object.from, object.to); },
      .on_moved =
          [self = shared_from_this()](const TreeMover::Moved& objects) {
            for (const MovedObject& object : objects) {
              self->tell_readers(object.from, object.to, object.etag);
            }
          }};
  mover->move(
      std::move(listeners), [self = shared_from_this(), call, mover, from, to](Result<void> moved) {
        for (const MovedObject& object : mover->objects()) self->forget_move(object.from);
        self->forget_names(from, to, mover->objects());  // also after an error: some may have moved
        if (moved) self->tell_of_tree(*call, mover->objects());
        self->end(call, std::move(moved));
      });
}

void Renames::forget_names(const std::string& from, const std::string& to,
                           const TreeMover::Moved& objects) {
  std::set<std::string> names;
  for (const MovedObject& object : objects) {
    add_names_of(object.from.key, from, names);
    add_names_of(object.to, to, names);
  }
  for (const std::string& name : names) parts_.names->on_changed(name);
  for (const std::string& prefix : {from, to}) parts_.names->on_directory_changed(prefix);
}

void Renames::tell_of_tree(const Call& call, const TreeMover::Moved& moved) {
  const std::string from = directory_prefix(call.request.from);
  const std::string to = directory_prefix(call.request.to);
  for (const MovedObject& object : moved) {
    if (object.to.ends_with('/')) continue;
    s3::ObjectInfo copy = object.from;
    copy.key = object.to;
    copy.etag = object.etag;
    call.held->moved(object.from, copy);
    parts_.names->on_moved(Node::file(object.from), Node::file(copy));
  }
  parts_.names->on_directory_moved(from, to);
}

}  // namespace s3rdmafs::vfs
