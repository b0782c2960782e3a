// SPDX-License-Identifier: Apache-2.0
// Blocks of objects in registered memory, filled once however many readers want them.
//
// A read. It finds or makes its one or two blocks and pins all of them or none, so that no read
// holds memory while it waits for memory. Units that are missing and not already on their way
// become fills: one GET for each run of units. The read then waits in its blocks' lists, and the
// thread that finishes the last fill completes it. A read that finds no memory joins a queue, which
// is tried again whenever memory is released, one stream after another. Later reads that need
// memory join it too: otherwise reads of one block would for ever take what a read of two waits
// for.
//
// Late writes. If a fill fails while the server may still write, its whole slab goes into
// quarantine: the slab's blocks leave the index and nothing new is put there. When the slab's last
// pin and fill have ended, memory::Quarantine fences its region; then it is used again. Reads that
// waited for such a fill start over in other memory.
//
// Lifetime. A block lives while the index, a pin or a fill holds it. A slab becomes free only if it
// has no users (pins and fills) and no blocks in the index, so no reader sees its memory change.
//
// Locks. mutex_ (order 3a) is never held over the store, a Done or a fence: an event collects
// Actions under it and carries them out after it. A hit takes only its object's lock (3b; block.h
// says what each guards). Unpinning takes none, unless it removes the last user of a withdrawn slab
// or a read is starved. No wake-up is lost: a starved read counts itself and then looks for memory
// again; an unpin removes its user and then looks at that count.
//
// Blocks and fragments. A large object is cut into blocks of a slab each, so that a stream's GETs
// can be as long. A read that is not a step of a stream goes into fragments, blocks of about its
// own length: otherwise random readers would take 8 MiB of memory for each 4 KiB. Where the large
// block is there already, the read goes into that. Bytes may be in both; they are of one version,
// so the same.
//
// Cost. A hit takes its object's lock, one or two hash look-ups, and an allocation for each of its
// one or two pins.
#include "cache/blocks/block_cache.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace s3rdmafs::cache {

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
      clock_(clock),
      options_(options),
      metrics_(metrics),
      sender_(arena, store, clock,
              [this](const Fill& fill, const FillSender::Outcome& outcome) {
                finish_fill(fill, outcome);
              }),
      read_ahead_(arena.slab_count() * kSlabBytes, options.read_ahead_max_bytes),
      usage_(arena.slab_count()),
      pool_(usage_),
      index_(pool_, metrics),
      thread_("cache-fence", clock, [this] {
        quarantine_.retry();
        on_tick();
      }) {
  metrics_.size_bytes.set(static_cast<std::int64_t>(arena.slab_count() * kSlabBytes));
  const MutexLock lock(mutex_);
  update_slab_gauges();
}

BlockCache::~BlockCache() = default;

std::shared_ptr<ObjectReader> BlockCache::open(ObjectVersion version) {
  const MutexLock lock(mutex_);
  auto object = index_.find_or_make(std::move(version));
  ++object->readers;
  return std::make_shared<Reader>(*this, std::move(object));
}

void BlockCache::close(const std::shared_ptr<CachedObject>& object) {
  const MutexLock lock(mutex_);
  --object->readers;
  index_.drop_if_unused(object);
}

void BlockCache::prefetch(ObjectVersion version) {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    const Pace pace = sender_.pace();
    const std::uint64_t whole_max = std::max(kPrefetchedWholeMax, pace.first_bytes);
    const std::uint64_t bytes =
        version.size_bytes <= whole_max ? version.size_bytes : pace.first_bytes;
    if (bytes > read_ahead_.share(clock_.now(), pace)) return;
    const std::shared_ptr<CachedObject> object = index_.find_or_make(std::move(version));
    ++object->readers;  // else its own memory could be evicted for it
    plan_read_ahead(object, {.begin = 0, .end = bytes}, actions);
    --object->readers;
    index_.drop_if_unused(object);
  }
  carry_out(std::move(actions));
}

