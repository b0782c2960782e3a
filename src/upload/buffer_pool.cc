// SPDX-License-Identifier: Apache-2.0
// Part buffers: which request gets which run of registered memory, and which memory must rest.
//
// Why slabs and chunks. A region is the unit of registration and of renewal, and a part must lie in
// one region; so a slab, the size of the largest part, is a region, and smaller parts share one.
// Small ones go where most is in use already, which keeps other slabs whole for large ones.
//
// Late reads. A buffer whose request was never answered may still be read by the server: bytes put
// there now could end up in an older object. Its slab gives out nothing more; when the last buffer
// of it has come back (a renewal would break their transfers) the region is renewed, and only then
// is the slab used again. See s3rdmafs-protocol(7), LATE TRANSFERS.
//
// Locks. mutex_ is a leaf: buffers are handed out after it is released.
#include "upload/buffer_pool.h"

#include <algorithm>
#include <string>

namespace s3rdmafs::upload {

std::span<std::byte> PartBuffer::bytes() const {
  return window(place_.chunks * pool_->chunk_bytes_).bytes();
}

rdma::Window PartBuffer::window(std::size_t length) const {
  return {.region = &pool_->arena_.region(place_.slab),
          .offset = place_.chunk * pool_->chunk_bytes_,
          .length = length};
}

void PartBuffer::give_back() noexcept {
  if (BufferPool* const pool = std::exchange(pool_, nullptr)) pool->give_back(place_, rests_);
}

BufferPool::BufferPool(memory::Arena& arena, std::size_t chunk_bytes, const Clock& clock,
                       metrics::Registry& metrics, std::function<void()> on_tick)
    : arena_(arena),
      chunk_bytes_(chunk_bytes),
      clock_(clock),
      used_bytes_(metrics.gauge("upload_buffers_used_bytes",
                                "Part buffers that are filled or sent, in bytes.")),
      quarantined_bytes_(
          metrics.gauge("upload_quarantined_bytes",
                        "Part buffers withheld until no server can read them any more.")),
      waiting_gauge_(metrics.gauge("upload_writes_waiting", "Writes that wait for a part buffer.")),
      slabs_(arena.slab_count()),
      thread_("upload-fence", clock, [this, tick = std::move(on_tick)] {
        quarantine_.retry();
        this->on_tick();
        tick();
      }) {
  metrics.gauge("upload_buffers_bytes", "Registered memory for part buffers.")
      .set(static_cast<std::int64_t>(arena.slab_count() * arena.slab_bytes()));
  const MutexLock lock(mutex_);
  for (Slab& slab : slabs_) slab.used.resize(arena.slab_bytes() / chunk_bytes);
}

std::optional<BufferPlace> BufferPool::find(std::uint32_t chunks) const {
  std::optional<BufferPlace> best;
  for (std::uint32_t number = 0; number < slabs_.size(); ++number) {
    const Slab& slab = slabs_[number];
    if (slab.quarantined) continue;
    if (best && slabs_[best->slab].used_chunks >= slab.used_chunks) continue;
    for (std::uint32_t first = 0; first + chunks <= slab.used.size(); first += chunks) {
      const auto begin = slab.used.begin() + first;
      if (std::find(begin, begin + chunks, true) != begin + chunks) continue;
      best = BufferPlace{.slab = number, .chunk = first, .chunks = chunks};
      break;
    }
  }
  return best;
}

BufferPool::Granted BufferPool::serve() {
  Granted granted;
  while (!waiting_.empty()) {
    const std::optional<BufferPlace> place = find(waiting_.front().chunks);
    if (!place) break;
    Slab& slab = slabs_[place->slab];
    std::fill_n(slab.used.begin() + place->chunk, place->chunks, true);
    slab.used_chunks += place->chunks;
    ++slab.buffers;
    used_bytes_.add(static_cast<std::int64_t>(place->chunks * chunk_bytes_));
    granted.emplace_back(std::move(waiting_.front().done), PartBuffer(*this, *place));
    waiting_.pop_front();
  }
  waiting_gauge_.set(static_cast<std::int64_t>(waiting_.size()));
  return granted;
}

void BufferPool::hand_out(Granted granted) {
  for (auto& [done, buffer] : granted) done(std::move(buffer));
}

void BufferPool::take(std::size_t size_bytes, Deadline deadline, Done<PartBuffer> done) {
  Granted granted;
  {
    const MutexLock lock(mutex_);
    if (!shut_down_) {
      waiting_.push_back({.chunks = static_cast<std::uint32_t>(size_bytes / chunk_bytes_),
                          .deadline = deadline,
                          .done = std::exchange(done, nullptr)});
      granted = serve();
    }
  }
  if (done) return done(fail(ErrorCode::kCancelled, "the mount is going down"));
  hand_out(std::move(granted));
}

void BufferPool::give_back(BufferPlace place, bool rests) {
  Granted granted;
  bool renew = false;
  {
    const MutexLock lock(mutex_);
    Slab& slab = slabs_[place.slab];
    std::fill_n(slab.used.begin() + place.chunk, place.chunks, false);
    slab.used_chunks -= place.chunks;
    --slab.buffers;
    used_bytes_.add(-static_cast<std::int64_t>(place.chunks * chunk_bytes_));
    if (rests && !std::exchange(slab.quarantined, true)) {
      quarantined_bytes_.add(static_cast<std::int64_t>(arena_.slab_bytes()));
    }
    renew = slab.quarantined && slab.buffers == 0;
    granted = serve();
  }
  if (renew) {
    quarantine_.add(arena_.region(place.slab), [this, slab = place.slab] { on_fenced(slab); });
  }
  hand_out(std::move(granted));
}

void BufferPool::on_fenced(std::uint32_t slab) {
  Granted granted;
  {
    const MutexLock lock(mutex_);
    slabs_[slab].quarantined = false;
    quarantined_bytes_.add(-static_cast<std::int64_t>(arena_.slab_bytes()));
    granted = serve();
  }
  hand_out(std::move(granted));
}

void BufferPool::on_tick() {
  const auto now = clock_.now();
  std::vector<Waiter> late;
  Granted granted;
  {
    const MutexLock lock(mutex_);
    std::deque<Waiter> still_waiting;
    for (Waiter& waiter : waiting_) {
      if (waiter.deadline <= now) {
        late.push_back(std::move(waiter));
      } else {
        still_waiting.push_back(std::move(waiter));
      }
    }
    waiting_ = std::move(still_waiting);
    granted = serve();  // the late one may have stood in the way of a smaller one
  }
  for (Waiter& waiter : late) {
    waiter.done(fail(ErrorCode::kNoMemory,
                     "no part buffer came free in time: too many files are being written at once, "
                     "or the server is too slow; raise write.buffer_size"));
  }
  hand_out(std::move(granted));
}

void BufferPool::shut_down() {
  std::deque<Waiter> ended;
  {
    const MutexLock lock(mutex_);
    shut_down_ = true;
    ended = std::exchange(waiting_, {});
    waiting_gauge_.set(0);
  }
  for (Waiter& waiter : ended) {
    waiter.done(fail(ErrorCode::kCancelled, "the mount is going down"));
  }
}

}  // namespace s3rdmafs::upload
