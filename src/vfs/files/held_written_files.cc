// SPDX-License-Identifier: Apache-2.0
// The written files of a rename.
//
// The source. A descriptor that still writes it cannot follow it to its new name: its next write
// fails with kStale. Its inode can, since the kernel has that under the new name.
//
// The destination is replaced as if it had been removed. Until the copy has succeeded its files
// only wait, so that a rename that fails costs them nothing, and one that succeeds is not
// overwritten by them.
//
// Turns are taken in the order of addresses: two renames never wait for each other.
#include "vfs/files/held_written_files.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace s3rdmafs::vfs {
namespace {

void give_up_renamed(WrittenFile& file) {
  file.give_up({ErrorCode::kStale, "'" + file.key() + "' was renamed while it was written"});
  file.supersede();
}

}  // namespace

HeldWrittenFiles::HeldWrittenFiles(Parts parts, const std::vector<std::string>& names)
    : parts_(std::move(parts)) {
  for (const std::string& name : names) {
    auto& written = *parts_.written;
    auto found = name.ends_with('/') ? written.all_below(name) : written.all_of(name);
    std::ranges::move(found, std::back_inserter(files_));
  }
  std::ranges::sort(files_, std::less<>());
  const auto repeated = std::ranges::unique(files_);
  files_.erase(repeated.begin(), repeated.end());
}

void HeldWrittenFiles::take_turns(Done<std::shared_ptr<HeldFiles>> done) {
  if (turns_ == files_.size()) return done(shared_from_this());
  files_[turns_]->take_turn([self = shared_from_this(), done = std::move(done)]() mutable {
    ++self->turns_;
    self->take_turns(std::move(done));
  });
}

// Those that were opened since have no turn, and may not go on either.
void HeldWrittenFiles::moved(const s3::ObjectInfo& source, const s3::ObjectInfo& copy) {
  for (const auto& file : parts_.written->all_of(source.key)) {
    give_up_renamed(*file);
    parts_.names->on_moved(file->node(), Node::file(copy));
  }
}

void HeldWrittenFiles::keep_bytes(const std::string&, Deadline, Done<void> done) { done({}); }

void HeldWrittenFiles::replaced(const std::string& key, Done<void> done) {
  std::vector<std::shared_ptr<WrittenFile>> replaced;
  std::ranges::copy_if(files_, std::back_inserter(replaced),
                       [&key](const auto& file) { return file->key() == key; });
  parts_.committer->discard(std::move(replaced), std::move(done));
}

void HeldWrittenFiles::release() {
  for (const auto& file : files_) file->end_turn();
}

}  // namespace s3rdmafs::vfs
