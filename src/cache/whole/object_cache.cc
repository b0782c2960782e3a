// SPDX-License-Identifier: Apache-2.0
// Whole objects, for opens that the kernel then serves alone, and parts of objects, for programs
// that read past FUSE (daemon/attach/).
//
// Life of an entry. If open() finds none, it takes room in the pool, which may name files to drop.
// It hands both to the cache's thread, since closing, making and registering a file block. The
// thread sends the GETs. When the last has ended, it ends the registration, cuts the file to the
// object's size and answers the requests that wait. From then on the entry is resident: it has a
// user while it is open (Handle) or pinned, and without users it is evicted, the least recently
// used one first.
//
// The budget is hard. The pool counts a file from the moment it is promised to the moment it is
// given up. The thread closes files before it makes those that take their place, in the order in
// which the pool promised them. So no more memory is taken than the pool counts.
//
// Files that programs still have. A program may have mapped a file that the kernel has reported as
// closed. Such a file is not evicted: its memory would stay taken, uncounted, and cutting or
// filling it would show zeros or another object's bytes. The lease probe finds it (object_file.cc).
//
// Pinned objects are fetched ahead of time; they have any size and are never evicted. Large files
// take long to clear, which the second thread does, as it does for spare files (spare_files.cc) and
// for objects that are fetched ahead of their opens.
//
// Late writes. If a fetch ends with one possible, no reader has seen the object, and the file stays
// busy in quarantine until its region has been fenced.
#include "cache/whole/object_cache.h"

#include <algorithm>
#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::cache {
namespace {

// After a fetch that failed, the plain way of opening must still be able to answer in time.
Deadline fetch_deadline(Deadline now, Deadline deadline) { return now + (deadline - now) / 2; }

}  // namespace

/// A user of the entry, for as long as it is open.
class ObjectCache::Handle final : public ResidentObject {
 public:
  Handle(ObjectCache& cache, Entry entry, int fd)
      : cache_(cache), entry_(std::move(entry)), fd_(fd) {}
  ~Handle() override { cache_.release(entry_); }

  [[nodiscard]] int fd() const noexcept override { return fd_; }

 private:
  ObjectCache& cache_;
  const Entry entry_;
  const int fd_;
};

ObjectCache::ObjectCache(MakeFile make_file, s3::ObjectStore& store, rdma::Fabric& fabric,
                         const Clock& clock, metrics::Registry& metrics, Options options)
    : make_file_(std::move(make_file)),
      store_(store),
      fabric_(fabric),
      clock_(clock),
      options_(options),
      table_(options.limits, metrics),
      spares_(
          table_, makers_,
          [this](std::uint64_t capacity_bytes) { return this->make_file(capacity_bytes); },
          options.spare_bytes_max),
      thread_("cache-objects", clock, [this] { quarantine_.retry(); }),
      makers_("cache-files", clock, [] {}) {}

ObjectCache::~ObjectCache() { shut_down(); }

void ObjectCache::shut_down() {
  {
    const MutexLock lock(table_.mutex);
    table_.is_shut_down = true;
  }
  // In this order: the second thread posts jobs to the first until it ends, and does them itself
  // where the first has ended.
  makers_.finish();
  thread_.finish();
}

void ObjectCache::open(ObjectVersion version, Deadline deadline, Opened done) {
  serve_open({.part = ObjectPart::whole_of(std::move(version)), .deadline = deadline},
             std::move(done));
}

void ObjectCache::open_part(ObjectPart part, Deadline deadline, Opened done) {
  serve_open({.part = std::move(part), .deadline = deadline, .may_have_any_length = true},
             std::move(done));
}

void ObjectCache::serve_open(OpenRequest request, Opened done) {
  const bool is_part = request.may_have_any_length;
  Outcome outcome = decide_open(request, done);
  if (auto* const resident = std::get_if<Resident>(&outcome)) {
    done(std::make_shared<Handle>(*this, std::move(resident->entry), resident->fd));
  } else if (auto* const declined = std::get_if<Declined>(&outcome)) {
    done(std::unexpected(std::move(declined->error)));
  } else if (auto* const fetch = std::get_if<std::shared_ptr<Fetch>>(&outcome)) {
    if (!is_part) table_.metrics.fetches.add();
    start_for_open(std::move(*fetch));
  }
}

