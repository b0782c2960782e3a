// SPDX-License-Identifier: Apache-2.0
// Files that the kernel writes for a program, without a word to the daemon.
//
// Why whole files only. Then a byte is never the base's, so no range has to be known; and the
// sidecar has to say but once that the local file is the truth, so a crash loses no write.
//
// Changes. A store gives the local file a mark (write_mark.h) before it reads the first byte. As
// long as the file has the mark of the last successful store, the base has the same bytes. A write
// during a store may be in the object or not; the file has lost the mark then, and is stored again.
//
// Mappings. tmpfs does not note writes through a shared mapping. While a program may have one, no
// store counts as the last.
//
// Locks. As in staging_file.cc.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "upload/staged/staging_area.h"
#include "upload/staged/staging_file.h"

namespace s3rdmafs::upload {

void StagingFile::look() const {
  if (!state_.is_whole) return;
  struct stat local{};
  if (::fstat(data_.get(), &local) != 0) {  // no file system does this to an open file
    log::error("staging: the status of {} is unknown: {}", name_, std::strerror(errno));
    return;
  }
  state_.take_from(local);
  written_.clear();
  if (state_.size_bytes > 0) written_.add({.begin = 0, .end = state_.size_bytes});
  const std::uint64_t charged = std::exchange(whole_.charged_bytes, allocated_bytes(local));
  area_.recharge(charged, whole_.charged_bytes);
  whole_.last_mark = std::max({whole_.last_mark, state_.stored_mark, write_mark_of(local)});
  const auto written_at = write_time_of(local);
  if (!written_at || written_at == whole_.last_write) return;
  whole_.last_write = written_at;
  whole_.is_last_write_new = true;
}

Result<bool> StagingFile::make_whole() {
  const MutexLock lock(mutex_);
  if (state_.is_whole) return true;
  if (state_.size_bytes > 0) return false;
  state_.is_whole = true;
  if (auto ok = rewrite_sidecar(); !ok) {
    state_.is_whole = false;
    return std::unexpected(ok.error());
  }
  look();
  whole_.is_last_write_new = false;  // the time at which the local file was made
  return true;
}

bool StagingFile::is_whole() const {
  const MutexLock lock(mutex_);
  return state_.is_whole;
}

Result<void> StagingFile::truncate_whole(std::uint64_t size_bytes) {
  if (::ftruncate(data_.get(), static_cast<off_t>(size_bytes)) != 0) {
    return fail_errno("truncate a staging file", errno);
  }
  return note_write(data_.get());  // also where the size was this
}

void StagingFile::mark_whole() {
  look();
  whole_.storing_mark = state_.stored_mark;
  const auto& base = state_.identity.base;
  const bool has_bytes_of_base =
      base && state_.changed.empty() && state_.size_bytes == base->size_bytes;
  if (!state_.is_whole || has_bytes_of_base) return;
  ++whole_.last_mark;
  const auto marked = set_write_mark(data_.get(), whole_.last_mark);
  if (!marked) log::warn("staging: {}; it is stored more than once", marked.error().detail);
  whole_.storing_mark = marked && whole_.mappings == 0 ? whole_.last_mark : 0;
  look();  // the size after the last write before the mark
}

Result<void> StagingFile::mapping_begins() {
  const MutexLock lock(mutex_);
  ++whole_.mappings;
  state_.stored_mark = 0;
  whole_.storing_mark = 0;
  return rewrite_sidecar();
}

void StagingFile::mapping_ends() {
  const MutexLock lock(mutex_);
  --whole_.mappings;
}

std::optional<std::chrono::system_clock::time_point> StagingFile::take_write_time() {
  const MutexLock lock(mutex_);
  look();
  if (!std::exchange(whole_.is_last_write_new, false)) return std::nullopt;
  return whole_.last_write;
}

}  // namespace s3rdmafs::upload
