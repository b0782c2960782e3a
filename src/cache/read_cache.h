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

namespace s3rdmafs::cache {

/// One version of one object: what bytes are named by. Two with equal key, ETag and generation have
/// equal bytes.
struct ObjectVersion {
  std::string key;
  std::string etag;  ///< with quotes, as the server sent it; never empty
  std::uint64_t size_bytes = 0;
  std::uint64_t generation = 0;  ///< not 0 where the ETag had named another version before
};

/// The same for equal versions only: a NUL cannot be part of a key.
[[nodiscard]] inline std::string index_key(const ObjectVersion& version) {
  std::string text = version.key + '\0' + version.etag;
  if (version.generation != 0) text += '\0' + std::to_string(version.generation);
  return text;
}

/// Bytes of an object, held in the cache's registered memory and pinned there until this is
/// destroyed: a FUSE reply goes straight out of them. Movable; any thread may destroy it.
class PinnedBytes {
 public:
  /// A read touches at most this many separate runs of memory: a FUSE request of up to 4 MiB
  /// crosses one border of 4 MiB blocks. Longer reads are the caller's to split.
  static constexpr std::size_t kPiecesMax = 2;

  /// What keeps the memory still; destroyed with the PinnedBytes.
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

  /// In order of offset; empty at or past the end of the object.
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

/// Reads one version of one object through the cache. Its streams (read-ahead state) belong to the
/// object, not to a file handle, since many processes share one file. Thread-safe.
class ObjectReader {
 public:
  virtual ~ObjectReader() = default;

  /// The bytes of [offset, offset + length), clipped to the object's end.
  /// @param length  1..4 MiB
  /// Errors: kStale (the version is gone), kTimedOut, kUnreachable, kAccessDenied, kCorrupt,
  ///         kCancelled, and what else ObjectStore::get has.
  /// `done` runs on the caller's thread on a hit, on a thread of s3/ after a fill.
  virtual void read(std::uint64_t offset_bytes, std::size_t length, Deadline deadline,
                    Done<PinnedBytes> done) = 0;
};

/// Where file bytes come from. The real one is BlockCache; tests/fakes has a fake. Thread-safe.
class ReadCache {
 public:
  virtual ~ReadCache() = default;

  /// Cheap: no network. The reader must be gone before the cache.
  [[nodiscard]] virtual std::shared_ptr<ObjectReader> open(ObjectVersion version) = 0;

  /// Fetches the whole version, if there is room for it that nobody needs more. A guess: nobody
  /// waits for it or hears of it.
  virtual void prefetch(ObjectVersion version) = 0;
};

}  // namespace s3rdmafs::cache
