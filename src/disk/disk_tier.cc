// SPDX-License-Identifier: Apache-2.0
// A tier between the memory cache and the server, for data sets that are larger than memory.
//
// Why a decorator. Both caches above ask an ObjectStore for ranges of one version of an object, so
// what answers them needs to know neither blocks nor files; without [disk] it is not there at all.
//
// Right bytes. An entry is of one version (key and ETag) in one bucket of one server, each unit of
// 64 KiB has a checksum, and it is compared before the caller is told. Whatever is wrong with an
// entry, it is dropped, and the same request goes to the server: into the same window, which nobody
// has seen.
//
// Never slower. A request waits in the queue for twice kPatience at most. The copy that is written
// later is made before the caller is answered, since the window is the caller's again then: 0.1 ms
// for a MiB, and only as long as the writer keeps up. A disk that cannot be read is left alone for
// a minute; one that cannot be written to, or is full, is still read.
//
// What is not bounded: a read that the kernel has begun. Its memory may be written until it ends,
// so the request cannot go elsewhere; the device's own time-outs (30 s for most) end it.
#include "disk/disk_tier.h"

#include <algorithm>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/thread_name.h"

namespace s3rdmafs::disk {
namespace {

// What a single NVMe device wants outstanding to be at its best with pieces of a few hundred KiB.
// They wait for it nearly all of the time.
constexpr unsigned kReadThreads = 8;
// A full queue of 4 MiB each takes a third of a second at 3 GB/s.
constexpr std::size_t kQueueMax = 256;
// Far longer than a disk takes that is well, and twice it no longer than the slowest of servers.
constexpr std::chrono::milliseconds kPatience{500};
// For the last of the write buffer: twice what a disk of 100 MB/s takes for it.
constexpr std::chrono::milliseconds kLastWrites{1300};

// 5 MB. A server that repeats so many ETags is better off without the tier.
constexpr std::size_t kDistrustedMax = 65'536;

// Whether the next chunk would fare no better.
bool is_failure(const Error& error) {
  return error.code != ErrorCode::kBusy && error.code != ErrorCode::kTooLarge;
}

}  // namespace

DiskTier::Counts::Counts(metrics::Registry& metrics)
    : hits(metrics.counter("disk_reads_total", "Requests by what the disk cache had",
                           R"(result="hit")")),
      misses(metrics.counter("disk_reads_total", "Requests by what the disk cache had",
                             R"(result="miss")")),
      bypasses(metrics.counter("disk_reads_total", "Requests by what the disk cache had",
                               R"(result="bypass")")),
      read_bytes(metrics.counter("disk_read_bytes_total", "Bytes served from the disk cache")),
      written_bytes(metrics.counter("disk_written_bytes_total", "Bytes written to the disk cache")),
      corrupt(metrics.counter("disk_corrupt_total",
                              "Entries of the disk cache that were not what had been written")),
      errors(metrics.counter("disk_errors_total", "Times the disk failed")),
      dropped(metrics.counter("disk_writes_dropped_total",
                              "Chunks not written because the disk was behind, full or failing")),
      up(metrics.gauge("disk_up",
                       "1 if the disk cache is in use, 0 while it is not, or takes nothing new, "
                       "after a failure")) {
  up.set(1);
}

Result<std::unique_ptr<DiskTier>> DiskTier::open(const Options& options, s3::ObjectStore& store,
                                                 const Clock& clock, metrics::Registry& metrics) {
  auto folder = CacheFolder::open(options.path, CacheFolder::Purpose::kUse);
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
  auto ring = WriteRing::create(options.write_buffer_bytes);
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
  closing_ = true;  // from here on all goes to the store, which says no
  readers_.finish();
  store_.shut_down();
  if (!ring_->wait_until_empty(std::chrono::steady_clock::now() + kLastWrites)) {
    spdlog::info("disk: the last of what was read is not kept: the disk is slow");
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
          spdlog::warn("disk: {}; they are fetched again (further ones are only counted)",
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

// Only what begins at a unit: the caches above ask for nothing else.
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
  auto next_tick = std::chrono::steady_clock::now() + kTick;
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
    if (std::chrono::steady_clock::now() < next_tick) continue;
    next_tick = std::chrono::steady_clock::now() + kTick;
    chunks_->keep_limits();
    end_rest();
  }
}

bool DiskTier::reads_rest() const { return clock_.now() < reads_rest_until_.load(); }

bool DiskTier::writes_rest() const { return clock_.now() < writes_rest_until_.load(); }

// A disk that cannot be read answers late before it says so: then nothing is asked of it at all.
void DiskTier::rest(RestFrom what, const Error& cause) {
  counts_.errors.add();
  const auto until = clock_.now() + rest_;
  writes_rest_until_ = until;
  if (what == RestFrom::kAll) reads_rest_until_ = until;
  counts_.up.set(0);
  spdlog::warn("disk: {}; the disk cache {} for {}", cause.detail,
               what == RestFrom::kAll ? "is not used" : "takes nothing new",
               format_duration(rest_));
}

void DiskTier::end_rest() {
  if (counts_.up.value() == 1 || writes_rest()) return;
  counts_.up.set(1);
  spdlog::info("disk: the disk cache is in use again");
}

}  // namespace s3rdmafs::disk
