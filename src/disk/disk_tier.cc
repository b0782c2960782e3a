// SPDX-License-Identifier: Apache-2.0
// A tier between the memory cache and the server, for data sets that are larger than memory.
//
// Why a decorator. Both caches above ask an ObjectStore for ranges of one version of an object, so
// this tier needs to know neither blocks nor files. Without [disk] it does not exist.
//
// Right bytes. An entry belongs to one version (key and ETag) in one bucket of one server. Each
// unit of 64 KiB has a checksum, which is compared before the caller is told. An entry with any
// fault is dropped, and the same request goes to the server, into the same window, which no reader
// has seen.
//
// Never slower. A request waits in the queue for twice kPatience at most. The copy that is written
// later is made before the caller is answered, since the window then belongs to the caller again:
// 0.1 ms for a MiB, and only as long as the writer keeps up. A disk that cannot be read is left
// alone for a minute; one that cannot be written to, or is full, is still read.
//
// Not bounded: a read that the kernel has begun. It may write into its memory until it ends, so the
// request cannot go elsewhere. The device's own time-outs (30 s for most) end it.
//
// Locks. mutex_ is a leaf and guards what invalidate() names; no call leaves the tier under it.
#include "disk/disk_tier.h"

#include <algorithm>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/thread_name.h"

