// SPDX-License-Identifier: Apache-2.0
// Changes of files. The way that write.mode chose does them (files/file_writing.h); here is what
// all ways share: a mount that may not write refuses, and a name becomes a key.
#include <string>
#include <utility>

#include "vfs/file_system.h"
#include "vfs/files/file_writing.h"
#include "vfs/names/names.h"
#include "vfs/refusals.h"
#include "vfs/staged/staged_files.h"

namespace s3rdmafs::vfs {

void FileSystem::create(Ino parent, std::string_view name, Creation how, ProcessId process,
                        Deadline deadline, Done<CreatedFile> done) {
  if (!file_writing_) return done(read_only());
  const Result<std::string> key = names_->child_key(parent, name);
  if (!key) return done(std::unexpected(key.error()));
  file_writing_->create(*key, how, process, deadline, std::move(done));
}

void FileSystem::open_to_write(Ino ino, OpenToWrite how, ProcessId process, Deadline deadline,
                               Done<OpenFile> done) {
  if (!file_writing_) return done(read_only());
  file_writing_->open_to_write(ino, how, process, deadline, std::move(done));
}

void FileSystem::write(std::uint64_t handle, std::uint64_t offset_bytes,
                       std::span<const std::byte> bytes, Deadline deadline, Done<void> done) {
  if (!file_writing_) return done(no_such_handle(handle));
  file_writing_->write(handle, offset_bytes, bytes, deadline, std::move(done));
}

void FileSystem::sync(std::uint64_t handle, Done<void> done) {
  if (!file_writing_) return done(no_such_handle(handle));
  file_writing_->sync(handle, std::move(done));
}

void FileSystem::sync_inode(Ino ino, Done<void> done) {
  if (!file_writing_) return done({});
  file_writing_->sync_inode(ino, std::move(done));
}

bool FileSystem::may_pass_writes() const {
  return file_writing_ && file_writing_->may_pass_writes();
}

std::uint64_t FileSystem::local_file_of(Ino ino) const {
  const auto file = staged_files_ ? staged_files_->of(ino) : nullptr;
  return file && file->local_fd() >= 0 ? file->number() : 0;
}

bool FileSystem::has_newer_bytes(Ino ino) const {
  return file_writing_ && file_writing_->newer_reader(ino) != nullptr;
}

std::optional<ProcessId> FileSystem::opener(std::uint64_t handle) const {
  return file_writing_ ? file_writing_->opener(handle) : std::nullopt;
}

void FileSystem::truncate(Ino ino, std::uint64_t size_bytes, bool shares_inode, Deadline deadline,
                          Done<void> done) {
  if (!file_writing_) return done(read_only());
  file_writing_->truncate(ino, size_bytes, shares_inode, deadline, std::move(done));
}

void FileSystem::allocate(std::uint64_t handle, Allocation what, Done<void> done) {
  if (!file_writing_) return done(no_such_handle(handle));
  file_writing_->allocate(handle, what, std::move(done));
}

void FileSystem::copy(const CopyRange& range, Done<std::uint64_t> done) {
  if (!file_writing_) return done(read_only());
  file_writing_->copy(range, std::move(done));
}

void FileSystem::end_writes(Deadline deadline) {
  if (file_writing_) file_writing_->end(deadline);
}

}  // namespace s3rdmafs::vfs
