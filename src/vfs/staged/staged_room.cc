// SPDX-License-Identifier: Apache-2.0
// Staged mode: where a write finds room when the staging area is full.
//
// Room comes from bytes that the store has by now, from parts of files that are written in order
// and whose parts the server has (staged_early.cc), and from stores and parts that are under way.
// Of the second kind the file's own come first, so that it does not cost another program the way
// back into its file; first parts are dropped only when nothing is left to wait for. A write that
// finds none of it fails with ENOSPC, or with the error for which parts could not be sent.
//
// Each round has taken room or waits for work that ends, so a write does not wait for ever.
#include <algorithm>
#include <utility>

#include "vfs/staged/staged_writing.h"

namespace s3rdmafs::vfs {

struct StagedWriting::RoomSearch {
  std::vector<std::shared_ptr<StagedFile>> files;
  std::size_t next = 0;
  StagedFile::RoomWanted wanted;
  Done<std::uint64_t> done;
};

void StagedWriting::drop_unchanged() {
  for (const auto& file : files_->all()) file->drop_unchanged();
}

void StagedWriting::drop_sent(const std::shared_ptr<StagedFile>& own, StagedFile::RoomWanted wanted,
                              Done<std::uint64_t> done) {
  auto search = std::make_shared<RoomSearch>();
  search->files = files_->all();
  const auto at = std::ranges::find(search->files, own);
  if (at != search->files.end()) std::iter_swap(search->files.begin(), at);
  search->wanted = wanted;
  search->done = std::move(done);
  drop_next(std::move(search));
}

void StagedWriting::drop_next(std::shared_ptr<RoomSearch> search) {
  if (search->next == search->files.size()) return search->done(0);
  const std::shared_ptr<StagedFile> file = search->files[search->next++];
  file->drop_sent(search->wanted, [self = shared_from_this(),
                                   search](const Result<std::uint64_t>& dropped) mutable {
    if (dropped && *dropped > 0) return search->done(*dropped);
    self->drop_next(std::move(search));
  });
}

void StagedWriting::write_later(Write write, bool is_last_try) {
  const std::shared_ptr<StagedFile> file = write.handle->file;
  const std::uint64_t offset_bytes = write.offset_bytes;
  auto bytes = write.bytes;
  file->write(offset_bytes, std::move(bytes),
              [self = shared_from_this(), write = std::move(write),
               is_last_try](Result<void> written) mutable {
                if (!written && written.error().code == ErrorCode::kNoSpace) {
                  return self->on_no_room(std::move(write), is_last_try,
                                          std::move(written.error()));
                }
                self->sync_if_asked(*write.handle, std::move(written), std::move(write.done));
              });
}

void StagedWriting::on_no_room(Write write, bool was_last_try, Error error) {
  drop_unchanged();
  const std::shared_ptr<StagedFile> file = write.handle->file;
  const StagedFile::RoomWanted wanted{.bytes = write.bytes->size(), .first_too = was_last_try};
  drop_sent(file, wanted,
            [self = shared_from_this(), write = std::move(write), was_last_try,
             error = std::move(error)](const Result<std::uint64_t>& dropped) mutable {
              if (dropped && *dropped > 0) {
                return self->write_later(std::move(write), /*is_last_try=*/false);
              }
              if (was_last_try) return self->fail_for_room(std::move(write), std::move(error));
              self->wait_for_room(std::move(write));
            });
}

void StagedWriting::wait_for_room(Write write) {
  for (const auto& file : files_->all()) {
    store_->send_early(file, /*is_needed=*/true, part_bytes_max_);
  }
  auto waiting = std::make_shared<Write>(std::move(write));
  const bool waits = store_->on_next_end([self = shared_from_this(), waiting] {
    self->write_later(std::move(*waiting), /*is_last_try=*/false);
  });
  if (!waits) write_later(std::move(*waiting), /*is_last_try=*/true);
}

// The room would have been there if the server had taken the parts.
void StagedWriting::fail_for_room(Write write, Error error) {
  if (auto early = write.handle->file->early_error()) {
    early->detail = "no room is left, and a part could not be sent: " + early->detail;
    return write.done(std::unexpected(*std::move(early)));
  }
  write.done(std::unexpected(std::move(error)));
}

}  // namespace s3rdmafs::vfs
