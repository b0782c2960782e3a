// SPDX-License-Identifier: Apache-2.0
// The bytes of a staged file: changes go to the staging file; reads are put together from it and
// from the base.
//
// Copies. A read that no staged byte touches is answered out of the cache's memory, as that of a
// version. Any other is put together in a buffer of its own: one copy, from the local file or from
// the cache.
//
// Views. views_ is shared by reads while they look which bytes are local and copy them, and taken
// alone by drop_unchanged(), which takes bytes out of the local file.
#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"
#include "vfs/staged/staged_file.h"

namespace s3rdmafs::vfs {
namespace {

// The most that ObjectReader::read gives.
constexpr std::size_t kBaseReadMax = 4 * kMiB;

class OwnedBytes final : public cache::PinnedBytes::Pin {
 public:
  explicit OwnedBytes(std::unique_ptr<std::byte[]> bytes) : bytes_(std::move(bytes)) {}

 private:
  const std::unique_ptr<std::byte[]> bytes_;
};

upload::ByteRange range_of(std::uint64_t offset_bytes, std::size_t length) {
  return {.begin = offset_bytes, .end = offset_bytes + length};
}

}  // namespace

/// One attempt to put bytes together. Shared by the reads of the base that are under way.
class StagedFile::Fill {
 public:
  Fill(std::shared_ptr<StagedFile> file, std::uint64_t offset_bytes, std::span<std::byte> out,
       Deadline deadline, Done<void> done)
      : file_(std::move(file)),
        offset_bytes_(offset_bytes),
        out_(out),
        deadline_(deadline),
        done_(std::move(done)) {}

  static void start(std::shared_ptr<Fill> self) {
    Turns& views = self->file_->views_;
    views.share([self = std::move(self)] { look(self); });
  }

 private:
  static void look(const std::shared_ptr<Fill>& self) {
    self->reader_ = self->file_->base_reader(self->epoch_);
    const auto runs = self->file_->bytes_->runs(range_of(self->offset_bytes_, self->out_.size()));
    // A truncation may have come since the caller looked at the size.
    const std::uint64_t end = runs.empty() ? self->offset_bytes_ : runs.back().bytes.end;
    std::ranges::fill(self->out_.subspan(end - self->offset_bytes_), std::byte{0});
    std::vector<upload::ByteRange> of_base;
    for (const auto& run : runs) {
      if (run.is_dropped) {
        self->fail(self->file_->dropped_error());
      } else if (!run.is_local) {
        split(run.bytes, of_base);
      } else if (auto read = self->file_->bytes_->read(run.bytes.begin, self->part(run.bytes));
                 !read) {
        self->fail(std::move(read.error()));
      }
    }
    self->file_->views_.end();
    self->left_ = of_base.size() + 1;
    for (const upload::ByteRange& bytes : of_base) self->read_base(self, bytes);
    self->end_one();
  }

  static void split(upload::ByteRange run, std::vector<upload::ByteRange>& pieces) {
    for (; !run.empty(); run.begin += kBaseReadMax) {
      pieces.push_back({.begin = run.begin, .end = std::min(run.end, run.begin + kBaseReadMax)});
    }
  }

  [[nodiscard]] std::span<std::byte> part(const upload::ByteRange& bytes) const {
    return out_.subspan(bytes.begin - offset_bytes_, bytes.size());
  }

  void read_base(const std::shared_ptr<Fill>& self, upload::ByteRange bytes) {
    if (!reader_) {
      fail({ErrorCode::kStale, "'" + file_->key() + "' has no version to read from"});
      return end_one();
    }
    reader_->read(bytes.begin, bytes.size(), deadline_,
                  [self, bytes](Result<cache::PinnedBytes> read) { self->take(bytes, read); });
  }

  void take(upload::ByteRange bytes, Result<cache::PinnedBytes>& read) {
    if (!read) {
      fail(std::move(read.error()));
    } else if (read->size_bytes() != bytes.size()) {
      fail({ErrorCode::kCorrupt, "'" + file_->key() + "' is shorter than its version was"});
    } else {
      auto to = part(bytes).begin();
      for (const auto piece : read->pieces()) to = std::ranges::copy(piece, to).out;
    }
    end_one();
  }

