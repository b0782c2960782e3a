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
// Locks. mutex_ (order 3a) is never held over the store, a Done or a renewal: events collect
// Actions under it and carry them out after it. A hit takes its object's lock only (3b; block.h
// says what each guards), and letting go of its pins none: memory that somebody waits for, or that
// was withdrawn, is seen to by whoever lets go of it last. For the first, a read that starves
// counts itself and then looks once more; whoever lets go counts down and then looks for starved.
//
// Blocks and fragments. A large object is cut into blocks of a slab each, so that a stream's GETs
// can be as long. A read that is no step of a stream goes into fragments, blocks of about its own
// length: random readers would else take 8 MiB of memory for each 4 KiB. Where the large block is
// there already it goes into that. Bytes may be in both; they are of one version, so the same.
//
// Cost. A hit is its object's lock, one or two hash look-ups and an allocation for each of its one
// or two pins.
#include "cache/blocks/block_cache.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::cache {
namespace {

// Objects of one block of at most this class are fetched whole by the first read: it takes no
// longer than the round trip that a second read would cost.
constexpr BlockClass kWholeUpTo = BlockClass::k512KiB;

// The class of fragments for a read that is no step of a stream, two of which hold it; the object's
// own where there are none.
BlockClass fragment_class(const CachedObject& object, ByteRange range) {
  if (object.block_class <= kWholeUpTo) return object.block_class;
  return std::min(block_class_for(range.end - range.begin), object.block_class);
}

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

BlockCache::BlockCache(memory::Arena& arena, s3::ObjectStore& store, const Clock& clock,
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
      users_(arena.slab_count()),
      pool_(users_),
      index_(pool_, metrics),
      thread_("cache-fence", clock, [this] {
        quarantine_.retry();
        on_tick();
      }) {
  metrics.gauge("cache_size_bytes", "Registered memory")
      .set(static_cast<std::int64_t>(arena.slab_count() * memory::Arena::kSlabBytes));
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
    ++object->readers;  // or its own memory may be what it makes room from
    plan_read_ahead(object, {.begin = 0, .end = object->version.size_bytes}, actions);
    --object->readers;
    index_.drop_if_unused(object);
  }
  carry_out(std::move(actions));
}

void BlockCache::shut_down() {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    is_shut_down_ = true;
    for (const auto& read : std::exchange(starved_, {})) fail_as_shut_down(read, actions);
    starved_count_.store(0);
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
  Lookup lookup = look_up(object, range);
  const bool waits = lookup.found != ReadAhead::Found::kAll;
  (waits ? waits_ : hits_).add();
  Actions actions;
  if (waits || lookup.is_again || !lookup.ahead.empty()) {
    const MutexLock lock(mutex_);
    if (lookup.is_again) {
      for (const auto slab : std::span(lookup.slabs).first(lookup.bytes.pieces().size())) {
        pool_.keep(slab);
      }
    }
    if (waits) {
      auto read = std::make_shared<PendingRead>();
      read->object = object;
      read->range = range;
      read->deadline = deadline;
      read->done = std::exchange(done, nullptr);
      read->is_step = lookup.is_step;
      start_or_queue(read, actions);
    }
    for (const ByteRange ahead : lookup.ahead) plan_read_ahead(object, ahead, actions);
  }
  if (done) done(std::move(lookup.bytes));
  carry_out(std::move(actions));
}

BlockCache::Lookup BlockCache::look_up(const std::shared_ptr<CachedObject>& object,
                                       ByteRange range) {
  const ReadAhead::Limits limits = read_ahead_limits(*object);
  const BlockClass fragments = fragment_class(*object, range);
  Lookup lookup;
  lookup.now = clock_.now();
  const MutexLock lock(object->mutex);
  if (!pin_if_there(*object, object->block_class, range, lookup) &&
      fragments != object->block_class) {
    std::ignore = pin_if_there(*object, fragments, range, lookup);
  }
  lookup.is_step = object->streams.expects(range);
  lookup.ahead =
      object->streams.on_read({.range = range, .found = lookup.found, .now = lookup.now}, limits);
  return lookup;
}

bool BlockCache::pin_if_there(const CachedObject& object, BlockClass block_class, ByteRange range,
                              Lookup& lookup) {
  std::array<const std::shared_ptr<Block>*, PinnedBytes::kPiecesMax> blocks{};
  std::size_t count = 0;
  auto found = ReadAhead::Found::kAll;
  const BlockNumbers numbers(block_class, range);
  for (std::uint64_t number = numbers.first; number < numbers.last; ++number) {
    const auto at = object.blocks.find({block_class, number});
    if (at == object.blocks.end()) return false;
    const Block& block = *at->second;
    const UnitMask missing = block.units_of(range) & ~block.valid;
    if ((missing & ~block.filling) != 0) return false;
    if (missing != 0) found = ReadAhead::Found::kOnTheirWay;
    blocks.at(count++) = &at->second;
  }
  lookup.found = found;
  if (found != ReadAhead::Found::kAll) return true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::shared_ptr<Block>& block = *blocks.at(i);
    const std::uint32_t slab = block->place.slab;
    lookup.is_again |= block->note_read(range, lookup.now) && may_be_kept(slab);
    lookup.slabs.at(i) = slab;
    users_.add(slab);
    if (has_passed(*block)) users_.mark_passed(slab);
    pins_.add(1);
    lookup.bytes.add(bytes_in(*block, range), std::make_unique<BlockPin>(*this, block));
  }
  return true;
}

