// SPDX-License-Identifier: Apache-2.0
// One file's bytes on local storage.
//
// The rule that keeps it simple: a byte that is not changed is the base's. So whatever makes a byte
// differ from the base marks it as changed, also what has no bytes: a gap that a write beyond the
// end leaves, and the zeros of a truncate, are changed bytes in a hole of the local file. A file
// that was cut and grew again cannot show bytes of the base that were cut off.
//
// Room is charged to the area by whole pages, which is how file systems allocate it; holes cost
// nothing.
//
// Stores. begin_store() takes a snapshot and lets writes go on. Until stored() the sidecar says all
// changes of the former base, so a crash meanwhile loses none; then it says what was changed since.
//
// Whole files are in staging_file_whole.cc; here they ask for nothing but a look().
//
// Locks. mutex_ is held during calls on both files, and while the area is charged; only users of
// this file wait for it.
#include "upload/staged/staging_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"
#include "upload/staged/staging_area.h"

namespace s3rdmafs::upload {
namespace {

// A program that writes at random makes many records that later ones contain.
constexpr std::uint64_t kRecordsWorthARewrite = 4096;

constexpr std::string_view kFull = "the file system of write.staging_dir is full";

Result<void> write_bytes(int file, std::span<const std::byte> bytes, std::uint64_t offset_bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == ENOSPC) {
      return fail(ErrorCode::kNoSpace, std::string(kFull));
    }
    if (n < 0) return fail_errno("write a staging file", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset_bytes += static_cast<std::uint64_t>(n);
  }
  return {};
}

/// The pages that lie within the range as a whole.
ByteRange whole_pages(ByteRange bytes) {
  return {.begin = round_up(bytes.begin, kPageBytes), .end = round_down(bytes.end, kPageBytes)};
}

}  // namespace

StagingFile::StagingFile(StagingArea& area, std::string name, UniqueFd data, Sidecar sidecar,
                         StagedState state, std::uint64_t charged_bytes)
    : area_(area),
      name_(std::move(name)),
      data_(std::move(data)),
      sidecar_(std::move(sidecar)),
      state_(std::move(state)) {
  written_ = state_.changed;
  written_.subtract(state_.dropped);
  is_in_order_ = state_.size_bytes == 0;
  whole_.charged_bytes = charged_bytes;
}

StagingFile::~StagingFile() {
  const MutexLock lock(mutex_);
  if (!is_removed_) return;
  // The kernel closes its own descriptor of a whole file after the answer to RELEASE. The room is
  // free before it is told to be.
  if (state_.is_whole && ::ftruncate(data_.get(), 0) != 0) {
    log::debug("staging: {} keeps its room: {}", name_, std::strerror(errno));
  }
  area_.discharge(allocated_.bytes() + whole_.charged_bytes + kSidecarBytes);
}

Result<void> StagingFile::check_size(std::uint64_t size_bytes) const {
  if (size_bytes <= kObjectBytesMax) {
    if (state_.dropped.empty() || size_bytes <= size_bytes_max_) return {};
    return fail_with_advice(
        ErrorCode::kTooLarge,
        "'" + state_.identity.key + "' is larger than the room for staged files, and " +
            format_size(size_bytes_max_) + " are the most that can be sent of it in parts",
        "raise write.part_size, write.buffer_size or write.staging_size");
  }
  return fail(ErrorCode::kTooLarge,
              "a file cannot be larger than " + format_size(kObjectBytesMax) + ", as objects are");
}

Result<ByteRanges> StagingFile::reserve(ByteRange bytes) {
  const ByteRange pages{.begin = round_down(bytes.begin, kPageBytes),
                        .end = round_up(bytes.end, kPageBytes)};
  ByteRanges missing = allocated_.complement(pages);
  if (auto ok = area_.charge(missing.bytes()); !ok) return std::unexpected(ok.error());
  allocated_.add(missing);
  return missing;
}

StagingFile::Punched StagingFile::give_back(ByteRange bytes) {
  const ByteRange pages = whole_pages(bytes);
  if (pages.empty()) return Punched::kAll;
  const ByteRanges given = allocated_.intersect(pages);
  bool is_first = true;
  for (const ByteRange& range : given.list()) {
    if (::fallocate(data_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(range.begin), static_cast<off_t>(range.size())) != 0) {
      const bool is_whole = is_first && errno == EOPNOTSUPP;  // any other may come half way
      log::debug("staging: {} keeps its room: {}", name_, std::strerror(errno));
      return is_whole ? Punched::kNothing : Punched::kSome;
    }
    is_first = false;
  }
  allocated_.subtract(pages);
  area_.discharge(given.bytes());
  return Punched::kAll;
}