  void fail(Error error) {
    const MutexLock lock(mutex_);
    if (!error_) error_ = std::move(error);
  }

  void end_one() {
    if (--left_ > 0) return;
    std::optional<Error> error;
    {
      const MutexLock lock(mutex_);
      error = std::move(error_);
    }
    if (!error) return done_({});
    if (error->code == ErrorCode::kStale && file_->was_rebased_since(epoch_)) {
      return start(std::make_shared<Fill>(file_, offset_bytes_, out_, deadline_, std::move(done_)));
    }
    done_(std::unexpected(*std::move(error)));
  }

  const std::shared_ptr<StagedFile> file_;
  const std::uint64_t offset_bytes_;
  const std::span<std::byte> out_;
  const Deadline deadline_;
  Done<void> done_;
  std::uint64_t epoch_ = 0;
  std::shared_ptr<cache::ObjectReader> reader_;
  std::atomic<std::size_t> left_ = 0;  ///< reads under way, and one for look()
  Mutex mutex_;                        // leaf
  std::optional<Error> error_ GUARDED_BY(mutex_);
};

std::shared_ptr<cache::ObjectReader> StagedFile::base_reader(std::uint64_t& epoch) {
  Base base;
  {
    const MutexLock lock(mutex_);
    epoch = epoch_;
    if (base_reader_ || !base_) return base_reader_;
    base = *base_;
  }
  auto reader =
      cache_.open({base.object.key, base.object.etag, base.object.size_bytes, base.generation});
  const MutexLock lock(mutex_);
  if (epoch == epoch_ && !base_reader_) base_reader_ = reader;
  return reader;
}

bool StagedFile::was_rebased_since(std::uint64_t epoch) const {
  const MutexLock lock(mutex_);
  return epoch != epoch_;
}

void StagedFile::read(std::uint64_t offset_bytes, std::size_t length, Deadline deadline,
                      Done<cache::PinnedBytes> done) {
  const std::uint64_t size_bytes = bytes_->size_bytes();
  if (offset_bytes >= size_bytes || length == 0) return done(cache::PinnedBytes());
  length = std::min<std::uint64_t>(length, size_bytes - offset_bytes);
  const auto runs = bytes_->runs(range_of(offset_bytes, length));
  const bool is_all_base = runs.size() == 1 && !runs.front().is_local && !runs.front().is_dropped;
  std::uint64_t epoch = 0;
  if (const auto reader = is_all_base ? base_reader(epoch) : nullptr) {
    return reader->read(offset_bytes, length, deadline,
                        [self = shared_from_this(), offset_bytes, length, deadline, epoch,
                         done = std::move(done)](Result<cache::PinnedBytes> read) mutable {
                          const bool is_gone = !read && read.error().code == ErrorCode::kStale;
                          if (is_gone && self->was_rebased_since(epoch)) {
                            return self->read(offset_bytes, length, deadline, std::move(done));
                          }
                          done(std::move(read));
                        });
  }
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(length);
  const std::span<std::byte> out(bytes.get(), length);
  fill(offset_bytes, out, deadline,
       [out, bytes = std::move(bytes), done = std::move(done)](Result<void> filled) mutable {
         if (!filled) return done(std::unexpected(std::move(filled.error())));
         cache::PinnedBytes read;
         read.add(out, std::make_unique<OwnedBytes>(std::move(bytes)));
         done(std::move(read));
       });
}

void StagedFile::fill(std::uint64_t offset_bytes, std::span<std::byte> out, Deadline deadline,
                      Done<void> done) {
  Fill::start(
      std::make_shared<Fill>(shared_from_this(), offset_bytes, out, deadline, std::move(done)));
}

Result<void> StagedFile::change_now(Change& how) {
  if (auto error = this->error()) return std::unexpected(*std::move(error));
  auto changed = how(*bytes_);
  if (!changed) return changed;
  drop_set_id_bits();
  const auto now = clock_.wall_now();
  const MutexLock lock(mutex_);
  modified_ = changed_ = now;
  return changed;
}

void StagedFile::change(Change how, Done<void> done) {
  turns_.share([self = shared_from_this(), how = std::move(how), done = std::move(done)]() mutable {
    auto changed = self->change_now(how);
    self->turns_.end();
    done(std::move(changed));
  });
}

std::optional<Result<void>> StagedFile::try_write(std::uint64_t offset_bytes,
                                                  std::span<const std::byte> bytes) {
  if (!turns_.try_share()) return std::nullopt;
  Change how = [offset_bytes, bytes](upload::StagingFile& file) {
    return file.write(offset_bytes, bytes);
  };
  auto written = change_now(how);
  turns_.end();
  return written;
}

void StagedFile::write(std::uint64_t offset_bytes,
                       std::shared_ptr<const std::vector<std::byte>> bytes, Done<void> done) {
  change([offset_bytes, bytes = std::move(bytes)](
             upload::StagingFile& file) { return file.write(offset_bytes, *bytes); },
         std::move(done));
}

void StagedFile::resize(std::uint64_t size_bytes, Done<void> done) {
  const bool keeps_times = posix_ == PosixMetadata::kWrite;
  change(
      [self = shared_from_this(), size_bytes,
       keeps_times](upload::StagingFile& file) -> Result<void> {
        auto cut = file.truncate(size_bytes);
        if (cut && size_bytes == 0) self->discard_early_before(file.in_order().run);
        // The same size is a new time all the same, as touch(1) by `: > file` needs it.
        if (!cut || !keeps_times || file.is_changed()) return cut;
        return file.set_metadata(file.identity().metadata);
      },
      std::move(done));
}

void StagedFile::allocate(Allocation what, Done<void> done) {
  change(
      [what](upload::StagingFile& file) -> Result<void> {
        const std::uint64_t end = what.offset_bytes + what.length_bytes;
        const std::uint64_t size_bytes = file.size_bytes();
        const std::uint64_t zeros_end = std::min(end, size_bytes);
        if (what.zeroes && what.offset_bytes < zeros_end) {
          auto punched = file.punch({.begin = what.offset_bytes, .end = zeros_end});
          if (!punched) return punched;
        }
        return what.extends ? file.extend(end) : Result<void>();
      },
      std::move(done));
}

void StagedFile::make_whole() {
  if (const auto made = bytes_->make_whole(); !made) {
    log::debug("'{}' is not written by the kernel: {}", key(), made.error().detail);
  }
}

int StagedFile::local_fd() const { return bytes_->is_whole() ? bytes_->fd() : -1; }

void StagedFile::mapping_begins() {
  if (const auto noted = bytes_->mapping_begins(); !noted) {
    log::warn("'{}': {}; a crash may lose what is written through a mapping", key(),
              noted.error().detail);
  }
}

void StagedFile::mapping_ends() { bytes_->mapping_ends(); }

// One piece after another: a removal can wait, and so the memory has a bound.
void StagedFile::keep_base(Deadline deadline, Done<void> done) {
  const auto runs = bytes_->runs(range_of(0, bytes_->size_bytes()));
  const auto missing =
      std::ranges::find_if(runs, [](const auto& run) { return !run.is_local && !run.is_dropped; });
  if (missing == runs.end()) return done({});
  const std::uint64_t offset_bytes = missing->bytes.begin;
  const std::size_t length = std::min<std::uint64_t>(missing->bytes.size(), kBaseReadMax);
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(length);
  const std::span<std::byte> out(bytes.get(), length);
  fill(offset_bytes, out, deadline,
       [self = shared_from_this(), offset_bytes, out, deadline, bytes = std::move(bytes),
        done = std::move(done)](Result<void> filled) mutable {
         if (filled) filled = self->bytes_->keep_copy(offset_bytes, out);
         if (filled) return self->keep_base(deadline, std::move(done));
         log::debug("'{}' is about to go, and its readers will miss bytes: {}", self->key(),
                    filled.error().detail);
         done({});
       });
}

void StagedFile::drop_unchanged() {
  if (is_unlinked()) return;  // no other place has its bytes
  views_.alone([self = shared_from_this()] {
    self->bytes_->drop_unchanged();
    self->views_.end();
  });
}

}  // namespace s3rdmafs::vfs
