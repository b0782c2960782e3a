// SPDX-License-Identifier: Apache-2.0
// The renames of directories: pending files below are stored, the tree moves at the server, and
// everything that knows a name below is told.
//
// Inodes below keep their numbers, since the kernel keeps its names of them. A file that is created
// below the old name while the move runs stays there: it is not among the keys that moved, so its
// writer goes on and its bytes are stored. The writer of a file that moved cannot follow it; its
// next write fails with kStale.
#include <memory>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
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
  const std::string to = directory_prefix(call->request.to);
  if (!call->destination) return store_pending_below(call, take_pending_below(*call));
  parts_.store.list({.prefix = to, .delimiter = "", .continuation_token = {}, .keys_max = 2},
                    parts_.request_deadline(),
                    [self = shared_from_this(), call, to](const Result<s3::ListPage>& page) {
                      if (!page) return call->done(std::unexpected(page.error()));
                      bool is_empty =
                          page->common_prefixes.empty() && !self->parts_.written->any_below(to);
                      for (const s3::ObjectInfo& object : page->objects) {
                        is_empty = is_empty && object.key == to;
                      }
                      if (!is_empty)
                        return call->done(fail(ErrorCode::kNotEmpty, "'" + to + "' is not empty"));
                      self->store_pending_below(call, self->take_pending_below(*call));
                    });
}

std::vector<std::shared_ptr<WrittenFile>> Renames::take_pending_below(const Call& call) const {
  std::vector<std::shared_ptr<WrittenFile>> pending;
  for (auto& file : parts_.written->all_below(directory_prefix(call.request.from))) {
    if (file->is_claimed() && file->is_pending()) pending.push_back(std::move(file));
  }
  return pending;
}

void Renames::store_pending_below(const CallPtr& call,
                                  std::vector<std::shared_ptr<WrittenFile>> pending) {
  if (pending.empty()) return move_tree(call);
  const std::shared_ptr<WrittenFile> file = std::move(pending.back());
  pending.pop_back();
  parts_.committer->commit(file, [self = shared_from_this(), call,
                                  pending = std::move(pending)](Result<void> stored) mutable {
    if (!stored) return call->done(std::move(stored));
    self->store_pending_below(call, std::move(pending));
  });
}

void Renames::move_tree(const CallPtr& call) {
  const std::string from = directory_prefix(call->request.from);
  const std::string to = directory_prefix(call->request.to);
  const auto mover =
      std::make_shared<TreeMover>(TreeMover::Parts{parts_.store, parts_.writer, log_,
                                                   parts_.request_deadline, parts_.tree_keys_max},
                                  log_.next_id(), from, to, call->destination.has_value());
  auto on_copied = [self = shared_from_this()](const TreeMover::Moved& copies) {
    for (const MovedObject& copy : copies) self->tell_readers(copy.from, copy.to, copy.etag);
  };
  mover->move(
      std::move(on_copied), [self = shared_from_this(), call, mover, from, to](Result<void> moved) {
        self->forget_names(from, to, mover->objects());  // also after an error: some may have moved
        if (moved) self->tell_of_tree(from, to, mover->objects());
        call->done(std::move(moved));
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

void Renames::tell_of_tree(const std::string& from, const std::string& to,
                           const TreeMover::Moved& moved) {
  std::unordered_multimap<std::string, std::shared_ptr<WrittenFile>> written;
  for (auto& file : parts_.written->all_below(from)) written.emplace(file->key(), file);
  for (const MovedObject& object : moved) {
    if (object.to.ends_with('/')) continue;
    s3::ObjectInfo copy = object.from;
    copy.key = object.to;
    copy.etag = object.etag;
    const auto [first, last] = written.equal_range(object.from.key);
    for (const auto& [key, file] : std::ranges::subrange(first, last)) {
      file->give_up({ErrorCode::kStale, "'" + key + "' was renamed while it was written"});
      file->supersede();
      parts_.names->on_moved(file->node(), Node::file(copy));
    }
    parts_.names->on_moved(Node::file(object.from), Node::file(copy));
  }
  parts_.names->on_directory_moved(from, to);
}

}  // namespace s3rdmafs::vfs