Result<void> StagingFile::mark_changed(ByteRange bytes) {
  if (!state_.changed.contains(bytes)) {
    if (auto ok = sidecar_.add(bytes); !ok) return ok;
    state_.changed.add(bytes);
  }
  written_.add(bytes);
  as_sent_.subtract(bytes);
  if (storing_) since_.add(bytes);
  state_.size_bytes = std::max(state_.size_bytes, bytes.end);
  if (sidecar_.records() < kRecordsWorthARewrite ||
      sidecar_.records() < 4 * state_.changed.count()) {
    return {};
  }
  if (auto ok = rewrite_sidecar(); !ok) {
    log::debug("staging: {}; the sidecar of {} stays long", ok.error().detail, name_);
  }
  return {};
}

Result<void> StagingFile::rewrite_sidecar() {
  if (is_removed_) return {};
  auto written = Sidecar::write(area_.folder_.fd(), name_ + ".meta", state_);
  if (!written) return std::unexpected(written.error());
  sidecar_ = std::move(*written);
  return {};
}

Result<void> StagingFile::write(std::uint64_t offset_bytes, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  const ByteRange range{.begin = offset_bytes, .end = offset_bytes + bytes.size()};
  const MutexLock lock(mutex_);
  if (auto ok = check_size(range.end); !ok) return ok;
  if (state_.is_whole) return write_bytes(data_.get(), bytes, offset_bytes);
  if (auto ok = check_dropped(range); !ok) return ok;
  const bool continues = range.begin == state_.size_bytes;
  const auto reserved = reserve(range);
  if (!reserved) return std::unexpected(reserved.error());
  Result<void> done = write_bytes(data_.get(), bytes, offset_bytes);
  if (done) done = mark_changed({std::min(state_.size_bytes, range.begin), range.end});
  if (!done) take_back(range, *reserved);
  is_in_order_ = is_in_order_ && (continues || !done);
  return done;
}

Result<void> StagingFile::keep_copy(std::uint64_t offset_bytes, std::span<const std::byte> bytes) {
  const MutexLock lock(mutex_);
  const std::uint64_t end = std::min(offset_bytes + bytes.size(), state_.size_bytes);
  ByteRanges missing = written_.complement({.begin = offset_bytes, .end = end});
  missing.subtract(state_.dropped);
  for (const ByteRange& range : missing.list()) {
    const auto reserved = reserve(range);
    if (!reserved) return std::unexpected(reserved.error());
    const auto part = bytes.subspan(range.begin - offset_bytes, range.size());
    if (auto ok = write_bytes(data_.get(), part, range.begin); !ok) {
      take_back(range, *reserved);
      return ok;
    }
    written_.add(range);
  }
  return {};
}

// Bytes beyond the size must be zeros: the file may grow over them.
void StagingFile::take_back(ByteRange bytes, const ByteRanges& reserved) {
  for (const ByteRange& pages : reserved.list()) give_back(pages);
  if (bytes.end <= state_.size_bytes) return;
  if (::ftruncate(data_.get(), static_cast<off_t>(state_.size_bytes)) != 0) {
    log::warn("staging: {} keeps the end of a write that failed: {}", name_, std::strerror(errno));
  }
}

