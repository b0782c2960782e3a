// SPDX-License-Identifier: Apache-2.0
// Blocks of objects in registered memory, filled once however many readers want them.
//
// How a read goes. Its one or two blocks are found or made and pinned, all or none of them, so that
// no read ever holds memory while it waits for memory. Units that are missing and not already on
// their way become fills: one GET for each run of units. The read then waits in its blocks' lists;
// the thread that finishes the last fill completes it. Reads that find no memory at all queue up
// and are tried again whenever something is let go.
//
// Late writes. A fill that failed while the server may still write puts its whole slab into
// quarantine: its blocks leave the index, nothing new is put there, and when the last pin and fill
// on it has ended the slab's region is renewed by Quarantine before it is used again. Reads that
// waited for such a fill start over in other memory.
//
// Lifetime. A block lives while the index, a pin or a fill holds it. A slab becomes free only with
// no users (pins and fills) and no blocks in the index, so nobody can see memory change hands.
//
// Locks. mutex_ (order 3) is never held over the store, a Done or a renewal: events collect Actions
// under it and carry them out after it.
//
// Blocks and fragments. A large object is cut into blocks of a slab each, so that a stream's GETs
// can be as long. A read that is no step of a stream goes into fragments, blocks of about its own
// length: random readers would else take 8 MiB of memory for each 4 KiB. Where the large block is
// there already it goes into that. Bytes may be in both; they are of one version, so the same.
//
// Cost. A hit is one lock, one or two hash look-ups and an allocation for each of its one or two
// pins.
#include "cache/block_cache.h"

#include <algorithm>
#include <array>
#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::cache {
namespace {

// A read starts over at most this often after fills that may be written late. Its deadline bounds
// the time; this bounds the memory one unlucky read can send into quarantine.
constexpr unsigned kRestartsMax = 2;

// Objects of one block of at most this class are fetched whole by the first read: it takes no
// longer than the round trip that a second read would cost.
constexpr BlockClass kWholeUpTo = BlockClass::k512KiB;

// The class of fragments for a read that is no step of a stream, two of which hold it; the object's
// own where there are none.
BlockClass fragment_class(const CachedObject& object, ByteRange range) {
  if (object.block_class <= kWholeUpTo) return object.block_class;
  return std::min(block_class_for(range.end - range.begin), object.block_class);
}

// Numbers of the blocks that a range lies in: [first, last).
struct BlockNumbers {
  BlockNumbers(BlockClass block_class, ByteRange range)
      : first(range.begin / block_bytes(block_class)),
        last((range.end + block_bytes(block_class) - 1) / block_bytes(block_class)) {}
  std::uint64_t first;
  std::uint64_t last;
};

}  // namespace

class BlockCache::Reader final : public ObjectReader {
 public:
  Reader(BlockCache& cache, std::shared_ptr<CachedObject> object)
      : cache_(cache), object_(std::move(object)) {}
  ~Reader() override { cache_.close(object_); }

  void read(std::uint64_t offset_bytes, std::size_t length, Deadline deadline,
            Done<PinnedBytes> done) override {
    const std::uint64_t size = object_->version.size_bytes;
    const ByteRange range{.begin = offset_bytes, .end = std::min(offset_bytes + length, size)};
    if (range.empty()) {
      done(PinnedBytes{});
      return;
    }
    cache_.read(object_, range, deadline, std::move(done));
  }

 private:
  BlockCache& cache_;
  std::shared_ptr<CachedObject> object_;
};

class BlockCache::BlockPin final : public PinnedBytes::Pin {
 public:
  BlockPin(BlockCache& cache, std::shared_ptr<Block> block)
      : cache_(cache), block_(std::move(block)) {}
  ~BlockPin() override { cache_.unpin(block_); }

 private:
  BlockCache& cache_;
  std::shared_ptr<Block> block_;
};