bool ObjectCache::prefetch(ObjectVersion version, Deadline deadline) {
  return fetch_ahead(
      {.part = ObjectPart::whole_of(std::move(version)), .deadline = deadline, .is_ahead = true});
}

bool ObjectCache::prefetch_part(ObjectPart part, Deadline deadline) {
  return fetch_ahead({.part = std::move(part),
                      .deadline = deadline,
                      .may_have_any_length = true,
                      .is_ahead = true});
}

bool ObjectCache::has_whole(const ObjectVersion& version) const {
  const MutexLock lock(table_.mutex);
  return table_.find(ObjectPart::whole_of(version)) != nullptr;
}

bool ObjectCache::fetch_ahead(const OpenRequest& request) {
  if (!is_for_open(request)) return false;
  std::shared_ptr<Fetch> fetch;
  {
    const MutexLock lock(table_.mutex);
    if (table_.find(request.part)) return true;
    if (!table_.is_shut_down) fetch = begin_for_open(request);
  }
  if (!fetch) return false;
  table_.metrics.prefetches.add();
  start_for_open(std::move(fetch));
  return true;
}

void ObjectCache::start_for_open(std::shared_ptr<Fetch> fetch) {
  spares_.want(file_bytes(fetch->work.entry->part.length_bytes));
  start(std::move(fetch));
}

bool ObjectCache::is_for_open(const OpenRequest& request) const noexcept {
  return request.may_have_any_length || (request.part.length_bytes >= options_.object_bytes_min &&
                                         request.part.length_bytes <= options_.object_bytes_max);
}

std::shared_ptr<ObjectCache::Fetch> ObjectCache::begin_for_open(const OpenRequest& request) {
  auto work = table_.add(request.part);
  if (!work) return nullptr;
  work->entry->is_for_open = true;
  const Deadline end = fetch_deadline(clock_.now(), request.deadline);
  auto fetch = fetch_of(std::move(*work), {.part_deadline = [end] { return end; }});
  fetch->is_ahead = request.is_ahead;
  return fetch;
}

ObjectCache::Outcome ObjectCache::decide_open(OpenRequest& request, Opened& done) {
  const MutexLock lock(table_.mutex);
  if (const Entry entry = table_.find(request.part)) return join(entry, request, done);
  if (!is_for_open(request)) {
    return Declined{{ErrorCode::kUnsupported, "the object's size is not for a file of its own"}};
  }
  if (table_.is_shut_down) return Declined{{ErrorCode::kCancelled, "the mount ends"}};
  if (auto fetch = begin_for_open(request)) {
    fetch->work.entry->waiters.push_back(std::exchange(done, nullptr));
    return fetch;
  }
  if (!table_.may_fit_after_spare(request.part.length_bytes)) {
    if (!request.may_have_any_length) table_.metrics.no_room.add();
    return Declined{{ErrorCode::kNoMemory, "no room for a file of its own"}};
  }
  table_.after_spare.emplace_back(
      [this, request = std::move(request), done = std::move(done)]() mutable {
        if (clock_.now() >= request.deadline) {
          table_.metrics.no_room.add();
          return done(fail(ErrorCode::kTimedOut, "no room for a file of its own in time"));
        }
        serve_open(std::move(request), std::move(done));
      });
  return Waiting{};
}

// An open of an object that has a file already.
ObjectCache::Outcome ObjectCache::join(const Entry& entry, const OpenRequest& request,
                                       Opened& done) {
  const bool is_hit = entry->is_resident || entry->is_for_open;
  if (is_hit && !request.may_have_any_length) table_.metrics.hits.add();
  if (entry->is_resident) {
    table_.add_user(*entry);
    return Resident{.entry = entry, .fd = table_.fd_of(*entry)};
  }
  if (entry->is_for_open) {
    entry->waiters.push_back(std::move(done));
    return Waiting{};
  }
  table_.metrics.being_fetched.add();  // for a pin, which may take longer than an open may wait
  return Declined{{ErrorCode::kBusy, "the object is still being made resident"}};
}

