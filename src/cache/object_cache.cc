// SPDX-License-Identifier: Apache-2.0
// Whole objects, for opens that the kernel then serves alone.
//
// Life of an entry. open() finds none: it takes room in the pool, which may name files to drop, and
// hands both to the cache's thread, since closing, making and registering a file block. The thread
// sends the GETs; when the last has ended, it ends the registration, cuts the file to the object's
// size and answers whoever waits. From then on the entry is resident: it is pinned while anybody
// has it (Handle), and the first to go when it was not used for longest.
//
// The budget is hard. The pool counts a file from the moment it is promised to the moment it is
// given up; the thread closes files before it makes those that take their place, in the order in
// which the pool promised them. So no more memory is taken than the pool counts.
//
// Files that programs still have. A program may have mapped a file that we were told is closed.
// Such a file is not evicted: its memory would stay taken, uncounted, and cutting or filling it
// would show zeros or another object's bytes. It is found by the lease probe (object_file.cc).
//
// Late writes. Where a fetch ended with one possible, the object was never seen by anybody, and
// the file stays busy until its region has been renewed, which is tried once a second.
#include "cache/object_cache.h"

#include <algorithm>
#include <utility>

#include "cache/object_fetch.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::cache {
namespace {

constexpr std::string_view kDeclined = "passthrough_declined_total";
constexpr std::string_view kDeclinedHelp = "Opens that were not passed through, by reason";
constexpr std::string_view kOpens = "cache_object_opens_total";
constexpr std::string_view kOpensHelp = "Opens of whole objects by what they found";

std::string index_key(const ObjectVersion& version) { return version.key + '\0' + version.etag; }

// The plain way of opening must still be able to answer in time after a fetch that led to nothing.
Deadline fetch_deadline(Deadline now, Deadline deadline) { return now + (deadline - now) / 2; }

}  // namespace

/// Pins an entry for as long as somebody has it open.
class ObjectCache::Handle final : public ResidentObject {
 public:
  Handle(ObjectCache& cache, std::shared_ptr<Entry> entry, int fd)
      : cache_(cache), entry_(std::move(entry)), fd_(fd) {}
  ~Handle() override { cache_.unpin(entry_); }

  [[nodiscard]] int fd() const noexcept override { return fd_; }

 private:
  ObjectCache& cache_;
  const std::shared_ptr<Entry> entry_;
  const int fd_;
};

ObjectCache::ObjectCache(MakeFile make_file, s3::ObjectStore& store, rdma::Fabric& fabric,
                         const Clock& clock, metrics::Registry& metrics, Options options)
    : make_file_(std::move(make_file)),
      store_(store),
      fabric_(fabric),
      clock_(clock),
      options_(options),
      hits_(metrics.counter(kOpens, kOpensHelp, R"(result="resident")")),
      fetches_(metrics.counter(kOpens, kOpensHelp, R"(result="fetch")")),
      no_room_(metrics.counter(kDeclined, kDeclinedHelp, R"(reason="no_room")")),
      fetch_failed_(metrics.counter(kDeclined, kDeclinedHelp, R"(reason="fetch_failed")")),
      no_file_(metrics.counter(kDeclined, kDeclinedHelp, R"(reason="no_file")")),
      late_writes_(metrics.counter("cache_object_quarantines_total",
                                   "Object files withheld because a late write was possible")),
      bytes_(metrics.gauge("cache_object_bytes", "Memory of whole objects")),
      files_(metrics.gauge("cache_object_files", "Files of whole objects")),
      pool_(options.limits),
      thread_("cache-objects", [this] { fence_late_writes(); }) {}

ObjectCache::~ObjectCache() { shut_down(); }

void ObjectCache::shut_down() {
  {
    const MutexLock lock(mutex_);
    is_shut_down_ = true;
  }
  thread_.finish();
}

void ObjectCache::open(ObjectVersion version, Deadline deadline, Opened done) {
  if (version.size_bytes < options_.object_bytes_min ||
      version.size_bytes > options_.object_bytes_max) {
    return done(fail(ErrorCode::kUnsupported, "the object's size is not for a file of its own"));
  }
  std::shared_ptr<Entry> resident;
  int fd = -1;
  std::shared_ptr<Preparation> preparation;
  {
    const MutexLock lock(mutex_);
    if (const auto found = entries_.find(index_key(version)); found != entries_.end()) {
      Entry& entry = *found->second;
      hits_.add();
      if (!entry.is_resident) {
        entry.waiters.push_back(std::move(done));
        return;
      }
      if (entry.users++ == 0) pool_.set_busy(entry.file_id);
      resident = found->second;
      fd = slots_.at(entry.file_id).file->fd();
    } else if (!is_shut_down_) {
      preparation = begin(std::move(version), deadline, done);
    }
  }
  if (resident) return done(std::make_shared<Handle>(*this, std::move(resident), fd));
  if (!preparation) return done(fail(ErrorCode::kNoMemory, "no room for a file of its own"));
  fetches_.add();
  thread_.post([this, preparation] { prepare(*preparation); });
}