BlockCache::BlockCache(Arena& arena, s3::ObjectStore& store, const Clock& clock,
                       metrics::Registry& metrics, Options options)
    : arena_(arena),
      store_(store),
      clock_(clock),
      options_(options),
      hits_(metrics.counter("cache_reads_total", "Reads by what they found", R"(result="hit")")),
      waits_(metrics.counter("cache_reads_total", "Reads by what they found", R"(result="wait")")),
      demand_bytes_(metrics.counter("cache_fill_bytes_total", "Bytes asked of the store by cause",
                                    R"(cause="demand")")),
      read_ahead_bytes_(metrics.counter(
          "cache_fill_bytes_total", "Bytes asked of the store by cause", R"(cause="read_ahead")")),
      quarantines_(metrics.counter("cache_quarantines_total",
                                   "Slabs withheld because a late write was possible")),
      pins_(metrics.gauge("cache_pins", "Blocks held by reads and replies")),
      fills_in_flight_(metrics.gauge("cache_fills_in_flight", "GETs into the cache under way")),
      reads_waiting_(metrics.gauge("cache_reads_waiting", "Reads that wait for bytes or memory")),
      slabs_free_(metrics.gauge("cache_slabs", "Slabs by state", R"(state="free")")),
      slabs_quarantined_(metrics.gauge("cache_slabs", "Slabs by state", R"(state="quarantined")")),
      pool_(arena.slab_count()),
      index_(pool_, clock, metrics),
      quarantine_(
          arena, "cache-renew", [this](std::uint32_t slab) { on_slab_renewed(slab); },
          [this] { on_tick(); }) {
  metrics.gauge("cache_size_bytes", "Registered memory")
      .set(static_cast<std::int64_t>(arena.slab_count() * Arena::kSlabBytes));
  const MutexLock lock(mutex_);
  update_slab_gauges();
}

BlockCache::~BlockCache() = default;

std::shared_ptr<ObjectReader> BlockCache::open(ObjectVersion version) {
  const MutexLock lock(mutex_);
  auto object = index_.find_or_make(std::move(version));
  ++object->readers;
  ++readers_open_;
  return std::make_shared<Reader>(*this, std::move(object));
}

void BlockCache::prefetch(ObjectVersion version) {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    if (version.size_bytes > read_ahead_share()) return;
    const std::shared_ptr<CachedObject> object = index_.find_or_make(std::move(version));
    plan_read_ahead(object, {.begin = 0, .end = object->version.size_bytes}, actions);
    index_.drop_if_unused(object);
  }
  carry_out(std::move(actions));
}

void BlockCache::close(const std::shared_ptr<CachedObject>& object) {
  const MutexLock lock(mutex_);
  --object->readers;
  --readers_open_;
  index_.drop_if_unused(object);
}

void BlockCache::read(const std::shared_ptr<CachedObject>& object, ByteRange range,
                      Deadline deadline, Done<PinnedBytes> done) {
  PinnedBytes hit;
  Actions actions;
  {
    const MutexLock lock(mutex_);
    const bool waits = !pin_if_there(*object, range, hit);
    if (waits) {
      auto read = std::make_shared<PendingRead>();
      read->object = object;
      read->range = range;
      read->deadline = deadline;
      read->done = std::exchange(done, nullptr);
      read->is_step = object->streams.expects(range.begin);
      start_or_queue(read, actions);
    }
    (waits ? waits_ : hits_).add();
    plan_read_ahead(
        object,
        object->streams.on_read(range.begin, range.end - range.begin, waits, read_ahead_share()),
        actions);
  }
  if (done) done(std::move(hit));
  carry_out(std::move(actions));
}

bool BlockCache::pin_if_there(const CachedObject& object, ByteRange range, PinnedBytes& bytes) {
  if (pin_blocks_if_there(object, object.block_class, range, bytes)) return true;
  const BlockClass fragments = fragment_class(object, range);
  return fragments != object.block_class && pin_blocks_if_there(object, fragments, range, bytes);
}

