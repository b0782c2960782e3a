// SPDX-License-Identifier: Apache-2.0
// Opens and reads one version of a file.
//
// An open first confirms that the name still stands for the inode's version. Then it gets the whole
// object (open_whole), or all bytes of a small file, or neither; the handle can be read in any
// case.
#include <optional>
#include <utility>

#include "vfs/directories/directories.h"
#include "vfs/file_system.h"
#include "vfs/files/file_writing.h"
#include "vfs/files/open_files.h"
#include "vfs/files/open_trace.h"
#include "vfs/names/names.h"
#include "vfs/refusals.h"

namespace s3rdmafs::vfs {

void FileSystem::open_version(Ino ino, const Node& version,
                              std::shared_ptr<const cache::ResidentObject> whole, Deadline deadline,
                              Done<OpenFile> done) {
  const s3::ObjectInfo& object = version.object;
  if (file_writing_) {
    file_writing_->version_opened(ino);
    // From here on the inode's bytes can be followed, but it may have become another version since.
    const Result<Inode> inode = names_->find(ino);
    if (!inode || !inode->node.same_as(version)) {
      file_writing_->version_released(ino);
      return done(
          names_->look_again(object.key, "'" + object.key + "' was stored again by this mount"));
    }
  }
  open_trace_->note(object);
  OpenFile opened{.handle = open_files_->open(ino, object, version.generation),
                  .size_bytes = object.size_bytes,
                  .path = shown_path(object.key),
                  .whole = std::move(whole)};
  const bool is_small = object.size_bytes > 0 && object.size_bytes <= options_.content_bytes_max;
  if (opened.whole || !is_small || !names_->mark_opened(ino)) return done(std::move(opened));
  get_content(std::move(opened), deadline, std::move(done));
}

// Called when an open begins, so that what comes next is on its way together with it.
void FileSystem::prefetch_next(const s3::ObjectInfo& opened, bool as_whole, Deadline deadline) {
  for (const s3::ObjectInfo& next : directories_->on_open(opened, deadline)) {
    const std::uint64_t generation = names_->generation_of(next);
    const bool is_whole =
        as_whole && whole_->prefetch({next.key, next.etag, next.size_bytes, generation}, deadline);
    if (!is_whole) open_files_->prefetch(next, generation);
  }
}

// One request for open and read: a program that opens a small file nearly always reads all of it
// next. The open waits for at most half of its time, as for a whole object, and reports a version
// that is gone; the reads meet any other error.
void FileSystem::get_content(OpenFile opened, Deadline deadline, Done<OpenFile> done) {
  const std::uint64_t handle = opened.handle;
  const std::uint64_t size_bytes = opened.size_bytes;
  const SeenAt now = clock_.now();
  read(handle, 0, size_bytes, now + (deadline - now) / 2,
       [self = shared_from_this(), opened = std::move(opened),
        done = std::move(done)](Result<cache::PinnedBytes> bytes) mutable {
         if (bytes) {
           opened.content = std::move(*bytes);
         } else if (bytes.error().code == ErrorCode::kStale) {
           self->release(opened.handle);
           return done(std::unexpected(std::move(bytes.error())));
         }
         done(std::move(opened));
       });
}

void FileSystem::open(Ino ino, Deadline deadline, Done<OpenFile> done) {
  if (file_writing_) {
    if (auto written = file_writing_->open_to_read(ino)) return done(*std::move(written));
  }
  confirm_version(ino, deadline,
                  [self = shared_from_this(), ino, deadline,
                   done = std::move(done)](Result<Node> version) mutable {
                    if (!version) return done(std::unexpected(std::move(version.error())));
                    self->prefetch_next(version->object, /*as_whole=*/false, deadline);
                    self->open_version(ino, *version, /*whole=*/nullptr, deadline, std::move(done));
                  });
}

void FileSystem::open_whole(Ino ino, Deadline deadline, Done<OpenFile> done) {
  if (whole_ == nullptr) return open(ino, deadline, std::move(done));
  if (file_writing_) {
    if (auto written = file_writing_->open_to_read(ino)) return done(*std::move(written));
  }
  confirm_version(
      ino, deadline,
      [self = shared_from_this(), ino, deadline,
       done = std::move(done)](Result<Node> version) mutable {
        if (!version) return done(std::unexpected(std::move(version.error())));
        // The kernel reads a whole object by itself, and a handle of it cannot follow
        // what this mount writes next.
        if (self->file_writing_ && self->file_writing_->was_changed(version->object.key)) {
          self->prefetch_next(version->object, /*as_whole=*/false, deadline);
          return self->open_version(ino, *version, /*whole=*/nullptr, deadline, std::move(done));
        }
        self->fetch_whole(ino, std::move(*version), deadline, std::move(done));
      });
}

// A version that is gone is the only failure that the open reports: reads would find it gone as
// well, and now the kernel can still look the name up again.
void FileSystem::fetch_whole(Ino ino, Node version, Deadline deadline, Done<OpenFile> done) {
  const s3::ObjectInfo& object = version.object;
  cache::ObjectVersion wanted{object.key, object.etag, object.size_bytes, version.generation};
  const s3::ObjectInfo opened = object;
  whole_->open(
      std::move(wanted), deadline,
      [self = shared_from_this(), ino, version = std::move(version), deadline,
       done = std::move(done)](Result<std::shared_ptr<const cache::ResidentObject>> whole) mutable {
        if (!whole && whole.error().code == ErrorCode::kStale) {
          self->names_->invalidate_version(ino, version.object.key);
          return done(std::unexpected(std::move(whole.error())));
        }
        self->open_version(ino, version, whole ? std::move(*whole) : nullptr, deadline,
                           std::move(done));
      });
  prefetch_next(opened, /*as_whole=*/true, deadline);
}

void FileSystem::confirm_version(Ino ino, Deadline deadline, Done<Node> done) {
  const Result<Inode> inode = names_->find_file(ino);
  if (!inode) return done(std::unexpected(inode.error()));
  const Node& version = inode->node;
  const s3::ObjectInfo& wanted = version.object;
  if (names_->is_outdated(version)) {
    names_->invalidate_version(ino, wanted.key);
    return done(fail(ErrorCode::kStale, "'" + wanted.key + "' was stored again by this mount"));
  }
  if (names_->may_open(ino, *inode)) return done(version);
  store_.head(
      wanted.key, deadline,
      [self = shared_from_this(), ino, current = Node(version), seen_at = clock_.now(),
       done = std::move(done)](Result<s3::ObjectInfo> object) mutable {
        const bool gone = !object && object.error().code == ErrorCode::kNotFound;
        if (!object && !gone) return done(std::unexpected(std::move(object.error())));
        const Node found = object ? Node::file(*std::move(object)) : Node();
        if (gone || !self->names_->is_version_of(found, current)) {
          self->names_->invalidate_version(ino, current.object.key);
          return done(fail(ErrorCode::kStale, "'" + current.object.key + "' is no longer version " +
                                                  current.object.etag));
        }
        self->names_->confirm(ino, seen_at, found);
        done(std::move(current));
      });
}

void FileSystem::read(std::uint64_t handle, std::uint64_t offset_bytes, std::size_t length,
                      Deadline deadline, Done<cache::PinnedBytes> done) {
  const std::shared_ptr<const OpenVersion> file = handles_->find<const OpenVersion>(handle);
  if (!file && file_writing_) {
    return file_writing_->read(handle, offset_bytes, length, deadline, std::move(done));
  }
  if (!file) return done(no_such_handle(handle));
  if (file_writing_) {
    if (const auto newer = file_writing_->newer_reader(file->ino)) {
      return newer->read(offset_bytes, length, deadline, std::move(done));
    }
  }
  if (offset_bytes >= file->object.size_bytes || length == 0) return done(cache::PinnedBytes());
  // The file is held until the bytes are there, so that its reader outlives a release meanwhile.
  file->reader->read(offset_bytes, length, deadline,
                     [self = shared_from_this(), file, offset_bytes, length, deadline,
                      done = std::move(done)](Result<cache::PinnedBytes> bytes) mutable {
                       if (bytes || bytes.error().code != ErrorCode::kStale) {
                         return done(std::move(bytes));
                       }
                       self->read_moved(*file, std::move(bytes.error()), offset_bytes, length,
                                        deadline, std::move(done));
                     });
}

// The server has the version under another key, if this mount has renamed it; a staged file may
// have replaced it since the read began. A second rename may be under way, or end meanwhile.
void FileSystem::read_moved(const OpenVersion& file, Error error, std::uint64_t offset_bytes,
                            std::size_t length, Deadline deadline, Done<cache::PinnedBytes> done) {
  const auto place = open_files_->moved_from(
      file, {file.object.key, file.object.etag, file.object.size_bytes, file.generation});
  auto reader = place ? open_files_->read_at(*place) : nullptr;
  if (!reader && file_writing_) reader = file_writing_->newer_reader(file.ino);
  if (!reader) {
    names_->invalidate_version(file.ino, file.object.key);
    return done(std::unexpected(std::move(error)));
  }
  reader->read(offset_bytes, length, deadline,
               [self = shared_from_this(), reader, file, place, offset_bytes, length, deadline,
                done = std::move(done)](Result<cache::PinnedBytes> bytes) mutable {
                 const bool is_gone = place && !bytes && bytes.error().code == ErrorCode::kStale;
                 const auto next =
                     is_gone ? self->open_files_->moved_from(file, *place) : std::nullopt;
                 if (!next) return done(std::move(bytes));
                 auto last = self->open_files_->read_at(*next);
                 last->read(offset_bytes, length, deadline,
                            [last, done = std::move(done)](Result<cache::PinnedBytes> got) mutable {
                              done(std::move(got));
                            });
               });
}

void FileSystem::release(std::uint64_t handle) {
  if (file_writing_ && file_writing_->release(handle)) return;
  const std::optional<Ino> ino = open_files_->release(handle);
  if (ino && file_writing_) file_writing_->version_released(*ino);
}

}  // namespace s3rdmafs::vfs
