// SPDX-License-Identifier: Apache-2.0
#include "vfs/files/written_files.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace s3rdmafs::vfs {
namespace {

// The kernel returns for a reserved file within microseconds, or as soon as a busy machine lets it,
// unless the opening process was killed in between.
constexpr std::chrono::seconds kReservationEnds{5};

std::unexpected<Error> busy(const std::string& key) {
  return fail(ErrorCode::kBusy, "'" + key + "' is being written already");
}

}  // namespace

std::shared_ptr<WrittenFile> WrittenFiles::find_locked(const std::string& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  if (found->second->is_claimed() ||
      clock_.now() < found->second->reserved_at() + kReservationEnds) {
    return found->second;
  }
  by_key_.erase(found);
  return nullptr;
}

Result<std::shared_ptr<WrittenFile>> WrittenFiles::begin(const std::string& key, ProcessId process,
                                                         WrittenFile::Base base) {
  std::uint64_t number = 0;
  {
    const MutexLock lock(mutex_);
    number = ++last_number_;
  }
  auto file = std::make_shared<WrittenFile>(uploads_, key, number, clock_.wall_now(), base);
  file->reserve(process, clock_.now(), std::move(base));
  if (auto shown = show(file); !shown) return std::unexpected(shown.error());
  return file;
}

std::shared_ptr<WrittenFile> WrittenFiles::find(const std::string& key) {
  const MutexLock lock(mutex_);
  return find_locked(key);
}

Result<void> WrittenFiles::show(const std::shared_ptr<WrittenFile>& file) {
  const MutexLock lock(mutex_);
  if (auto other = find_locked(file->key()); other && other != file) return busy(file->key());
  by_key_[file->key()] = file;
  return {};
}

void WrittenFiles::hide(const WrittenFile& file) {
  const MutexLock lock(mutex_);
  const auto found = by_key_.find(file.key());
  if (found != by_key_.end() && found->second.get() == &file) by_key_.erase(found);
}

bool WrittenFiles::any_below(const std::string& prefix) const {
  const MutexLock lock(mutex_);
  const auto found = by_key_.lower_bound(prefix);
  return found != by_key_.end() && found->first.starts_with(prefix);
}

std::uint64_t WrittenFiles::open(const std::shared_ptr<WrittenFile>& file) {
  const MutexLock lock(mutex_);
  open_.insert(file);
  return handles_.add(file);
}

std::shared_ptr<WrittenFile> WrittenFiles::release(std::uint64_t handle) {
  const MutexLock lock(mutex_);
  std::shared_ptr<WrittenFile> file = handles_.remove<WrittenFile>(handle);
  if (file) open_.erase(file);
  return file;
}

std::vector<std::shared_ptr<WrittenFile>> WrittenFiles::open_files() const {
  const MutexLock lock(mutex_);
  return {open_.begin(), open_.end()};
}

std::vector<std::shared_ptr<WrittenFile>> WrittenFiles::all_of(const std::string& key) {
  std::vector<std::shared_ptr<WrittenFile>> files;
  const MutexLock lock(mutex_);
  if (auto shown = find_locked(key)) files.push_back(std::move(shown));
  for (const auto& file : open_) {
    const bool is_first = files.empty() || files.front() != file;
    if (file->key() == key && is_first) files.push_back(file);
  }
  return files;
}

std::vector<std::shared_ptr<WrittenFile>> WrittenFiles::all_below(const std::string& prefix) {
  std::unordered_set<std::shared_ptr<WrittenFile>> files;
  const MutexLock lock(mutex_);
  for (auto at = by_key_.lower_bound(prefix); at != by_key_.end() && at->first.starts_with(prefix);
       ++at) {
    files.insert(at->second);
  }
  for (const auto& file : open_) {
    if (file->key().starts_with(prefix)) files.insert(file);
  }
  return {files.begin(), files.end()};
}

bool WrittenFiles::has_any_of(const std::string& key) const {
  const MutexLock lock(mutex_);
  return by_key_.contains(key) ||
         std::ranges::any_of(open_, [&key](const auto& file) { return file->key() == key; });
}

bool WrittenFiles::has_any_in(const std::string& prefix) const {
  const auto is_in = [&prefix](const std::string& key) {
    return key.starts_with(prefix) && !key.substr(prefix.size()).contains('/');
  };
  const MutexLock lock(mutex_);
  for (auto at = by_key_.lower_bound(prefix); at != by_key_.end() && at->first.starts_with(prefix);
       ++at) {
    if (is_in(at->first)) return true;
  }
  return std::ranges::any_of(open_, [&is_in](const auto& file) { return is_in(file->key()); });
}

void WrittenFiles::supersede_others(const std::string& key, const WrittenFile* by) {
  for (const auto& file : all_of(key)) {
    if (file.get() != by && file->is_claimed()) file->supersede();
  }
}

void WrittenFiles::work_begins() {
  const MutexLock lock(mutex_);
  ++work_;
}

void WrittenFiles::work_ends() {
  const MutexLock lock(mutex_);
  if (--work_ == 0) work_done_.notify_all();
}

void WrittenFiles::wait_for_work(Deadline deadline) {
  const MutexLock lock(mutex_);
  while (work_ > 0 && work_done_.wait_until(mutex_, deadline)) {
  }
}

}  // namespace s3rdmafs::vfs
