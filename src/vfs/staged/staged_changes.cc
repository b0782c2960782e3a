// SPDX-License-Identifier: Apache-2.0
// Staged mode: what is changed without a handle, the size and the attributes.
//
// Such a change is stored before it is answered, unless a handle stores it: then its close tells of
// a failure. chmod(2) and fchmod(2) look alike here. So attributes are left to a handle only where
// the same process has it, and has not flushed it since its last write: it may be closed by then,
// although the kernel has not released it. Cost: another process's chmod stores what is written so
// far, as its fsync(2) would.
#include <utility>

#include "vfs/staged/staged_writing.h"

namespace s3rdmafs::vfs {

// Of a path: no handle will store the file later. Of a descriptor: its close does.
void StagedWriting::truncate(Ino ino, std::uint64_t size_bytes, bool shares_inode,
                             Deadline deadline, Done<void> done) {
  const std::shared_ptr<StagedFile> open = files_->of(ino);
  if (auto error = open ? open->error() : std::nullopt) {
    if (error->code != ErrorCode::kStale) return done(std::unexpected(*std::move(error)));
    return done(names_->look_again(open->key(), std::move(error->detail)));
  }
  with_file(ino, shares_inode, deadline,
            [self = shared_from_this(), ino, size_bytes,
             done = std::move(done)](Result<std::shared_ptr<StagedFile>> found) mutable {
              if (!found) return done(std::unexpected(std::move(found.error())));
              (*found)->resize(size_bytes, [self, ino, file = *found,
                                            done = std::move(done)](Result<void> cut) mutable {
                self->end_change(ino, file, std::nullopt, std::move(cut), std::move(done));
              });
            });
}

void StagedWriting::end_change(Ino ino, const std::shared_ptr<StagedFile>& file,
                               std::optional<ProcessId> process, Result<void> changed,
                               Done<void> done) {
  files_->closed(ino, /*may_write=*/true);
  const bool is_stored_later =
      process ? files_->is_stored_by(ino, *process) : files_->has_writers(ino);
  if (!changed || is_stored_later) {
    store_->let_go(file);
    return done(std::move(changed));
  }
  store_->store(file, std::move(done));
}

// The bytes stay what they are, so readers of the inode are not disturbed, the kernel included.
void StagedWriting::set_attributes(Ino ino, const AttributeChange& change, ProcessId process,
                                   Deadline deadline, Done<void> done) {
  with_file(ino, /*shares_inode=*/true, deadline,
            [self = shared_from_this(), ino, change, process,
             done = std::move(done)](Result<std::shared_ptr<StagedFile>> found) mutable {
              if (!found) return done(std::unexpected(std::move(found.error())));
              (*found)->set_attributes(
                  change, [self, ino, process, file = *found,
                           done = std::move(done)](Result<std::uint64_t> changed) mutable {
                    if (!changed) {
                      return self->end_change(ino, file, process,
                                              std::unexpected(std::move(changed.error())),
                                              std::move(done));
                    }
                    // The store may have been another's, and its failure told there.
                    self->end_change(ino, file, process, {},
                                     [file, lost_before = *changed,
                                      done = std::move(done)](Result<void> stored) mutable {
                                       auto loss = file->lost_since(lost_before);
                                       if (stored && loss) return done(std::unexpected(*loss));
                                       done(std::move(stored));
                                     });
                  });
            });
}

}  // namespace s3rdmafs::vfs
