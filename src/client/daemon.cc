// SPDX-License-Identifier: Apache-2.0
// Fork. A child begins with the parts that its parent had, and with no connection: it closes the
// inherited ones, since two processes must not read each other's answers. Locks that a thread of
// the parent held are made new, because that thread does not exist in the child. A child of
// vfork(2) has its parent's memory and is not told: it asks for nothing.
#include "client/daemon.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <utility>

#include "client/attached_file.h"

namespace s3rdmafs::client {
namespace {

// So many threads wait for a part at the same time; others read through the mount meanwhile.
constexpr std::size_t kConnectionsMax = 16;
// A path in an attribute is no longer than a socket's may be (unix(7)).
constexpr std::size_t kPathBytesMax = 128;

// A part that this process has given up counts at the daemon until it hears of it, on another
// connection: a quarter of the limit is left for that, as long as something can be given up.
constexpr std::uint64_t kUsedOfLimit = 3;
constexpr std::uint64_t kLimit = 4;

// Where the mount's own path does not exist, as in a container.
constexpr const char* kSocketVariable = "S3RDMAFS_ATTACH_SOCKET";

struct Mounts {
  Mutex mutex;  // leaf
  std::map<std::string, std::unique_ptr<Daemon>> by_socket GUARDED_BY(mutex);
};

// Never destroyed: other libraries read files until the very end of the process.
Mounts& mounts() {
  static auto* const all = new Mounts;
  return *all;
}

std::string socket_path_of(int fd) {
  char path[kPathBytesMax];
  const ssize_t n = sys::get_attribute(fd, attach::kSocketAttribute, path, sizeof(path));
  if (n <= 0) return {};
  std::string told(path, static_cast<std::size_t>(n));
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const char* const other = std::getenv(kSocketVariable);
  return other != nullptr && ::access(told.c_str(), F_OK) != 0 ? other : told;
}

}  // namespace

Daemon* Daemon::of(int fd, const struct statx& found) {
  // File systems like FUSE have major number 0, those of disks another.
  const std::string path = found.stx_dev_major == 0 ? socket_path_of(fd) : std::string();
  return path.empty() ? nullptr : &at(path);
}

Daemon& Daemon::at(const std::string& socket_path) {
  static const int fork_is_noticed = ::pthread_atfork(nullptr, nullptr, begin_child);
  static_cast<void>(fork_is_noticed);
  Mounts& all = mounts();
  const MutexLock lock(all.mutex);
  auto& known = all.by_socket[socket_path];
  if (!known) known.reset(new Daemon(socket_path));
  return *known;
}

void Daemon::begin_child() {
  Mounts& all = mounts();
  new (&all.mutex) Mutex;
  const MutexLock lock(all.mutex);
  for (const auto& [path, daemon] : all.by_socket) {
    daemon->pid_ = ::getpid();
    new (&daemon->connections_mutex_) Mutex;
    new (&daemon->files_mutex_) Mutex;
    {
      const MutexLock connections(daemon->connections_mutex_);
      daemon->idle_.clear();
      daemon->open_ = 0;
    }
    const MutexLock files(daemon->files_mutex_);
    for (AttachedFile* const file : daemon->files_) file->begin_child();
  }
}

std::optional<Daemon::Taken> Daemon::take() {
  if (pid_ != ::getpid()) return std::nullopt;
  {
    const MutexLock lock(connections_mutex_);
    if (!idle_.empty()) {
      Taken taken{.connection = std::move(idle_.back()), .was_idle = true};
      idle_.pop_back();
      return taken;
    }
    if (open_ >= kConnectionsMax) return std::nullopt;
    ++open_;
  }
  if (auto made = Connection::connect(socket_path_.c_str())) return Taken{*std::move(made)};
  const MutexLock lock(connections_mutex_);
  --open_;
  return std::nullopt;
}

// One that was of use and is no more shows that the idle ones are not either: the daemon has ended.
// A new one may only have been refused, and the tickets are the others'.
void Daemon::give_back(Taken taken, bool is_sound) {
  const MutexLock lock(connections_mutex_);
  if (is_sound) return idle_.push_back(std::move(taken.connection));
  const std::size_t others = taken.was_idle ? idle_.size() : 0;
  open_ -= std::min(open_, 1 + others);
  if (taken.was_idle) idle_.clear();
}

std::optional<Connection::Answer> Daemon::ask(const attach::Request& request, int descriptor,
                                              std::chrono::milliseconds time) {
  while (true) {
    auto taken = take();
    if (!taken) return std::nullopt;
    const bool was_idle = taken->was_idle;
    auto answer = taken->connection.ask(request, descriptor, time);
    give_back(*std::move(taken), answer.has_value());
    // Another daemon may serve at this path since.
    if (answer || !was_idle) return answer;
  }
}

std::vector<std::optional<Connection::Answer>> Daemon::ask_together(
    std::span<const attach::Request> requests, std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  std::vector<std::optional<Taken>> asked;
  asked.reserve(requests.size());
  for (const attach::Request& request : requests) {
    auto taken = take();
    if (taken && !taken->connection.tell(request)) {
      give_back(*std::exchange(taken, std::nullopt), false);
    }
    asked.push_back(std::move(taken));
  }
  std::vector<std::optional<Connection::Answer>> answers(requests.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!asked[i]) continue;
    const auto left = end - std::chrono::steady_clock::now();
    answers[i] =
        asked[i]->connection.hear(std::chrono::duration_cast<std::chrono::milliseconds>(left));
    give_back(*std::move(asked[i]), answers[i].has_value());
  }
  return answers;
}

void Daemon::tell(const attach::Request& request) {
  auto taken = take();
  if (!taken) return;
  const bool is_told = taken->connection.tell(request);
  give_back(*std::move(taken), is_told);
}

void Daemon::add(AttachedFile& file) {
  const MutexLock lock(files_mutex_);
  files_.push_back(&file);
}

void Daemon::remove(AttachedFile& file) {
  const MutexLock lock(files_mutex_);
  std::erase(files_, &file);
}

bool Daemon::has_room(std::uint64_t length_bytes) const {
  return held_bytes_ == 0 || held_bytes_ + length_bytes <= bytes_max_ / kLimit * kUsedOfLimit;
}

bool Daemon::make_room(std::uint64_t length_bytes) {
  while (!has_room(length_bytes) && give_up_one()) {
  }
  return held_bytes_ == 0 || held_bytes_ + length_bytes <= bytes_max_;
}

bool Daemon::give_up_one() {
  const MutexLock lock(files_mutex_);
  AttachedFile* oldest = nullptr;
  AttachedFile::Idle found{.used_at = UINT64_MAX};
  for (AttachedFile* const file : files_) {
    const auto idle = file->oldest_idle();
    if (idle && idle->used_at < found.used_at) {
      oldest = file;
      found = *idle;
    }
  }
  // Where another thread began to use it just now, the caller looks again.
  if (oldest == nullptr) return false;
  oldest->give_up(found.part);
  return true;
}

}  // namespace s3rdmafs::client