namespace s3rdmafs::disk {
namespace {

// The depth at which one NVMe device is fastest with pieces of a few hundred KiB. The threads wait
// for it nearly all of the time.
constexpr unsigned kReadThreads = 8;
// A full queue of 4 MiB each takes a third of a second at 3 GB/s.
constexpr std::size_t kQueueMax = 256;
// Far longer than a healthy disk takes; twice as long is no longer than the slowest servers take.
constexpr std::chrono::milliseconds kPatience{500};
// For the rest of the write buffer: twice the time that a disk of 100 MB/s takes for it.
constexpr std::chrono::milliseconds kLastWrites{1300};

// 5 MB. A server that repeats so many ETags is better off without the tier.
constexpr std::size_t kDistrustedMax = 65'536;

// Whether the next chunk would fail as well.
bool is_failure(const Error& error) {
  return error.code != ErrorCode::kBusy && error.code != ErrorCode::kTooLarge;
}

}  // namespace

DiskTier::Counts::Counts(metrics::Registry& metrics)
    : hits(metrics.counter("disk_reads_total", "Requests by the disk cache's answer",
                           R"(result="hit")")),
      misses(metrics.counter("disk_reads_total", "Requests by the disk cache's answer",
                             R"(result="miss")")),
      bypasses(metrics.counter("disk_reads_total", "Requests by the disk cache's answer",
                               R"(result="bypass")")),
      read_bytes(metrics.counter("disk_read_bytes_total", "Bytes served from the disk cache")),
      written_bytes(metrics.counter("disk_written_bytes_total", "Bytes written to the disk cache")),
      corrupt(
          metrics.counter("disk_corrupt_total",
                          "Entries of the disk cache that differed from what had been written")),
      errors(metrics.counter("disk_errors_total", "Failures of the disk")),
      dropped(metrics.counter("disk_writes_dropped_total",
                              "Chunks not written because the disk was slow, full or failing")),
      up(metrics.gauge("disk_up",
                       "1 if the disk cache is in use, 0 while it is not, or takes nothing new, "
                       "after a failure")) {
  up.set(1);
}

Result<std::unique_ptr<DiskTier>> DiskTier::open(const Options& options, s3::ObjectStore& store,
                                                 const Clock& clock, metrics::Registry& metrics) {
  auto folder = CacheFolder::take(options.path, clock);
  if (!folder) return std::unexpected(folder.error());
  const std::uint64_t segment_bytes = options.segment_bytes != 0
                                          ? options.segment_bytes
                                          : ChunkStore::segment_bytes_for(options.size_bytes);
  auto chunks = ChunkStore::open(std::move(*folder),
                                 {.size_bytes = options.size_bytes,
                                  .reserve_bytes = options.reserve_bytes,
                                  .segment_bytes = segment_bytes},
                                 metrics);
  if (!chunks) return std::unexpected(chunks.error());
  auto ring = WriteRing::create(options.write_buffer_bytes, clock);
  if (!ring) return std::unexpected(ring.error());
  return std::unique_ptr<DiskTier>(
      new DiskTier(options, std::move(*chunks), std::move(*ring), store, clock, metrics));
}

DiskTier::DiskTier(const Options& options, std::unique_ptr<ChunkStore> chunks,
                   std::unique_ptr<WriteRing> ring, s3::ObjectStore& store, const Clock& clock,
                   metrics::Registry& metrics)
    : scope_(options.scope),
      rest_(options.rest),
      store_(store),
      clock_(clock),
      counts_(metrics),
      chunks_(std::move(chunks)),
      ring_(std::move(ring)),
      readers_(clock, {.threads = kReadThreads, .queue_max = kQueueMax, .patience = kPatience}) {
  writer_ = std::jthread([this] { write_behind(); });
}

DiskTier::~DiskTier() { ring_->finish(); }

void DiskTier::shut_down() {
  closing_ = true;  // from here on all goes to the store, which refuses it
  readers_.finish();
  store_.shut_down();
  if (!ring_->wait_until_empty(clock_.now() + kLastWrites)) {
    log::info("disk: slow; the last bytes read from the server are not kept");
  }
}

void DiskTier::get(s3::GetRequest request, Deadline deadline, s3::GetDone done) {
  if (closing_ || reads_rest()) {
    counts_.bypasses.add();
    store_.get(std::move(request), deadline, std::move(done));
    return;
  }
  const ObjectId object = object_id(scope_, request.key, request.etag);
  if (is_distrusted(object)) {
    counts_.bypasses.add();
    store_.get(std::move(request), deadline, std::move(done));
    return;
  }
  if (auto pieces = chunks_->find(object, request.offset_bytes, request.window.length)) {
    read_from_disk(std::move(*pieces), std::move(request), deadline, std::move(done));
    return;
  }
  counts_.misses.add();
  read_from_store(object, std::move(request), deadline, std::move(done));
}

void DiskTier::invalidate(std::string_view key, std::string_view etag) {
  const ObjectId object = object_id(scope_, key, etag);
  const MutexLock lock(mutex_);
  distrusts_all_ = distrusts_all_ || distrusted_.size() >= kDistrustedMax;
  if (!distrusts_all_) distrusted_.insert(object);
  distrusts_any_ = true;
}

bool DiskTier::is_distrusted(const ObjectId& object) const {
  if (!distrusts_any_) return false;
  const MutexLock lock(mutex_);
  return distrusts_all_ || distrusted_.contains(object);
}

void DiskTier::read_from_disk(std::vector<Piece> pieces, s3::GetRequest request, Deadline deadline,
                              s3::GetDone done) {
  ReadThreads::Job job = [this, pieces = std::move(pieces), request = std::move(request), deadline,
                          done = std::move(done)](Scratch* scratch) mutable {
    if (scratch == nullptr) {
      counts_.bypasses.add();
      store_.get(std::move(request), deadline, std::move(done));
      return;
    }
    const bool is_read = read_pieces(pieces, request.window, *scratch);
    pieces.clear();  // the segments may be evicted again
    if (is_read) {
      counts_.hits.add();
      counts_.read_bytes.add(request.window.length);
      done(s3::Path::kDisk);
      return;
    }
    counts_.misses.add();
    const ObjectId object = object_id(scope_, request.key, request.etag);
    read_from_store(object, std::move(request), deadline, std::move(done));
  };
  if (!readers_.try_post(job)) job(nullptr);
}

bool DiskTier::read_pieces(const std::vector<Piece>& pieces, const rdma::Window& window,
                           Scratch& scratch) {
  std::span<std::byte> into = window.bytes();
  for (const Piece& piece : pieces) {
    const auto read = read_verified(piece, into.first(piece.range.length()), scratch);
    if (!read) {
      chunks_->drop(piece);
      if (read.error().code == ErrorCode::kCorrupt) {
        if (counts_.corrupt.value() == 0) {
          log::warn("disk: {}; bytes are fetched again (further cases are only counted)",
                    read.error().detail);
        }
        counts_.corrupt.add();
      } else {
        rest(RestFrom::kAll, read.error());
      }
      return false;
    }
    into = into.subspan(piece.range.length());
  }
  return true;
}

void DiskTier::read_from_store(const ObjectId& object, s3::GetRequest request, Deadline deadline,
                               s3::GetDone done) {
  const std::uint64_t offset_bytes = request.offset_bytes;
  const rdma::Window window = request.window;
  store_.get(std::move(request), deadline,
             [this, object, offset_bytes, window,
              done = std::move(done)](std::expected<s3::Path, s3::GetFailure> result) mutable {
               if (result && !closing_) keep(object, offset_bytes, window.bytes());
               done(std::move(result));
             });
}

// Keeps only bytes that begin at a unit: the caches above ask for nothing else.
void DiskTier::keep(const ObjectId& object, std::uint64_t offset_bytes,
                    std::span<const std::byte> bytes) {
  if (offset_bytes % kUnitBytes != 0 || writes_rest()) return;
  for (const ChunkPart& part : chunk_parts(object, offset_bytes, bytes.size())) {
    const auto chunk_bytes = bytes.subspan(part.offset_bytes, part.range.length());
    if (!ring_->push(part.chunk, part.range, chunk_bytes)) counts_.dropped.add();
  }
}

void DiskTier::write_behind() {
  set_thread_name("disk-write");
  constexpr std::chrono::seconds kTick{1};
  auto next_tick = clock_.now() + kTick;
  while (!ring_->is_finished()) {
    if (const auto item = ring_->front(next_tick)) {
      if (writes_rest()) {
        counts_.dropped.add();
      } else if (auto written = chunks_->append(item->chunk, item->range, item->buffer); written) {
        counts_.written_bytes.add(item->range.length());
      } else {
        counts_.dropped.add();
        if (is_failure(written.error())) rest(RestFrom::kWrites, written.error());
      }
      ring_->pop();
    }
    if (clock_.now() < next_tick) continue;
    next_tick = clock_.now() + kTick;
    chunks_->keep_limits();
    end_rest();
  }
}

bool DiskTier::reads_rest() const { return clock_.now() < reads_rest_until_.load(); }

bool DiskTier::writes_rest() const { return clock_.now() < writes_rest_until_.load(); }

// A disk that cannot be read answers late before it fails, so it is not asked at all for a while.
void DiskTier::rest(RestFrom what, const Error& cause) {
  counts_.errors.add();
  const auto until = clock_.now() + rest_;
  writes_rest_until_ = until;
  if (what == RestFrom::kAll) reads_rest_until_ = until;
  counts_.up.set(0);
  log::warn("disk: {}; the disk cache {} for {}", cause.detail,
            what == RestFrom::kAll ? "is not used" : "takes nothing new", format_duration(rest_));
}

void DiskTier::end_rest() {
  if (counts_.up.value() == 1 || writes_rest()) return;
  counts_.up.set(1);
  log::info("disk: the disk cache is in use again");
}

}  // namespace s3rdmafs::disk
