// SPDX-License-Identifier: Apache-2.0
#include "vfs/files/open_files.h"

namespace s3rdmafs::vfs {

OpenFiles::OpenFiles(cache::ReadCache& cache, HandleTable& handles, metrics::Registry& metrics)
    : cache_(cache),
      handles_(handles),
      open_files_(metrics.gauge("vfs_open_files", "File handles that are open.")) {}

std::uint64_t OpenFiles::open(Ino ino, const s3::ObjectInfo& object, std::uint64_t generation) {
  open_files_.add(1);
  return handles_.add<const OpenVersion>(
      std::make_shared<OpenVersion>(ino, object, generation, share(object, generation)));
}

std::shared_ptr<cache::ObjectReader> OpenFiles::share(const s3::ObjectInfo& object,
                                                      std::uint64_t generation) {
  const Version version{object.key, object.etag, generation};
  {
    const MutexLock lock(mutex_);
    if (const auto found = readers_.find(version); found != readers_.end()) {
      ++found->second.handles;
      return found->second.reader;
    }
  }
  // Made without the lock. If two threads come here at once, the second reader is dropped unused.
  auto reader = cache_.open({object.key, object.etag, object.size_bytes, generation});
  const MutexLock lock(mutex_);
  SharedReader& shared = readers_[version];
  if (!shared.reader) {
    shared.reader = reader;
    if (const auto move = moves_.find(version); move != moves_.end()) {
      shared.moved_to = move->second;
    }
  }
  ++shared.handles;
  return shared.reader;
}

void OpenFiles::moving(const s3::ObjectInfo& from, std::uint64_t from_generation,
                       const s3::ObjectInfo& to, std::uint64_t to_generation) {
  const MutexLock lock(mutex_);
  begun_.insert_or_assign({from.key, from.etag, from_generation},
                          cache::ObjectVersion{to.key, to.etag, to.size_bytes, to_generation});
}

void OpenFiles::moved(const s3::ObjectInfo& from, std::uint64_t from_generation,
                      const s3::ObjectInfo& to, std::uint64_t to_generation) {
  const cache::ObjectVersion target{to.key, to.etag, to.size_bytes, to_generation};
  const MutexLock lock(mutex_);
  moves_.insert_or_assign({from.key, from.etag, from_generation}, target);
  for (auto& [version, shared] : readers_) {
    const bool is_source = version == Version{from.key, from.etag, from_generation};
    const bool was_moved_there = shared.moved_to && shared.moved_to->key == from.key &&
                                 shared.moved_to->etag == from.etag &&
                                 shared.moved_to->generation == from_generation;
    if (is_source || was_moved_there) shared.moved_to = target;
  }
}

void OpenFiles::move_ended(const s3::ObjectInfo& from, std::uint64_t from_generation) {
  const MutexLock lock(mutex_);
  begun_.erase({from.key, from.etag, from_generation});
  moves_.erase({from.key, from.etag, from_generation});
}

std::optional<cache::ObjectVersion> OpenFiles::moved_from(const OpenVersion& file,
                                                          const cache::ObjectVersion& tried) {
  Version now{file.object.key, file.object.etag, file.generation};
  const MutexLock lock(mutex_);
  const auto found = readers_.find(now);
  if (found != readers_.end() && found->second.moved_to) {
    const cache::ObjectVersion& there = *found->second.moved_to;
    now = {there.key, there.etag, there.generation};
    if (now != Version{tried.key, tried.etag, tried.generation}) return there;
  }
  const auto begun = begun_.find(now);
  if (begun == begun_.end()) return std::nullopt;
  return begun->second;
}

void OpenFiles::prefetch(const s3::ObjectInfo& object, std::uint64_t generation) {
  cache_.prefetch({object.key, object.etag, object.size_bytes, generation});
}

std::optional<Ino> OpenFiles::release(std::uint64_t handle) {
  const std::shared_ptr<const OpenVersion> file = handles_.remove<const OpenVersion>(handle);
  if (!file) return std::nullopt;
  open_files_.add(-1);
  SharedReader last;  // destroyed after the lock, since that calls the cache
  const MutexLock lock(mutex_);
  const auto found = readers_.find({file->object.key, file->object.etag, file->generation});
  if (--found->second.handles > 0) return file->ino;
  last = std::move(found->second);
  readers_.erase(found);
  return file->ino;
}

}  // namespace s3rdmafs::vfs
