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
// Kept objects (object_cache_keep.cc) are those that were asked for ahead of time: any size, never
// evicted. Spare files (object_cache_spares.cc) are made ahead of the opens that need them. Both
// may take long to clear, which a thread of its own does.
//
// Late writes. Where a fetch ended with one possible, the object was never seen by anybody, and
// the file stays busy until its region has been renewed, which is tried once a second.
#include "cache/whole/object_cache.h"

#include <algorithm>
#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::cache {
namespace {

constexpr std::string_view kDeclined = "passthrough_declined_total";
constexpr std::string_view kDeclinedHelp = "Opens that were not passed through, by reason";
constexpr std::string_view kOpens = "cache_object_opens_total";
constexpr std::string_view kOpensHelp = "Opens of whole objects by what they found";

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
      being_fetched_(metrics.counter(kDeclined, kDeclinedHelp, R"(reason="being_fetched")")),
      late_writes_(metrics.counter("cache_object_quarantines_total",
                                   "Object files withheld because a late write was possible")),
      bytes_(metrics.gauge("cache_object_bytes", "Memory of whole objects")),
      files_(metrics.gauge("cache_object_files", "Files of whole objects")),
      kept_bytes_(metrics.gauge("cache_object_kept_bytes",
                                "Bytes of objects that were made resident to stay")),
      kept_objects_(metrics.gauge("cache_object_kept", "Objects that were made resident to stay")),
      spares_made_(metrics.counter("cache_object_spare_files_total",
                                   "Files of whole objects made ahead of need")),
      pool_(options.limits),
      thread_("cache-objects", clock, [this] { quarantine_.retry(); }),
      makers_("cache-files", clock, [] {}) {}

ObjectCache::~ObjectCache() { shut_down(); }

void ObjectCache::shut_down() {
  {
    const MutexLock lock(mutex_);
    is_shut_down_ = true;
  }
  // In this order: what this one begins, that one finishes. What that one would give to this one
  // from now on, it does itself.
  makers_.finish();
  thread_.finish();
}

void ObjectCache::open(ObjectVersion version, Deadline deadline, Opened done) {
  const bool is_for_open = version.size_bytes >= options_.object_bytes_min &&
                           version.size_bytes <= options_.object_bytes_max;
  std::shared_ptr<Entry> resident;
  Error no{ErrorCode::kNoMemory, "no room for a file of its own"};
  int fd = -1;
  std::shared_ptr<Preparation> preparation;
  {
    const MutexLock lock(mutex_);
    if (const auto found = entries_.find(index_key(version)); found != entries_.end()) {
      Entry& entry = *found->second;
      if (entry.is_resident) {
        hits_.add();
        if (entry.users++ == 0) pool_.set_busy(entry.file_id);
        resident = found->second;
        fd = slots_.at(entry.file_id).file->fd();
      } else if (entry.is_for_open) {
        hits_.add();
        entry.waiters.push_back(std::move(done));
        return;
      } else {  // by who may wait longer than an open
        being_fetched_.add();
        no = {ErrorCode::kBusy, "the object is still being made resident"};
      }
    } else if (!is_for_open) {
      no = {ErrorCode::kUnsupported, "the object's size is not for a file of its own"};
    } else if (is_shut_down_) {
      no = {ErrorCode::kCancelled, "the mount ends"};
    } else if (auto room = take_room(version)) {
      preparation =
          begin(*room, std::move(version),
                {.part_deadline = [end = fetch_deadline(clock_.now(), deadline)] { return end; }});
      preparation->entry->is_for_open = true;
      preparation->entry->waiters.push_back(std::exchange(done, nullptr));
    } else if (may_fit_after_spare(version)) {
      after_spare_.push_back(
          [this, version = std::move(version), deadline, done = std::move(done)]() mutable {
            if (clock_.now() >= deadline) {
              no_room_.add();
              return done(fail(ErrorCode::kTimedOut, "no room for a file of its own in time"));
            }
            open(std::move(version), deadline, std::move(done));
          });
      return;
    } else {
      no_room_.add();
    }
  }
  if (resident) return done(std::make_shared<Handle>(*this, std::move(resident), fd));
  if (!preparation) return done(std::unexpected(std::move(no)));
  fetches_.add();
  want_spares(file_bytes(preparation->entry->version.size_bytes));
  start(std::move(preparation));
}

void ObjectCache::start(std::shared_ptr<Preparation> preparation) {
  thread_.post([this, preparation = std::move(preparation)] { prepare(preparation); });
}

std::optional<ObjectPool::Room> ObjectCache::take_room(const ObjectVersion& version) {
  return pool_.take(file_bytes(version.size_bytes), [this](ObjectPool::FileId id) REQUIRES(mutex_) {
    return slots_.at(id).file->is_held_elsewhere();
  });
}

std::shared_ptr<ObjectCache::Preparation> ObjectCache::begin(const ObjectPool::Room& room,
                                                             ObjectVersion version,
                                                             FetchTerms terms) {
  auto made = std::make_shared<Preparation>();
  made->terms = std::move(terms);
  made->dropped_bytes = room.dropped_bytes;
  for (const ObjectPool::FileId id : room.dropped) made->dropped.push_back(forget(id));
  Slot slot;
  if (room.reused) slot.file = forget(room.file);
  made->file = slot.file.get();
  made->entry = std::make_shared<Entry>();
  made->entry->version = std::move(version);
  made->entry->file_id = room.file;
  slot.entry = made->entry;
  entries_.emplace(index_key(made->entry->version), made->entry);
  slots_.emplace(room.file, std::move(slot));
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

void ObjectCache::prepare(const std::shared_ptr<Preparation>& preparation) {
  const auto file = file_for(*preparation);
  if (!file) return give_up(preparation->entry, file.error());
  preparation->file = *file;
  // Those who open other objects do not wait until a large file is cleared.
  const bool is_large = preparation->entry->version.size_bytes > options_.object_bytes_max;
  if (is_large && makers_.post([this, preparation] { fill(*preparation); })) return;
  fill(*preparation);
}

Result<ObjectFile*> ObjectCache::file_for(Preparation& preparation) {
  if (!preparation.dropped.empty()) {
    preparation.dropped.clear();
    const MutexLock lock(mutex_);
    pool_.set_closed(preparation.dropped_bytes);
  }
  if (preparation.file != nullptr) return preparation.file;
  const Entry& entry = *preparation.entry;
  auto made = make_file(file_bytes(entry.version.size_bytes));
  if (!made) return std::unexpected(made.error());
  ObjectFile* const file = made->get();
  const MutexLock lock(mutex_);
  slots_.at(entry.file_id).file = std::move(*made);
  return file;
}

Result<std::unique_ptr<ObjectFile>> ObjectCache::make_file(std::uint64_t capacity_bytes) const {
  auto empty = make_file_();
  if (!empty) return std::unexpected(empty.error());
  return ObjectFile::create(std::move(*empty), capacity_bytes);
}

void ObjectCache::fill(Preparation& preparation) {
  const std::shared_ptr<Entry>& entry = preparation.entry;
  ObjectFile* const file = preparation.file;
  if (auto begun = file->begin_fill(fabric_, options_.lock); !begun) {
    thread_.post([this, entry, error = begun.error()] { give_up(entry, error); });
    return;
  }
  fetch_object(store_, entry->version, file->region(), std::move(preparation.terms),
               [this, entry, file](std::expected<void, s3::GetFailure> outcome) {
                 thread_.post([this, entry, file, outcome = std::move(outcome)]() mutable {
                   finish(entry, *file, std::move(outcome));
                 });
               });
}

// Closed before its room is given to others.
void ObjectCache::give_up(const std::shared_ptr<Entry>& entry, const Error& error) {
  spdlog::debug("cache: no file for '{}': {}", entry->version.key, error.detail);
  std::unique_ptr<ObjectFile> unusable;
  {
    const MutexLock lock(mutex_);
    unusable = forget(entry->file_id);
  }
  unusable.reset();
  {
    const MutexLock lock(mutex_);
    pool_.remove(entry->file_id);
    update_gauges();
  }
  fail_waiters(entry, error, no_file_);
}

void ObjectCache::finish(const std::shared_ptr<Entry>& entry, ObjectFile& file,
                         std::expected<void, s3::GetFailure> outcome) {
  if (outcome) {
    if (auto cut = file.end_fill(entry->version.size_bytes); !cut) {
      outcome = std::unexpected(s3::GetFailure{.error = cut.error()});
    }
  }
  if (outcome) return publish(entry);

  spdlog::debug("cache: '{}' was not fetched whole: {}", entry->version.key,
                outcome.error().error.detail);
  {
    const MutexLock lock(mutex_);
    entries_.erase(index_key(entry->version));
    slots_.at(entry->file_id).entry = nullptr;
  }
  if (outcome.error().late_write_possible) {
    late_writes_.add();
    quarantine_.add(file.region(), [this, id = entry->file_id, &file] { empty(id, file); });
  } else {
    empty(entry->file_id, file);
  }
  fail_waiters(entry, outcome.error().error, fetch_failed_);
}

void ObjectCache::publish(const std::shared_ptr<Entry>& entry) {
  std::vector<Opened> waiters;
  std::vector<Keeping> keepers;
  int fd = -1;
  {
    const MutexLock lock(mutex_);
    entry->is_resident = true;
    waiters = std::exchange(entry->waiters, {});
    keepers = std::exchange(entry->keepers, {});
    entry->users = waiters.size();
    fd = slots_.at(entry->file_id).file->fd();
    if (!keepers.empty()) mark_kept(entry);
  }
  for (Opened& done : waiters) done(std::make_shared<Handle>(*this, entry, fd));
  for (Keeping& done : keepers) done(Kept::kFetched);
}

void ObjectCache::fail_waiters(const std::shared_ptr<Entry>& entry, const Error& error,
                               metrics::Counter& declined) {
  std::vector<Opened> waiters;
  std::vector<Keeping> keepers;
  {
    const MutexLock lock(mutex_);
    waiters = std::exchange(entry->waiters, {});
    keepers = std::exchange(entry->keepers, {});
  }
  if (!waiters.empty()) declined.add();
  for (Opened& done : waiters) done(std::unexpected(error));
  for (Keeping& done : keepers) done(std::unexpected(error));
}

// Ends the registration and drops the bytes. Where that fails the file stays busy for good.
void ObjectCache::empty(ObjectPool::FileId id, ObjectFile& file) {
  if (const auto emptied = file.end_fill(0); !emptied) {
    spdlog::error("cache: a file could not be emptied: {}; its memory stays out of use",
                  emptied.error().detail);
    return;
  }
  const MutexLock lock(mutex_);
  pool_.set_empty(id);
}

void ObjectCache::update_gauges() {
  bytes_.set(static_cast<std::int64_t>(pool_.bytes()));
  files_.set(static_cast<std::int64_t>(pool_.files()));
}

}  // namespace s3rdmafs::cache
