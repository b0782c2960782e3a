// SPDX-License-Identifier: Apache-2.0
// Which staged file a name or an inode is.
//
// A name stands for its file only while the store lacks something of it. A file that is stored and
// still open leaves its name to the store's answer: that is its own version, whose inode is the
// same, or another client's.
#include "vfs/staged/staged_files.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace s3rdmafs::vfs {
namespace {

// The kernel returns for a reserved file within microseconds, or as soon as a busy machine lets it,
// unless the opening process was killed in between.
constexpr std::chrono::seconds kNameIsReservedFor{5};

}  // namespace

bool StagedFiles::is_reserved(const Named& named) const {
  return clock_.now() < named.reserved_until;
}

void StagedFiles::on_moved(const std::string& from, const std::string& to) {
  if (changed_.has(from)) changed_.add(to);
}

Result<void> StagedFiles::name(const std::shared_ptr<StagedFile>& file) {
  return name(file, SeenAt::min());
}

Result<void> StagedFiles::reserve_name(const std::shared_ptr<StagedFile>& file) {
  return name(file, clock_.now() + kNameIsReservedFor);
}

Result<void> StagedFiles::name(const std::shared_ptr<StagedFile>& file, SeenAt reserved_until) {
  const std::string key = file->key();
  changed_.add(key);
  const std::shared_ptr<StagedFile> former = find(key);
  const std::shared_ptr<StagedFile> newer = find_newer(key);
  const auto ended = take_ended_reservations();
  for (const auto& unused : ended) unused->close();
  const MutexLock lock(mutex_);
  const auto found = by_key_.find(key);
  const auto present = found == by_key_.end() ? nullptr : found->second.file;
  const bool is_ended = present == nullptr && std::ranges::find(ended, former) != ended.end();
  if ((present != former && !is_ended) || (newer && newer != file)) {
    return fail(ErrorCode::kStale, "'" + key + "' has just been opened by another process");
  }
  by_key_.insert_or_assign(key, Named{.file = file, .reserved_until = reserved_until});
  if (reserved_until != SeenAt::min()) {
    reservations_.push_back({.until = reserved_until, .key = key});
  }
  return {};
}

std::vector<std::shared_ptr<StagedFile>> StagedFiles::take_ended_reservations() {
  std::vector<std::shared_ptr<StagedFile>> ended;
  const SeenAt now = clock_.now();
  const MutexLock lock(mutex_);
  while (!reservations_.empty() && reservations_.front().until <= now) {
    const Reservation last = std::move(reservations_.front());
    reservations_.pop_front();
    const auto at = by_key_.find(last.key);
    // The name may have been reserved again since, or opened.
    if (at == by_key_.end() || at->second.reserved_until != last.until) continue;
    if (!detach_unopened(*at->second.file)) continue;
    ended.push_back(at->second.file);
    by_key_.erase(at);
  }
  return ended;
}

bool StagedFiles::detach_unopened(const StagedFile& file) {
  const auto at = inos_.find(&file);
  if (at == inos_.end()) return true;
  const auto open = by_ino_.find(at->second);
  if (open->second.handles > 0) return false;
  by_ino_.erase(open);
  inos_.erase(at);
  --files_;
  return true;
}

std::shared_ptr<StagedFile> StagedFiles::find(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second.file;
}

std::shared_ptr<StagedFile> StagedFiles::find_newer(const std::string& key) {
  std::shared_ptr<StagedFile> file;
  {
    const MutexLock lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    if (is_reserved(found->second)) return found->second.file;
    file = found->second.file;
  }
  return file->is_dirty() ? file : nullptr;
}

void StagedFiles::unname(const StagedFile& file) {
  const std::string key = file.key();
  const MutexLock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found != by_key_.end() && found->second.file.get() == &file) by_key_.erase(found);
}

void StagedFiles::move(const std::shared_ptr<StagedFile>& file, const std::string& from) {
  const std::string key = file->key();
  const MutexLock lock(mutex_);
  const auto found = by_key_.find(from);
  if (found == by_key_.end() || found->second.file != file) return;
  Named named = std::move(found->second);
  by_key_.erase(found);
  if (is_reserved(named)) reservations_.push_back({.until = named.reserved_until, .key = key});
  by_key_.insert_or_assign(key, std::move(named));
}

std::vector<std::shared_ptr<StagedFile>> StagedFiles::below(const std::string& prefix) const {
  std::vector<std::shared_ptr<StagedFile>> files;
  const MutexLock lock(mutex_);
  for (auto at = by_key_.lower_bound(prefix); at != by_key_.end(); ++at) {
    if (!at->first.starts_with(prefix)) break;
    files.push_back(at->second.file);
  }
  return files;
}

std::vector<std::shared_ptr<StagedFile>> StagedFiles::all() const {
  std::vector<std::shared_ptr<StagedFile>> files;
  const MutexLock lock(mutex_);
  for (const auto& [ino, open] : by_ino_) {
    if (open.file) files.push_back(open.file);
  }
  return files;
}

std::shared_ptr<StagedFile> StagedFiles::of(Ino ino) const {
  if (files_ == 0) return nullptr;
  const MutexLock lock(mutex_);
  const auto found = by_ino_.find(ino);
  return found == by_ino_.end() ? nullptr : found->second.file;
}

std::optional<LiveFile> StagedFiles::live(Ino ino) const {
  const std::shared_ptr<StagedFile> file = of(ino);
  if (!file) return std::nullopt;
  return file->live();
}

