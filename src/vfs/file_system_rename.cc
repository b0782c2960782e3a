// SPDX-License-Identifier: Apache-2.0
// rename(2): from inodes and names to keys; vfs/renames/ does the rest.
#include <memory>
#include <string>
#include <utility>

#include "vfs/file_system.h"
#include "vfs/names/names.h"
#include "vfs/refusals.h"
#include "vfs/renames/renames.h"

namespace s3rdmafs::vfs {

std::shared_ptr<Renames> FileSystem::make_renames() {
  return std::make_shared<Renames>(Renames::Parts{
      .store = store_,
      .writer = writing_->writer,
      .log = writing_->rename_log,
      .clock = clock_,
      .open_files = *open_files_,
      .names = names_,
      .files = file_writing_,
      .request_deadline = [&uploads = writing_->uploads] { return uploads.request_deadline(); },
      .tree_keys_max = writing_->rename_keys_max});
}

void FileSystem::rename(Ino parent, std::string_view name, Ino new_parent,
                        std::string_view new_name, bool must_be_new, Done<void> done) {
  if (!writing_) return done(read_only());
  Result<std::string> from = names_->child_key(parent, name);
  if (!from) return done(std::unexpected(std::move(from.error())));
  Result<std::string> to = names_->child_key(new_parent, new_name);
  if (!to) return done(std::unexpected(std::move(to.error())));
  renames_->rename({std::move(*from), std::move(*to), must_be_new},
                   [self = shared_from_this(), done = std::move(done)](
                       Result<void> renamed) mutable { done(std::move(renamed)); });
}

}  // namespace s3rdmafs::vfs