void BlockCache::note_read(Block& block, ByteRange range) {
  bool is_again = false;
  {
    const MutexLock lock(block.object->mutex);
    is_again = block.note_read(range, clock_.now()) && may_be_kept(block.place.slab);
    if (has_passed(block)) users_.mark_passed(block.place.slab);
  }
  if (is_again) pool_.keep(block.place.slab);
}

// What has passed is read again by readers behind, who would keep what they leave behind them.
bool BlockCache::may_be_kept(std::uint32_t slab) const {
  return !users_.is_kept(slab) && !users_.has_passed(slab);
}

bool BlockCache::has_passed(const Block& block) const {
  return block.size_bytes() == memory::Arena::kSlabBytes &&
         block.object->version.size_bytes > arena_.slab_count() * memory::Arena::kSlabBytes &&
         block.is_read_through();
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
    users_.add(block->place.slab);
    pins_.add(1);
    note_read(*block, read->range);
    const UnitMask needed = block->units_of(read->range);
    read->parts.at(read->part_count++) = {.block = std::move(block), .needed = needed};
  }

  bool is_complete = true;
  Deadline ends{};
  for (std::size_t i = 0; i < read->part_count; ++i) {
    const PendingRead::Part& part = read->parts.at(i);
    if ((part.needed & ~part.block->valid) == 0) continue;
    is_complete = false;
    plan_fills(part.block, part.block->units_of(wanted), read->deadline, demand_bytes_, actions);
    ends = std::max(ends, part.block->fills_end);
    // A read that starts over may still be waiting in the block that was not lost.
    auto& waiters = part.block->waiters;
    if (std::ranges::find(waiters, read) == waiters.end()) waiters.push_back(read);
  }
  if (is_complete) {
    complete(read, actions);
    return true;
  }
  if (ends > read->deadline) impatient_.push_back(read);
  if (!std::exchange(read->waits, true)) reads_waiting_.add(1);
  return true;
}

void BlockCache::release_parts(PendingRead& read) {
  for (std::size_t i = 0; i < read.part_count; ++i) {
    remove_user(read.parts.at(i).block->place.slab);
    pins_.add(-1);
    read.parts.at(i) = {};
  }
  read.part_count = 0;
}

void BlockCache::unpin(const std::shared_ptr<Block>& block) {
  const std::uint32_t slab = block->place.slab;
  pins_.add(-1);
  const bool was_last_of_withdrawn = users_.remove(slab);
  if (!was_last_of_withdrawn && starved_count_.load() == 0) return;
  Actions actions;
  {
    const MutexLock lock(mutex_);
    if (was_last_of_withdrawn) attend(slab);
    retry_starved(actions);
  }
  carry_out(std::move(actions));
}

// A continuation ends with its call. It may own the last reader of the object, whose end takes the
// lock; and a read that failed in one block is known to its other block for longer, which lets go
// of it under the lock.
void BlockCache::carry_out(Actions actions) {
  for (const auto& read : actions.ready) {
    if (read->waits) reads_waiting_.add(-1);
    std::exchange(read->done, nullptr)(pinned_bytes_of(*read));
  }
  for (FailedRead& failed : actions.failed) {
    if (failed.read->waits) reads_waiting_.add(-1);
    std::exchange(failed.read->done, nullptr)(std::unexpected(std::move(failed.error)));
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
  if (users_.remove(slab)) attend(slab);
}

void BlockCache::attend(std::uint32_t slab) {
  if (pool_.attend(slab) == BlockPool::Reclaim::kToRenew) {
    quarantine_.add(arena_.region(slab), [this, slab] { on_slab_fenced(slab); });
  }
  update_slab_gauges();
}

void BlockCache::on_slab_fenced(std::uint32_t slab) {
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

void BlockCache::update_slab_gauges() {
  slabs_free_.set(static_cast<std::int64_t>(pool_.free_count()));
  slabs_quarantined_.set(static_cast<std::int64_t>(pool_.quarantined_count()));
}

}  // namespace s3rdmafs::cache