void ObjectCache::pin(ObjectVersion version, PinTerms terms, Done<Pinned> done) {
  if (version.size_bytes == 0) {
    return done(fail(ErrorCode::kUnsupported, "an empty object has no bytes to be resident"));
  }
  Outcome outcome = decide_pin(version, terms, done);
  if (std::holds_alternative<Resident>(outcome)) {
    done(Pinned::kWasResident);
  } else if (auto* const declined = std::get_if<Declined>(&outcome)) {
    done(std::unexpected(std::move(declined->error)));
  } else if (auto* const fetch = std::get_if<std::shared_ptr<Fetch>>(&outcome)) {
    start(std::move(*fetch));
  }
}

ObjectCache::Outcome ObjectCache::decide_pin(ObjectVersion& version, PinTerms& terms,
                                             Done<Pinned>& done) {
  const MutexLock lock(table_.mutex);
  table_.unpin_other_versions(version);
  const ObjectPart whole = ObjectPart::whole_of(version);
  if (const Entry entry = table_.find(whole)) {
    if (!entry->is_resident) {
      entry->pinners.push_back(std::move(done));
      return Waiting{};
    }
    table_.pin(entry);
    return Resident{.entry = entry};
  }
  if (table_.is_shut_down) return Declined{{ErrorCode::kCancelled, "the mount ends"}};
  if (auto work = table_.add(whole)) {
    work->entry->pinners.push_back(std::exchange(done, nullptr));
    return fetch_of(
        std::move(*work),
        {.part_deadline = [this, after = terms.part_timeout] { return clock_.now() + after; },
         .on_part = std::move(terms.on_part)});
  }
  if (!table_.may_fit_after_spare(version.size_bytes)) {
    return Declined{table_.no_room_for(version.size_bytes)};
  }
  table_.after_spare.emplace_back([this, version = std::move(version), terms = std::move(terms),
                                   done = std::move(done)]() mutable {
    pin(std::move(version), std::move(terms), std::move(done));
  });
  return Waiting{};
}

ObjectCache::Amount ObjectCache::unpin(const std::function<bool(std::string_view key)>& covers) {
  const MutexLock lock(table_.mutex);
  return table_.unpin(covers);
}

std::shared_ptr<ObjectCache::Fetch> ObjectCache::fetch_of(ObjectTable::NewEntry work,
                                                          FetchTerms terms) const {
  return std::make_shared<Fetch>(Fetch{.work = std::move(work), .terms = std::move(terms)});
}

void ObjectCache::start(std::shared_ptr<Fetch> fetch) {
  thread_.post([this, fetch = std::move(fetch)] { prepare(fetch); });
}

void ObjectCache::release(const Entry& entry) {
  const MutexLock lock(table_.mutex);
  table_.remove_user(*entry);
}

// The thread

void ObjectCache::prepare(const std::shared_ptr<Fetch>& fetch) {
  const Entry& entry = fetch->work.entry;
  const auto file = file_for(*fetch);
  if (!file) return give_up(entry, file.error());
  fetch->work.file = *file;
  // Opens of other objects do not wait while a large file is cleared, or one for a guess.
  const bool is_large = entry->part.length_bytes > options_.object_bytes_max;
  if ((is_large || fetch->is_ahead) && makers_.post([this, fetch] { fill(*fetch); })) return;
  fill(*fetch);
}

Result<ObjectFile*> ObjectCache::file_for(Fetch& fetch) {
  ObjectTable::NewEntry& work = fetch.work;
  if (!work.dropped.empty()) {
    work.dropped.clear();
    const MutexLock lock(table_.mutex);
    table_.set_closed(work.dropped_bytes);
  }
  if (work.file != nullptr) return work.file;
  auto made = make_file(file_bytes(work.entry->part.length_bytes));
  if (!made) return std::unexpected(made.error());
  ObjectFile* const file = made->get();
  const MutexLock lock(table_.mutex);
  table_.set_file(work.entry->file_id, std::move(*made));
  return file;
}

