// SPDX-License-Identifier: Apache-2.0
// The staged files of a rename.
//
// The source follows: its staged bytes are changes of the copy from then on, and it is stored under
// the new name. It does so only if the moved version is its base. A file whose base another client
// has replaced stays as it is, and its store fails as it would have failed without the rename.
//
// The destination is replaced as if it had been removed: handles go on, and nothing is stored. The
// bytes that only its version has are fetched before that.
//
// Where the version stays after all, its inode is that version again. The file may lack its user
// metadata, which listings do not have, so it is not to be stored.
//
// A file below a renamed directory that no key stands for yet keeps its key, and is stored there.
//
// Turns are taken in the order of addresses: two renames never wait for each other.
#include "vfs/staged/held_staged_files.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "s3rdmafs/base/units.h"
#include "vfs/metadata/posix_metadata.h"

namespace s3rdmafs::vfs {
namespace {

// A removal waits until it is fetched: a second at 64 MB/s. Readers of a larger version hear kStale
// for what the cache lacks.
constexpr std::uint64_t kKeptVersionBytesMax = 64 * kMiB;

}  // namespace

HeldStagedFiles::HeldStagedFiles(Parts parts, const std::vector<std::string>& names)
    : parts_(std::move(parts)) {
  for (const std::string& name : names) {
    if (!name.ends_with('/')) {
      add(parts_.files->find(name));
      continue;
    }
    for (const auto& file : parts_.files->below(name)) add(file);
  }
  std::ranges::sort(held_, std::less<>(), &Held::file);
  const auto repeated = std::ranges::unique(held_, std::equal_to<>(), &Held::file);
  held_.erase(repeated.begin(), repeated.end());
}

void HeldStagedFiles::add(const std::shared_ptr<StagedFile>& file) {
  if (file) held_.push_back({.file = file, .key = file->key()});
}

void HeldStagedFiles::take_turns(Done<std::shared_ptr<HeldFiles>> done) {
  if (turns_ == held_.size()) return done(shared_from_this());
  parts_.store->take_turn(held_[turns_].file,
                          [self = shared_from_this(), done = std::move(done)]() mutable {
                            ++self->turns_;
                            self->take_turns(std::move(done));
                          });
}

void HeldStagedFiles::moved(const s3::ObjectInfo& source, const s3::ObjectInfo& copy) {
  parts_.files->on_moved(source.key, copy.key);
  const std::shared_ptr<StagedFile> file = parts_.files->find(source.key);
  if (!file || !file->is_based_on(source)) return;
  const bool is_held = std::ranges::find(held_, file, &Held::file) != held_.end();
  if (is_held) return parts_.store->rename_in_turn(file, copy);
  // It was opened since.
  parts_.store->take_turn(file, [store = parts_.store, file, source, copy] {
    if (file->is_based_on(source)) store->rename_in_turn(file, copy);
    store->end_turn(file);
  });
}

// The new file has its turn before another thread can find it, so this never waits.
void HeldStagedFiles::stage_version(const std::string& key) {
  if (parts_.files->find(key)) return;
  for (const Ino ino : parts_.files->open_versions()) {
    const Result<Inode> inode = parts_.names->find_file(ino);
    if (!inode || inode->node.object.key != key) continue;
    const Node& node = inode->node;
    if (node.written || parts_.names->is_outdated(node)) continue;
    if (node.object.size_bytes > kKeptVersionBytesMax) return;
    s3::UserMetadata shown;
    if (node.posix) set_posix_attributes(shown, *node.posix);
    auto made = parts_.maker->make({.key = key,
                                    .base = StagedFile::Base{node.object, node.generation},
                                    .metadata = std::move(shown)});
    if (!made) return;
    held_.push_back({.file = *made, .key = key, .is_of_version = true});
    parts_.store->take_turn(*made, [this] { ++turns_; });
    if (!parts_.files->name(*made) || parts_.files->attach(ino, *made) != *made) {
      parts_.files->unname(**made);
      (*made)->unlink();
    }
    return;
  }
}

void HeldStagedFiles::keep_bytes(const std::string& key, Deadline deadline, Done<void> done) {
  stage_version(key);
  keep_next(0, key, deadline, std::move(done));
}

void HeldStagedFiles::keep_next(std::size_t next, const std::string& key, Deadline deadline,
                                Done<void> done) {
  const auto is_wanted = [&key](const Held& held) {
    return held.key == key && held.file->has_base() &&
           held.file->live().size_bytes <= kKeptVersionBytesMax;
  };
  while (next < held_.size() && !is_wanted(held_[next])) ++next;
  if (next == held_.size()) return done({});
  held_[next].file->keep_base(deadline, [self = shared_from_this(), next, key, deadline,
                                         done = std::move(done)](const Result<void>&) mutable {
    self->keep_next(next + 1, key, deadline, std::move(done));
  });
}

void HeldStagedFiles::replaced(const std::string& key, Done<void> done) {
  for (const Held& held : held_) {
    if (held.key == key) parts_.store->discard_in_turn(held.file);
  }
  done({});
}

void HeldStagedFiles::release() {
  for (const Held& held : held_) {
    if (held.is_of_version) let_go_of_version(held.file);
    parts_.store->end_turn(held.file);
  }
}

void HeldStagedFiles::let_go_of_version(const std::shared_ptr<StagedFile>& file) {
  if (file->is_version() && parts_.files->detach(file)) file->close();
}

}  // namespace s3rdmafs::vfs