Result<void> StagingFile::read(std::uint64_t offset_bytes, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t n =
        ::pread(data_.get(), out.data(), out.size(), static_cast<off_t>(offset_bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read a staging file", errno);
    if (n == 0) break;
    out = out.subspan(static_cast<std::size_t>(n));
    offset_bytes += static_cast<std::uint64_t>(n);
  }
  std::ranges::fill(out, std::byte{0});  // a hole at the end
  return {};
}

Result<void> StagingFile::truncate(std::uint64_t size_bytes) {
  const MutexLock lock(mutex_);
  if (auto ok = check_size(size_bytes); !ok) return ok;
  if (state_.is_whole) return truncate_whole(size_bytes);
  if (size_bytes == state_.size_bytes) return {};
  is_in_order_ = false;
  if (size_bytes > state_.size_bytes) return mark_changed({state_.size_bytes, size_bytes});
  if (size_bytes > 0) {
    if (auto ok = check_dropped({size_bytes, state_.size_bytes}); !ok) return ok;
  }
  if (auto ok = sidecar_.resize(size_bytes); !ok) return ok;
  const ByteRange cut{.begin = size_bytes, .end = UINT64_MAX};
  state_.size_bytes = size_bytes;
  state_.changed.subtract(cut);
  written_.subtract(cut);
  since_.subtract(cut);
  as_sent_.subtract(cut);
  state_.dropped.subtract(cut);
  if (size_bytes == 0) begin_run();
  give_back({.begin = cut.begin, .end = allocated_.end()});
  if (::ftruncate(data_.get(), static_cast<off_t>(size_bytes)) != 0) {
    return fail_errno("truncate a staging file", errno);
  }
  return {};
}

Result<void> StagingFile::extend(std::uint64_t size_bytes) {
  const MutexLock lock(mutex_);
  if (auto ok = check_size(size_bytes); !ok) return ok;
  look();
  if (size_bytes <= state_.size_bytes) return {};
  is_in_order_ = false;
  if (!state_.is_whole) return mark_changed({state_.size_bytes, size_bytes});
  // Not ftruncate(2): the kernel may extend the file further meanwhile.
  if (::fallocate(data_.get(), 0, static_cast<off_t>(size_bytes - 1), 1) != 0) {
    if (errno == ENOSPC) return fail(ErrorCode::kNoSpace, std::string(kFull));
    return fail_errno("extend a staging file", errno);
  }
  return note_write(data_.get());
}

Result<void> StagingFile::punch(ByteRange bytes) {
  const MutexLock lock(mutex_);
  look();
  bytes.end = std::min(bytes.end, state_.size_bytes);
  if (bytes.empty()) return {};
  if (auto ok = check_dropped(bytes); !ok) return ok;
  is_in_order_ = false;
  if (!state_.is_whole) {
    if (auto ok = mark_changed(bytes); !ok) return ok;
    give_back(bytes);
  }
  // Also zeros the edges, whose pages stay.
  if (::fallocate(data_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(bytes.begin), static_cast<off_t>(bytes.size())) != 0) {
    return fail_errno("punch a hole into a staging file", errno);
  }
  return state_.is_whole ? note_write(data_.get()) : Result<void>();
}

std::vector<StagingFile::Run> StagingFile::runs(ByteRange bytes) const {
  const MutexLock lock(mutex_);
  look();
  bytes.end = std::min(bytes.end, state_.size_bytes);
  std::vector<Run> found;
  for (const ByteRange& local : written_.intersect(bytes).list()) {
    found.push_back({.bytes = local, .is_local = true});
  }
  for (const ByteRange& dropped : state_.dropped.intersect(bytes).list()) {
    found.push_back({.bytes = dropped, .is_dropped = true});
  }
  ByteRanges of_base = written_.complement(bytes);
  of_base.subtract(state_.dropped);
  for (const ByteRange& range : of_base.list()) found.push_back({.bytes = range});
  std::ranges::sort(found, {}, [](const Run& run) { return run.bytes.begin; });
  return found;
}

std::uint64_t StagingFile::size_bytes() const {
  const MutexLock lock(mutex_);
  look();
  return state_.size_bytes;
}

ByteRanges StagingFile::written() const {
  const MutexLock lock(mutex_);
  look();
  return written_;
}

ByteRanges StagingFile::changed() const {
  const MutexLock lock(mutex_);
  look();
  return state_.changed;
}

bool StagingFile::is_changed() const {
  const MutexLock lock(mutex_);
  look();
  return state_.is_changed();
}

StagedIdentity StagingFile::identity() const {
  const MutexLock lock(mutex_);
  return state_.identity;
}

Result<void> StagingFile::set_key(std::string key) {
  const MutexLock lock(mutex_);
  state_.identity.key = std::move(key);
  return rewrite_sidecar();
}

Result<void> StagingFile::set_copy(std::string key, std::string etag) {
  const MutexLock lock(mutex_);
  state_.identity.key = std::move(key);
  if (state_.identity.base) state_.identity.base->etag = std::move(etag);
  return rewrite_sidecar();
}

Result<void> StagingFile::set_metadata(s3::UserMetadata metadata) {
  const MutexLock lock(mutex_);
  std::swap(state_.identity.metadata, metadata);
  const bool was_changed = std::exchange(state_.metadata_changed, true);
  auto written = rewrite_sidecar();
  if (written) return written;
  std::swap(state_.identity.metadata, metadata);
  state_.metadata_changed = was_changed;
  return written;
}

void StagingFile::set_base_metadata(s3::UserMetadata metadata) {
  Result<void> written;
  {
    const MutexLock lock(mutex_);
    state_.identity.metadata = std::move(metadata);
    state_.metadata_changed = false;
    written = rewrite_sidecar();
  }
  if (!written) {
    log::warn("staging: {}; `recover` would send former user metadata", written.error().detail);
  }
}

void StagingFile::set_reason(std::string_view reason) {
  Result<void> written;
  {
    const MutexLock lock(mutex_);
    state_.reason = reason;
    written = rewrite_sidecar();
  }
  if (!written) log::warn("staging: {}; `recover` cannot say why", written.error().detail);
}

StagingFile::Snapshot StagingFile::begin_store() {
  const MutexLock lock(mutex_);
  since_.clear();
  mark_whole();
  storing_ = Snapshot{.identity = state_.identity,
                      .size_bytes = state_.size_bytes,
                      .changed = state_.changed,
                      .as_sent = as_sent_,
                      .has_dropped = !state_.dropped.empty()};
  return *storing_;
}

std::optional<StagingFile::Snapshot> StagingFile::begin_copy(std::uint64_t size_bytes) {
  const MutexLock lock(mutex_);
  if (state_.is_whole || state_.size_bytes > 0) return std::nullopt;
  since_.clear();
  storing_ = Snapshot{
      .identity = state_.identity, .size_bytes = size_bytes, .changed = {}, .is_copy = true};
  return storing_;
}

Result<void> StagingFile::stored(std::string etag) {
  const MutexLock lock(mutex_);
  if (!storing_) return {};
  const Snapshot snapshot = *std::exchange(storing_, std::nullopt);
  state_.identity.base = BaseVersion{.etag = std::move(etag), .size_bytes = snapshot.size_bytes};
  state_.changed = std::exchange(since_, {});
  const bool had_dropped = !state_.dropped.empty();
  state_.dropped.clear();
  begin_run();
  if (snapshot.is_copy) state_.size_bytes = snapshot.size_bytes;
  state_.stored_mark = whole_.storing_mark;
  look();
  state_.metadata_changed = state_.identity.metadata != snapshot.identity.metadata;
  state_.reason.clear();
  is_in_order_ = state_.size_bytes == 0;
  const bool has_no_records = state_.is_whole || !state_.is_changed();
  // The records of a copy name no bytes of it, so they may not outlive the old head; nor may those
  // of dropped bytes, which would be taken for lost ones of the new version.
  const bool is_torn_by_crash = (snapshot.is_copy && sidecar_.records() > 0) || had_dropped;
  if (has_no_records && !is_torn_by_crash && sidecar_.settle(state_)) return {};
  return rewrite_sidecar();
}

void StagingFile::not_stored() {
  const MutexLock lock(mutex_);
  storing_.reset();
  since_.clear();
  as_sent_.clear();  // the store has ended the upload that had the parts
}

void StagingFile::drop_unchanged() {
  const MutexLock lock(mutex_);
  if (state_.is_whole) return;  // the kernel may have it open
  ByteRanges unchanged = written_;
  unchanged.subtract(state_.changed);
  for (const ByteRange& range : unchanged.list()) {
    // To the edge of a page that has no other bytes.
    const ByteRange pages = whole_pages(
        {.begin = range.begin,
         .end = range.end == state_.size_bytes ? round_up(range.end, kPageBytes) : range.end});
    if (pages.empty()) continue;
    written_.subtract(pages);
    give_back(pages);
  }
}

void StagingFile::remove() {
  const MutexLock lock(mutex_);
  if (std::exchange(is_removed_, true)) return;
  for (const char* const ending : {".meta", ".data"}) {
    if (::unlinkat(area_.folder_.fd(), (name_ + ending).c_str(), 0) != 0) {
      log::warn("staging: {}/{}{} cannot be removed: {}", area_.path(), name_, ending,
                std::strerror(errno));
    }
  }
}

}  // namespace s3rdmafs::upload
