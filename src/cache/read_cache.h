// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::cache {

/// One version of one object. Two versions with equal key, ETag and generation have equal bytes.
struct ObjectVersion {
  std::string key;
  std::string etag;  ///< with quotes, as the server sent it; never empty
  std::uint64_t size_bytes = 0;
  std::uint64_t generation = 0;  ///< not 0 if the ETag has named another version before
};

/// A text that is equal for equal versions only: a key cannot contain a NUL.
[[nodiscard]] inline std::string index_key(const ObjectVersion& version) {
  std::string text = version.key + '\0' + version.etag;
  if (version.generation != 0) text += '\0' + std::to_string(version.generation);
  return text;
}

/// Bytes of an object in the cache's registered memory, pinned until this is destroyed: a FUSE
/// reply is sent straight from them. Movable; any thread may destroy it.
class PinnedBytes {
 public:
  /// A read touches at most this many separate runs of memory: a FUSE request of up to 4 MiB
  /// crosses at most one border of two blocks. The caller splits longer reads.
  static constexpr std::size_t kPiecesMax = 2;

  /// Keeps one piece of memory from changing until it is destroyed.
  class Pin {
   public:
    virtual ~Pin() = default;
  };

  PinnedBytes() = default;
  void add(std::span<const std::byte> piece, std::unique_ptr<Pin> pin) {
    pieces_.at(count_) = piece;
    pins_.at(count_) = std::move(pin);
    ++count_;
  }

  /// In the order of offsets; none at or past the end of the object.
  [[nodiscard]] std::span<const std::span<const std::byte>> pieces() const {
    return std::span(pieces_).first(count_);
  }
  [[nodiscard]] std::size_t size_bytes() const {
    std::size_t sum = 0;
    for (const auto& piece : pieces()) sum += piece.size();
    return sum;
  }

 private:
  std::array<std::span<const std::byte>, kPiecesMax> pieces_;
  std::array<std::unique_ptr<Pin>, kPiecesMax> pins_;
  std::size_t count_ = 0;
};

/// Reads one version of one object through the cache. The streams (read-ahead state) belong to the
/// object, not to a file handle, since many processes share a file. Thread-safe.
class ObjectReader {
 public:
  virtual ~ObjectReader() = default;

  /// The bytes of [offset, offset + length), clipped to the object's end.
  /// @param length  1..4 MiB
  /// Errors: kStale (the version is gone), kTimedOut, kUnreachable, kAccessDenied, kCorrupt,
  ///         kCancelled, and the other errors of ObjectStore::get.
  /// `done` runs once: on the caller's thread on a hit, on the store's after a fill, on another
  /// reader's or the cache's where the read waited for memory.
  virtual void read(std::uint64_t offset_bytes, std::size_t length, Deadline deadline,
                    Done<PinnedBytes> done) = 0;
};

/// The source of file bytes. BlockCache implements it; tests/fakes has a fake. Thread-safe.
class ReadCache {
 public:
  virtual ~ReadCache() = default;

  /// Cheap: it does not use the network. The reader must be destroyed before the cache.
  [[nodiscard]] virtual std::shared_ptr<ObjectReader> open(ObjectVersion version) = 0;

  /// Longer versions are not prefetched whole: their read-ahead is soon at full speed.
  static constexpr std::uint64_t kPrefetchedWholeMax = 4 * kMiB;
  /// Fetches the version as read-ahead, of a long one the beginning, if the memory for that allows
  /// it. A guess: nothing waits for it, and errors are ignored.
  virtual void prefetch(ObjectVersion version) = 0;

  /// The store has answered a request without bytes, `took` after it was sent: how far ahead a
  /// stream is to be read depends on it.
  virtual void note_answer(std::chrono::nanoseconds took) { static_cast<void>(took); }
};

}  // namespace s3rdmafs::cache