Result<std::unique_ptr<ObjectFile>> ObjectCache::make_file(std::uint64_t capacity_bytes) const {
  auto empty = make_file_();
  if (!empty) return std::unexpected(empty.error());
  return ObjectFile::create(std::move(*empty), capacity_bytes);
}

void ObjectCache::fill(Fetch& fetch) {
  const Entry& entry = fetch.work.entry;
  ObjectFile* const file = fetch.work.file;
  if (auto begun = file->begin_fill(fabric_, options_.lock); !begun) {
    thread_.post([this, entry, error = begun.error()] { give_up(entry, error); });
    return;
  }
  fetch_object(store_, entry->part, file->region(), std::move(fetch.terms),
               [this, entry, file](std::expected<void, s3::GetFailure> outcome) {
                 thread_.post([this, entry, file, outcome = std::move(outcome)]() mutable {
                   finish(entry, *file, std::move(outcome));
                 });
               });
}

// The file is closed before its room is given to others.
void ObjectCache::give_up(const Entry& entry, const Error& error) {
  log::debug("cache: no file for '{}': {}", entry->part.version.key, error.detail);
  std::unique_ptr<ObjectFile> unusable;
  {
    const MutexLock lock(table_.mutex);
    unusable = table_.forget(entry->file_id);
  }
  unusable.reset();
  {
    const MutexLock lock(table_.mutex);
    table_.remove(entry->file_id);
  }
  fail_waiters(entry, error, table_.metrics.no_file);
}

void ObjectCache::finish(const Entry& entry, ObjectFile& file,
                         std::expected<void, s3::GetFailure> outcome) {
  if (outcome) {
    if (auto cut = file.end_fill(entry->part.length_bytes); !cut) {
      outcome = std::unexpected(s3::GetFailure{.error = cut.error()});
    }
  }
  if (outcome) return publish(entry);

  log::debug("cache: fetch of '{}' failed: {}; the file is free for others",
             entry->part.version.key, outcome.error().error.detail);
  {
    const MutexLock lock(table_.mutex);
    table_.forget_entry(*entry);
  }
  if (outcome.error().late_write_possible) {
    table_.metrics.late_writes.add();
    quarantine_.add(file.region(), [this, id = entry->file_id, &file] { empty(id, file); });
  } else {
    empty(entry->file_id, file);
  }
  fail_waiters(entry, outcome.error().error, table_.metrics.fetch_failed);
}

void ObjectCache::publish(const Entry& entry) {
  std::vector<Opened> waiters;
  std::vector<Done<Pinned>> pinners;
  int fd = -1;
  {
    const MutexLock lock(table_.mutex);
    entry->is_resident = true;
    waiters = std::exchange(entry->waiters, {});
    pinners = std::exchange(entry->pinners, {});
    entry->users = waiters.size();
    fd = table_.fd_of(*entry);
    if (!pinners.empty()) table_.pin(entry);
  }
  for (Opened& done : waiters) done(std::make_shared<Handle>(*this, entry, fd));
  for (Done<Pinned>& done : pinners) done(Pinned::kFetched);
}

void ObjectCache::fail_waiters(const Entry& entry, const Error& error, metrics::Counter& declined) {
  std::vector<Opened> waiters;
  std::vector<Done<Pinned>> pinners;
  {
    const MutexLock lock(table_.mutex);
    waiters = std::exchange(entry->waiters, {});
    pinners = std::exchange(entry->pinners, {});
  }
  if (!waiters.empty()) declined.add();
  for (Opened& done : waiters) done(std::unexpected(error));
  for (Done<Pinned>& done : pinners) done(std::unexpected(error));
}

// Ends the registration and drops the bytes. Where that fails the file stays busy for good.
void ObjectCache::empty(ObjectPool::FileId id, ObjectFile& file) {
  if (const auto emptied = file.end_fill(0); !emptied) {
    log::error("cache: a file could not be emptied: {}; its memory stays out of use",
               emptied.error().detail);
    return;
  }
  const MutexLock lock(table_.mutex);
  table_.set_empty(id);
}

}  // namespace s3rdmafs::cache
