// SPDX-License-Identifier: Apache-2.0
// The staged files of a rename.
//
// The source follows: its staged bytes are changes of the copy from then on, and it is stored under
// the new name. It does so only if the moved version is its base. A file whose base another client
// has replaced stays as it is, and its store fails as it would have failed without the rename.
//
// The destination is replaced as if it had been removed: handles go on, and nothing is stored.
//
// A file below a renamed directory that no key stands for yet keeps its key, and is stored there.
//
// Turns are taken in the order of addresses: two renames never wait for each other.
#include "vfs/staged/held_staged_files.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace s3rdmafs::vfs {

HeldStagedFiles::HeldStagedFiles(std::shared_ptr<StagedFiles> files,
                                 std::shared_ptr<StagedStore> store,
                                 const std::vector<std::string>& names)
    : files_(std::move(files)), store_(std::move(store)) {
  for (const std::string& name : names) {
    if (!name.ends_with('/')) {
      add(files_->find(name));
      continue;
    }
    for (const auto& file : files_->below(name)) add(file);
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
  store_->take_turn(held_[turns_].file,
                    [self = shared_from_this(), done = std::move(done)]() mutable {
                      ++self->turns_;
                      self->take_turns(std::move(done));
                    });
}

void HeldStagedFiles::moved(const s3::ObjectInfo& source, const s3::ObjectInfo& copy) {
  const std::shared_ptr<StagedFile> file = files_->find(source.key);
  if (!file || !file->is_based_on(source)) return;
  const bool is_held = std::ranges::find(held_, file, &Held::file) != held_.end();
  if (is_held) return store_->rename_in_turn(file, copy);
  // It was opened since.
  store_->take_turn(file, [store = store_, file, source, copy] {
    if (file->is_based_on(source)) store->rename_in_turn(file, copy);
    store->end_turn(file);
  });
}

void HeldStagedFiles::replaced(const std::string& key, Done<void> done) {
  for (const Held& held : held_) {
    if (held.key == key) store_->discard_in_turn(held.file);
  }
  done({});
}

void HeldStagedFiles::release() {
  for (const Held& held : held_) store_->end_turn(held.file);
}

}  // namespace s3rdmafs::vfs
