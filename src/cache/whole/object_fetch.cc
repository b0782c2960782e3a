// SPDX-License-Identifier: Apache-2.0
// A fixed number of chains, each of which sends its next piece when the last one has arrived. A
// chain ends at its first failure, and the others end with their present piece.
#include "cache/whole/object_fetch.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::cache {
namespace {

// Long enough that a request costs next to nothing beside its bytes; short enough that an object of
// 32 MiB uses four connections (and rails) at once.
constexpr std::uint64_t kPieceBytes = 8 * kMiB;
// 32 MiB under way cover 25 GB/s at more than a millisecond; several objects are opened at once.
constexpr std::uint64_t kParallelPieces = 4;

class Fetch : public std::enable_shared_from_this<Fetch> {
 public:
  Fetch(s3::ObjectStore& store, ObjectPart part, rdma::MemoryRegion& region, FetchTerms terms,
        ObjectFetched done)
      : store_(store),
        part_(std::move(part)),
        region_(region),
        terms_(std::move(terms)),
        done_(std::move(done)),
        pieces_((part_.length_bytes + kPieceBytes - 1) / kPieceBytes),
        chains_(std::min(pieces_, kParallelPieces)) {}

  void run() {
    const std::uint64_t chains = std::min(pieces_, kParallelPieces);
    for (std::uint64_t i = 0; i < chains; ++i) send_next();
  }

 private:
  void send_next() {
    if (const auto piece = next_piece()) {
      const std::uint64_t offset = *piece * kPieceBytes;
      const std::uint64_t length = std::min(kPieceBytes, part_.length_bytes - offset);
      store_.get(
          {.key = part_.version.key,
           .etag = part_.version.etag,
           .offset_bytes = part_.offset_bytes + offset,
           .window = {.region = &region_, .offset = offset, .length = length}},
          terms_.part_deadline(),
          [self = shared_from_this(),
           length](const std::expected<s3::Path, s3::GetFailure>& result) {
            if (!result) {
              self->note(result.error());
            } else if (self->terms_.on_part && !self->terms_.on_part(length)) {
              self->note({.error = {ErrorCode::kCancelled, "the caller waits for it no longer"}});
            }
            self->send_next();
          });
      return;
    }
    end_chain();
  }

  [[nodiscard]] std::optional<std::uint64_t> next_piece() {
    const MutexLock lock(mutex_);
    if (failure_ || next_ == pieces_) return std::nullopt;
    return next_++;
  }

  void note(const s3::GetFailure& failure) {
    const MutexLock lock(mutex_);
    if (!failure_) {
      failure_ = failure;
    } else {
      failure_->late_write_possible |= failure.late_write_possible;
    }
  }

  void end_chain() {
    std::optional<s3::GetFailure> failure;
    {
      const MutexLock lock(mutex_);
      if (--chains_ > 0) return;
      failure = std::move(failure_);
    }
    if (failure) return done_(std::unexpected(std::move(*failure)));
    done_({});
  }

  s3::ObjectStore& store_;
  const ObjectPart part_;
  rdma::MemoryRegion& region_;
  const FetchTerms terms_;
  ObjectFetched done_;
  const std::uint64_t pieces_;

  Mutex mutex_;  // leaf
  std::uint64_t next_ GUARDED_BY(mutex_) = 0;
  std::uint64_t chains_ GUARDED_BY(mutex_);
  std::optional<s3::GetFailure> failure_ GUARDED_BY(mutex_);
};

}  // namespace

void fetch_object(s3::ObjectStore& store, const ObjectPart& part, rdma::MemoryRegion& region,
                  FetchTerms terms, ObjectFetched done) {
  std::make_shared<Fetch>(store, part, region, std::move(terms), std::move(done))->run();
}

}  // namespace s3rdmafs::cache