bool BlockCache::pin_blocks_if_there(const CachedObject& object, BlockClass block_class,
                                     ByteRange range, PinnedBytes& bytes) {
  std::array<const std::shared_ptr<Block>*, PinnedBytes::kPiecesMax> found{};
  std::size_t count = 0;
  const BlockNumbers numbers(block_class, range);
  for (std::uint64_t number = numbers.first; number < numbers.last; ++number) {
    const auto at = object.blocks.find({block_class, number});
    if (at == object.blocks.end()) return false;
    if ((at->second->units_of(range) & ~at->second->valid) != 0) return false;
    found.at(count++) = &at->second;
  }
  for (const std::shared_ptr<Block>* block : std::span(found).first(count)) {
    index_.note_read(**block, range);
    pool_.add_user((*block)->place.slab);
    pins_.add(1);
    bytes.add(bytes_in(**block, range), std::make_unique<BlockPin>(*this, *block));
  }
  return true;
}

void BlockCache::start_or_queue(const std::shared_ptr<PendingRead>& read, Actions& actions) {
  if (start(read, actions)) return;
  starved_.push_back(read);
  if (!std::exchange(read->waits, true)) reads_waiting_.add(1);
}

BlockClass BlockCache::class_for(const PendingRead& read) {
  const CachedObject& object = *read.object;
  if (read.is_step) return object.block_class;
  const BlockNumbers numbers(object.block_class, read.range);
  for (std::uint64_t number = numbers.first; number < numbers.last; ++number) {
    if (!object.blocks.contains({object.block_class, number})) {
      return fragment_class(object, read.range);
    }
  }
  return object.block_class;
}

bool BlockCache::start(const std::shared_ptr<PendingRead>& read, Actions& actions) {
  const std::shared_ptr<CachedObject>& object = read->object;
  const BlockClass block_class = class_for(*read);
  // An object of one small block is fetched whole: its other reads follow at once.
  const bool is_small = object->block_class <= kWholeUpTo;
  const ByteRange wanted =
      is_small ? ByteRange{.begin = 0, .end = object->version.size_bytes} : read->range;

  const BlockNumbers numbers(block_class, read->range);
  for (std::uint64_t number = numbers.first; number < numbers.last; ++number) {
    auto block = index_.find_or_make_block(object, {block_class, number});
    update_slab_gauges();
    if (!block) {
      release_parts(*read);
      return false;
    }
    pool_.add_user(block->place.slab);
    pins_.add(1);
    index_.note_read(*block, read->range);
    const UnitMask needed = block->units_of(read->range);
    read->parts.at(read->part_count++) = {.block = std::move(block), .needed = needed};
  }

  bool complete = true;
  for (std::size_t i = 0; i < read->part_count; ++i) {
    const PendingRead::Part& part = read->parts.at(i);
    if ((part.needed & ~part.block->valid) == 0) continue;
    complete = false;
    plan_fills(part.block, part.block->units_of(wanted), read->deadline, demand_bytes_, actions);
    // A read that starts over may still be waiting in the block that was not lost.
    auto& waiters = part.block->waiters;
    if (std::ranges::find(waiters, read) == waiters.end()) waiters.push_back(read);
  }
  if (complete) {
    actions.ready.push_back(read);
  } else if (!std::exchange(read->waits, true)) {
    reads_waiting_.add(1);
  }
  return true;
}

void BlockCache::plan_fills(const std::shared_ptr<Block>& block, UnitMask wanted, Deadline deadline,
                            metrics::Counter& cause, Actions& actions) {
  UnitMask missing = wanted & ~block->valid & ~block->filling;
  while (missing != 0) {
    const UnitRun run = lowest_run(missing);
    const UnitMask mask = unit_mask(run.first, run.last);
    missing &= ~mask;
    block->filling |= mask;
    pool_.add_user(block->place.slab);
    fills_in_flight_.add(1);
    cause.add((run.last - run.first) * kUnitBytes);
    actions.fills.push_back({.block = block, .units = run, .deadline = deadline});
  }
}