void BlockCache::read(const std::shared_ptr<CachedObject>& object, ByteRange range,
                      Deadline deadline, Done<PinnedBytes> done) {
  Lookup lookup = look_up(object, range);
  const bool waits = lookup.found != ReadAhead::Found::kAll;
  (waits ? metrics_.waits : metrics_.hits).add();
  Actions actions;
  if (waits || lookup.is_again || !lookup.ahead.empty()) {
    const MutexLock lock(mutex_);
    if (lookup.is_again) {
      for (const auto slab : std::span(lookup.slabs).first(lookup.bytes.pieces().size())) {
        pool_.protect(slab);
      }
    }
    if (waits) {
      auto read = std::make_shared<PendingRead>();
      read->object = object;
      read->range = range;
      read->deadline = deadline;
      read->done = std::exchange(done, nullptr);
      read->is_step = lookup.is_step;
      read->stream = lookup.stream;
      start_or_queue(read, actions);
    }
    for (const ByteRange ahead : lookup.ahead) plan_read_ahead(object, ahead, actions);
  }
  if (done) done(std::move(lookup.bytes));
  carry_out(std::move(actions));
}

BlockCache::Lookup BlockCache::look_up(const std::shared_ptr<CachedObject>& object,
                                       ByteRange range) {
  const BlockClass fragments = object->fragment_class(range);
  Lookup lookup;
  lookup.now = clock_.now();
  const ReadAhead::Limits limits = read_ahead_.limits(lookup.now, sender_.pace());
  const MutexLock lock(object->mutex);
  if (!pin_if_there(*object, object->block_class, range, lookup) &&
      fragments != object->block_class) {
    std::ignore = pin_if_there(*object, fragments, range, lookup);
  }
  lookup.is_step = object->streams.expects(range);
  lookup.ahead =
      object->streams.on_read({.range = range, .found = lookup.found, .now = lookup.now}, limits);
  read_ahead_.note_read(object->streams, lookup.now);
  lookup.stream = object->streams.last_stream();
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
    lookup.is_again |= block->note_read(range, lookup.now) && may_be_protected(slab);
    lookup.slabs.at(i) = slab;
    usage_.add(slab);
    if (is_streamed(*block)) usage_.mark_streamed(slab);
    metrics_.pins.add(1);
    lookup.bytes.add(bytes_in(*block, range), std::make_unique<BlockPin>(*this, block));
  }
  return true;
}

std::span<const std::byte> BlockCache::bytes_in(const Block& block, ByteRange range) {
  const std::uint64_t size = block.size_bytes();
  const std::uint64_t block_begin = block.object_offset();
  const std::uint64_t begin = std::max(range.begin, block_begin) - block_begin;
  const std::uint64_t end = std::min(range.end, block_begin + size) - block_begin;
  const auto slab = arena_.region(block.place.slab).bytes();
  return slab.subspan(block.place.slot * size + begin, end - begin);
}

// The read's own pins move into the result.
PinnedBytes BlockCache::pinned_bytes_of(const PendingRead& read) {
  PinnedBytes bytes;
  for (const PendingRead::Part& part : read.parts()) {
    bytes.add(bytes_in(*part.block, read.range), std::make_unique<BlockPin>(*this, part.block));
  }
  return bytes;
}

void BlockCache::unpin(const std::shared_ptr<Block>& block) {
  const std::uint32_t slab = block->place.slab;
  metrics_.pins.add(-1);
  const bool was_last_of_withdrawn = usage_.remove(slab);
  if (!was_last_of_withdrawn && !any_starved()) return;
  Actions actions;
  {
    const MutexLock lock(mutex_);
    if (was_last_of_withdrawn) reclaim(slab);
    retry_starved(actions);
  }
  carry_out(std::move(actions));
}

void BlockCache::note_read(Block& block, ByteRange range) {
  bool is_again = false;
  {
    const MutexLock lock(block.object->mutex);
    is_again = block.note_read(range, clock_.now()) && may_be_protected(block.place.slab);
    if (is_streamed(block)) usage_.mark_streamed(block.place.slab);
  }
  if (is_again) pool_.protect(block.place.slab);
}

// A streamed slab is read again by readers that follow the first, and none needs it after them.
bool BlockCache::may_be_protected(std::uint32_t slab) const {
  return !usage_.is_protected(slab) && !usage_.is_streamed(slab);
}

bool BlockCache::is_streamed(const Block& block) const {
  return block.size_bytes() == kSlabBytes &&
         block.object->version.size_bytes > arena_.slab_count() * kSlabBytes &&
         block.is_read_through();
}

}  // namespace s3rdmafs::cache
