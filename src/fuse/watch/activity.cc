// SPDX-License-Identifier: Apache-2.0
// The readers of each file, for a person who looks.
//
// A read adds to the entry of its handle, under the lock of one sixteenth of all handles. The names
// of threads, processes and files are not looked up before a user asks: an open of a small file
// must not pay for that.
#include "fuse/watch/activity.h"

#include <algorithm>

namespace s3rdmafs::fuse {
namespace {

void add(Activity::Bytes& to, const Activity::Bytes& bytes) {
  to.read += bytes.read;
  to.written += bytes.written;
}

}  // namespace

void Activity::opened(std::uint64_t handle, vfs::Ino ino, pid_t thread, Way way) {
  Shard& shard = shard_of(handle);
  const MutexLock lock(shard.mutex);
  shard.files[handle] = {.handle = handle, .ino = ino, .thread = thread, .way = way, .bytes = {}};
  if (shard.threads.size() >= kThreadsMax / kShards && !shard.threads.contains(thread)) {
    make_room(shard.threads);
  }
  Totals& totals = shard.threads[thread];
  ++totals.opens;
  totals.last_handle = handle;
}

void Activity::make_room(std::unordered_map<pid_t, Totals>& threads) {
  threads.erase(std::ranges::min_element(threads, {},
                                         [](const auto& each) { return each.second.last_handle; }));
}

void Activity::moved(std::uint64_t handle, Bytes bytes) {
  Shard& shard = shard_of(handle);
  const MutexLock lock(shard.mutex);
  const auto found = shard.files.find(handle);
  if (found != shard.files.end()) add(found->second.bytes, bytes);
}

void Activity::gave(std::uint64_t handle, std::uint64_t bytes) {
  Shard& shard = shard_of(handle);
  const MutexLock lock(shard.mutex);
  const auto found = shard.files.find(handle);
  if (found == shard.files.end()) return;
  found->second.way = Way::kPastFuse;
  found->second.bytes.read += bytes;
}

std::vector<Activity::Opener> Activity::openers_of(vfs::Ino ino) const {
  std::vector<Opener> openers;
  for (const Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    for (const auto& [handle, file] : shard.files) {
      if (file.ino == ino) openers.push_back({.handle = handle, .thread = file.thread});
    }
  }
  return openers;
}

void Activity::released(std::uint64_t handle) {
  Shard& shard = shard_of(handle);
  const MutexLock lock(shard.mutex);
  const auto file = shard.files.find(handle);
  if (file == shard.files.end()) return;
  const auto totals = shard.threads.find(file->second.thread);
  if (totals != shard.threads.end()) add(totals->second.closed, file->second.bytes);
  shard.files.erase(file);
}

Activity::Snapshot Activity::snapshot() const {
  std::vector<File> files;
  std::unordered_map<pid_t, Thread> threads;
  for (const Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    for (const auto& [thread, totals] : shard.threads) {
      Thread& sum = threads.try_emplace(thread, Thread{.thread = thread, .opens = 0, .bytes = {}})
                        .first->second;
      sum.opens += totals.opens;
      add(sum.bytes, totals.closed);
    }
    for (const auto& [handle, file] : shard.files) files.push_back(file);
  }
  for (const File& file : files) {
    const auto thread = threads.find(file.thread);
    if (thread != threads.end()) add(thread->second.bytes, file.bytes);
  }
  Snapshot snapshot{.files = std::move(files), .threads = {}};
  for (const auto& [id, thread] : threads) snapshot.threads.push_back(thread);
  return snapshot;
}

}  // namespace s3rdmafs::fuse