void BlockCache::plan_read_ahead(const std::shared_ptr<CachedObject>& object, ByteRange range,
                                 Actions& actions) {
  if (range.empty() || !starved_.empty()) return;  // readers come before guesses
  const Deadline deadline = clock_.now() + options_.fill_deadline;
  const BlockNumbers numbers(object->block_class, range);
  for (std::uint64_t number = numbers.first; number < numbers.last; ++number) {
    const auto block = index_.find_or_make_block(object, {object->block_class, number});
    update_slab_gauges();
    if (!block) return;
    plan_fills(block, block->units_of(range), deadline, read_ahead_bytes_, actions);
  }
}

// Read-ahead may take a quarter of the cache, shared by all open objects: the rest keeps what was
// read. Never less than a request's worth, or a slow reader would get none at all.
std::uint64_t BlockCache::read_ahead_share() const {
  if (options_.read_ahead_max_bytes == 0) return 0;
  const std::uint64_t cache_bytes = arena_.slab_count() * Arena::kSlabBytes;
  const std::uint64_t share = cache_bytes / 4 / std::max<std::size_t>(readers_open_, 1);
  return std::clamp<std::uint64_t>(
      share, std::min(options_.read_ahead_max_bytes, std::uint64_t{block_bytes(BlockClass::k4MiB)}),
      options_.read_ahead_max_bytes);
}

void BlockCache::send(Fill fill) {
  const Block& block = *fill.block;
  const CachedObject& object = *block.object;
  const std::uint64_t in_block = fill.units.first * kUnitBytes;
  const std::uint64_t offset = block.object_offset() + in_block;
  const std::uint64_t length = std::min((fill.units.last - fill.units.first) * kUnitBytes,
                                        object.version.size_bytes - offset);

  s3::GetRequest request{.key = object.version.key,
                         .etag = object.version.etag,
                         .offset_bytes = offset,
                         .window = {.region = &arena_.region(block.place.slab),
                                    .offset = block.place.slot * block.size_bytes() + in_block,
                                    .length = length}};
  const Deadline deadline = fill.deadline;
  store_.get(std::move(request), deadline,
             [this, fill = std::move(fill)](const std::expected<s3::Path, s3::GetFailure>& result) {
               finish_fill(fill, result);
             });
}

void BlockCache::finish_fill(const Fill& fill,
                             const std::expected<s3::Path, s3::GetFailure>& result) {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    const std::shared_ptr<Block>& block = fill.block;
    const std::uint32_t slab = block->place.slab;
    const UnitMask mask = unit_mask(fill.units.first, fill.units.last);
    block->filling &= ~mask;
    fills_in_flight_.add(-1);
    if (result) {
      block->valid |= mask;
      settle_waiters(block, /*lost=*/0, /*failure=*/nullptr, actions);
    } else {
      if (result.error().late_write_possible && !pool_.is_quarantined(slab)) {
        quarantines_.add();
        pool_.quarantine(slab);
        index_.forget_blocks_of(slab);
        update_slab_gauges();
      }
      settle_waiters(block, mask, &result.error(), actions);
    }
    remove_user(slab);
    retry_starved(actions);
  }
  carry_out(std::move(actions));
}