std::shared_ptr<ObjectCache::Preparation> ObjectCache::begin(ObjectVersion version,
                                                             Deadline deadline, Opened& done) {
  const std::uint64_t capacity = round_up(version.size_bytes, kHugePageBytes);
  auto room = pool_.take(capacity, [this](ObjectPool::FileId id) REQUIRES(mutex_) {
    return slots_.at(id).file->is_held_elsewhere();
  });
  if (!room) {
    no_room_.add();
    return nullptr;
  }
  auto made = std::make_shared<Preparation>();
  made->deadline = fetch_deadline(clock_.now(), deadline);
  for (const ObjectPool::FileId id : room->dropped) made->dropped.push_back(forget(id));
  Slot slot;
  if (room->reused) slot.file = forget(room->file);
  made->reused = slot.file.get();
  made->entry = std::make_shared<Entry>();
  made->entry->version = std::move(version);
  made->entry->file_id = room->file;
  made->entry->waiters.push_back(std::move(done));
  slot.entry = made->entry;
  entries_.emplace(index_key(made->entry->version), made->entry);
  slots_.emplace(room->file, std::move(slot));
  update_gauges();
  return made;
}

std::unique_ptr<ObjectFile> ObjectCache::forget(ObjectPool::FileId id) {
  auto node = slots_.extract(id);
  if (node.mapped().entry) entries_.erase(index_key(node.mapped().entry->version));
  return std::move(node.mapped().file);
}

void ObjectCache::unpin(const std::shared_ptr<Entry>& entry) {
  const MutexLock lock(mutex_);
  if (--entry->users == 0) pool_.set_idle(entry->file_id);
}

// The thread

void ObjectCache::prepare(Preparation& preparation) {
  const std::shared_ptr<Entry>& entry = preparation.entry;
  const auto file = ready_file(preparation);
  if (!file) {
    no_file_.add();
    spdlog::debug("cache: no file for '{}': {}", entry->version.key, file.error().detail);
    std::unique_ptr<ObjectFile> unusable;
    {
      const MutexLock lock(mutex_);
      pool_.remove(entry->file_id);
      unusable = forget(entry->file_id);
      update_gauges();
    }
    fail_waiters(entry, file.error());
    return;
  }
  fetch_object(store_, entry->version, (*file)->region(), preparation.deadline,
               [this, entry, file = *file](std::expected<void, s3::GetFailure> outcome) {
                 thread_.post([this, entry, file, outcome = std::move(outcome)]() mutable {
                   finish(entry, *file, std::move(outcome));
                 });
               });
}

Result<ObjectFile*> ObjectCache::ready_file(Preparation& preparation) {
  preparation.dropped.clear();
  ObjectFile* file = preparation.reused;
  if (file == nullptr) {
    auto empty = make_file_();
    if (!empty) return std::unexpected(empty.error());
    const Entry& entry = *preparation.entry;
    auto made =
        ObjectFile::create(std::move(*empty), round_up(entry.version.size_bytes, kHugePageBytes));
    if (!made) return std::unexpected(made.error());
    file = made->get();
    const MutexLock lock(mutex_);
    slots_.at(entry.file_id).file = std::move(*made);
  }
  if (auto begun = file->begin_fill(fabric_, options_.lock); !begun) {
    return std::unexpected(begun.error());
  }
  return file;
}

void ObjectCache::finish(const std::shared_ptr<Entry>& entry, ObjectFile& file,
                         std::expected<void, s3::GetFailure> outcome) {
  if (outcome) {
    if (auto cut = file.end_fill(entry->version.size_bytes); !cut) {
      outcome = std::unexpected(s3::GetFailure{.error = cut.error()});
    }
  }
  if (outcome) return publish(entry);

  fetch_failed_.add();
  spdlog::debug("cache: '{}' was not fetched whole: {}", entry->version.key,
                outcome.error().error.detail);
  {
    const MutexLock lock(mutex_);
    entries_.erase(index_key(entry->version));
    slots_.at(entry->file_id).entry = nullptr;
  }
  if (outcome.error().late_write_possible) {
    late_writes_.add();
    unfenced_.emplace(entry->file_id, &file);
  } else if (!empty(entry->file_id, file)) {
    spdlog::error("cache: a file could not be emptied and stays out of use");
  }
  fail_waiters(entry, outcome.error().error);
}

void ObjectCache::publish(const std::shared_ptr<Entry>& entry) {
  std::vector<Opened> waiters;
  int fd = -1;
  {
    const MutexLock lock(mutex_);
    entry->is_resident = true;
    waiters = std::exchange(entry->waiters, {});
    entry->users = waiters.size();
    fd = slots_.at(entry->file_id).file->fd();
  }
  for (Opened& done : waiters) done(std::make_shared<Handle>(*this, entry, fd));
}

void ObjectCache::fail_waiters(const std::shared_ptr<Entry>& entry, const Error& error) {
  std::vector<Opened> waiters;
  {
    const MutexLock lock(mutex_);
    waiters = std::exchange(entry->waiters, {});
  }
  for (Opened& done : waiters) done(std::unexpected(error));
}

// Its region goes, and its bytes with it; false where it must stay busy for good.
bool ObjectCache::empty(ObjectPool::FileId id, ObjectFile& file) {
  if (!file.end_fill(0)) return false;
  const MutexLock lock(mutex_);
  pool_.set_empty(id);
  return true;
}

// The first that fails ends the round: a server that does not answer would hold up the jobs behind.
void ObjectCache::fence_late_writes() {
  while (!unfenced_.empty()) {
    const auto [id, file] = *unfenced_.begin();
    if (!file->region().renew() || !empty(id, *file)) return;
    unfenced_.erase(id);
  }
}

void ObjectCache::update_gauges() {
  bytes_.set(static_cast<std::int64_t>(pool_.bytes()));
  files_.set(static_cast<std::int64_t>(pool_.files()));
}

}  // namespace s3rdmafs::cache