std::shared_ptr<StagedFile> StagedFiles::attach(Ino ino, const std::shared_ptr<StagedFile>& file) {
  const std::string key = file->key();
  const MutexLock lock(mutex_);
  if (const auto found = by_ino_.find(ino); found != by_ino_.end() && found->second.file) {
    return found->second.file;
  }
  const auto named = by_key_.find(key);
  const bool has_name = named != by_key_.end() && named->second.file == file;
  if (!has_name && !inos_.contains(file.get())) return nullptr;
  // The kernel had forgotten its inode, so no handle of the former number is left.
  if (const auto former = inos_.find(file.get()); former != inos_.end()) {
    by_ino_.erase(former->second);
    --files_;
  }
  by_ino_[ino].file = file;
  inos_[file.get()] = ino;
  ++files_;
  return file;
}

bool StagedFiles::detach(const std::shared_ptr<StagedFile>& file) {
  const std::string key = file->key();
  const MutexLock lock(mutex_);
  const auto at = inos_.find(file.get());
  if (at == inos_.end()) return true;
  const Ino ino = at->second;
  OpenInode& open = by_ino_.at(ino);
  if (open.writers > 0) return false;
  if (const auto named = by_key_.find(key); named != by_key_.end() && named->second.file == file) {
    by_key_.erase(named);
  }
  open.file = nullptr;
  drop_if_unused(ino);
  inos_.erase(at);
  --files_;
  return true;
}

Ino StagedFiles::ino_of(const StagedFile& file) const {
  const MutexLock lock(mutex_);
  const auto found = inos_.find(&file);
  return found == inos_.end() ? 0 : found->second;
}

std::vector<Ino> StagedFiles::open_versions() const {
  std::vector<Ino> inos;
  const MutexLock lock(mutex_);
  for (const auto& [ino, open] : by_ino_) {
    if (!open.file && open.handles > 0) inos.push_back(ino);
  }
  return inos;
}

void StagedFiles::opened(Ino ino, bool may_write) {
  const std::shared_ptr<StagedFile> file = of(ino);
  const std::string key = file ? file->key() : std::string();
  const MutexLock lock(mutex_);
  OpenInode& open = by_ino_[ino];
  ++open.handles;
  if (may_write) ++open.writers;
  // A reservation has served its purpose.
  const auto named = file ? by_key_.find(key) : by_key_.end();
  if (named != by_key_.end() && named->second.file == file) {
    named->second.reserved_until = SeenAt::min();
  }
}

void StagedFiles::closed(Ino ino, bool may_write) {
  const MutexLock lock(mutex_);
  const auto found = by_ino_.find(ino);
  if (found == by_ino_.end()) return;
  --found->second.handles;
  if (may_write) --found->second.writers;
  drop_if_unused(ino);
}

void StagedFiles::drop_if_unused(Ino ino) {
  const auto found = by_ino_.find(ino);
  if (found->second.handles == 0 && !found->second.file) by_ino_.erase(found);
}

bool StagedFiles::has_writers(Ino ino) const {
  const MutexLock lock(mutex_);
  const auto found = by_ino_.find(ino);
  return found != by_ino_.end() && found->second.writers > 0;
}

void StagedFiles::add_writer(std::shared_ptr<const StagedHandle> handle) {
  const MutexLock lock(mutex_);
  by_ino_[handle->ino].writing.push_back(std::move(handle));
}

void StagedFiles::remove_writer(const StagedHandle& handle) {
  const MutexLock lock(mutex_);
  const auto open = by_ino_.find(handle.ino);
  if (open == by_ino_.end()) return;
  std::erase_if(open->second.writing, [&](const auto& writer) { return writer.get() == &handle; });
}

// 0 is every process that the kernel does not name.
bool StagedFiles::is_stored_by(Ino ino, ProcessId process) const {
  const MutexLock lock(mutex_);
  const auto open = by_ino_.find(ino);
  if (process == 0 || open == by_ino_.end()) return false;
  return std::ranges::any_of(open->second.writing, [&](const auto& writer) {
    return writer->process == process && !*writer->is_flushed;
  });
}

bool StagedFiles::let_go(const std::shared_ptr<StagedFile>& file) {
  if (file->is_dirty() || file->turns().is_held()) return false;
  const std::string key = file->key();
  const MutexLock lock(mutex_);
  const auto at = inos_.find(file.get());
  if (at == inos_.end()) return false;
  const Ino ino = at->second;
  const auto open = by_ino_.find(ino);
  if (open == by_ino_.end() || open->second.handles > 0) return false;
  const auto named = by_key_.find(key);
  if (named != by_key_.end() && named->second.file == file) {
    if (is_reserved(named->second)) return false;
    by_key_.erase(named);
  }
  by_ino_.erase(open);
  inos_.erase(at);
  --files_;
  return true;
}

void StagedFiles::work_begins() {
  const MutexLock lock(mutex_);
  ++work_;
}

void StagedFiles::work_ends() {
  const MutexLock lock(mutex_);
  if (--work_ == 0) work_done_.notify_all();
}

bool StagedFiles::has_work() const {
  const MutexLock lock(mutex_);
  return work_ > 0;
}

void StagedFiles::wait_for_work(Deadline deadline) {
  const MutexLock lock(mutex_);
  while (work_ > 0 && clock_.wait_until(work_done_, mutex_, deadline)) {
  }
}

}  // namespace s3rdmafs::vfs