// `lost` are the units that will not come: reads that need one fail with `failure`, or start over.
void BlockCache::settle_waiters(const std::shared_ptr<Block>& block, UnitMask lost,
                                const s3::GetFailure* failure, Actions& actions) {
  const auto waiters = std::exchange(block->waiters, {});
  for (const auto& read : waiters) {
    UnitMask needed_here = 0;
    bool complete = true;
    for (std::size_t i = 0; i < read->part_count; ++i) {
      const PendingRead::Part& part = read->parts.at(i);
      if (part.block == block) needed_here = part.needed;
      if ((part.needed & ~part.block->valid) != 0) complete = false;
    }
    if (needed_here == 0) continue;  // failed or started over by its other block
    if (complete) {
      actions.ready.push_back(read);
    } else if ((needed_here & lost) == 0) {
      if ((needed_here & ~block->valid) != 0) block->waiters.push_back(read);
    } else if (failure->late_write_possible && ++read->restarts <= kRestartsMax &&
               clock_.now() < read->deadline) {
      release_parts(*read);
      start_or_queue(read, actions);
    } else {
      release_parts(*read);
      actions.failed.push_back({.read = read, .error = failure->error});
    }
  }
}

void BlockCache::release_parts(PendingRead& read) {
  for (std::size_t i = 0; i < read.part_count; ++i) {
    remove_user(read.parts.at(i).block->place.slab);
    pins_.add(-1);
    read.parts.at(i) = {};
  }
  read.part_count = 0;
}

void BlockCache::retry_starved(Actions& actions) {
  while (!starved_.empty() && start(starved_.front(), actions)) starved_.pop_front();
}

void BlockCache::unpin(const std::shared_ptr<Block>& block) {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    pins_.add(-1);
    remove_user(block->place.slab);
    retry_starved(actions);
  }
  carry_out(std::move(actions));
}

void BlockCache::carry_out(Actions actions) {
  for (const auto& read : actions.ready) {
    if (read->waits) reads_waiting_.add(-1);
    read->done(pinned_bytes_of(*read));
  }
  for (FailedRead& failed : actions.failed) {
    if (failed.read->waits) reads_waiting_.add(-1);
    failed.read->done(std::unexpected(std::move(failed.error)));
  }
  for (Fill& fill : actions.fills) send(std::move(fill));
}

// The read's own pins move into the result.
PinnedBytes BlockCache::pinned_bytes_of(const PendingRead& read) {
  PinnedBytes bytes;
  for (std::size_t i = 0; i < read.part_count; ++i) {
    const std::shared_ptr<Block>& block = read.parts.at(i).block;
    bytes.add(bytes_in(*block, read.range), std::make_unique<BlockPin>(*this, block));
  }
  return bytes;
}

std::span<const std::byte> BlockCache::bytes_in(const Block& block, ByteRange range) {
  const std::uint64_t size = block.size_bytes();
  const std::uint64_t block_begin = block.object_offset();
  const std::uint64_t begin = std::max(range.begin, block_begin) - block_begin;
  const std::uint64_t end = std::min(range.end, block_begin + size) - block_begin;
  const auto slab = arena_.region(block.place.slab).bytes();
  return slab.subspan(block.place.slot * size + begin, end - begin);
}

void BlockCache::remove_user(std::uint32_t slab) {
  pool_.remove_user(slab);
  if (pool_.is_quarantined(slab) && !pool_.has_users(slab)) quarantine_.renew_later(slab);
}

void BlockCache::on_slab_renewed(std::uint32_t slab) {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    pool_.release(slab);
    update_slab_gauges();
    retry_starved(actions);
  }
  spdlog::info("cache: slab {} is out of quarantine", slab);
  carry_out(std::move(actions));
}

// Starved reads have nobody else who would notice that their time is up.
void BlockCache::on_tick() {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    const auto now = clock_.now();
    std::erase_if(starved_, [&](const std::shared_ptr<PendingRead>& read) {
      if (now < read->deadline) return false;
      actions.failed.push_back(
          {.read = read,
           .error = {ErrorCode::kTimedOut, "no cache memory became free within the deadline"}});
      return true;
    });
  }
  carry_out(std::move(actions));
}

void BlockCache::update_slab_gauges() {
  slabs_free_.set(static_cast<std::int64_t>(pool_.free_count()));
  slabs_quarantined_.set(static_cast<std::int64_t>(pool_.quarantined_count()));
}

}  // namespace s3rdmafs::cache
