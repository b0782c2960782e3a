// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::target {

class PartPlaces;

/// The right to write a part into the file that its upload shares, at an offset of its own. Given
/// back with this object, unless the part was stored.
class PartPlace {
 public:
  PartPlace(PartPlace&& other) noexcept
      : places_(std::exchange(other.places_, nullptr)),
        upload_(std::move(other.upload_)),
        number_(other.number_),
        offset_bytes_(other.offset_bytes_),
        length_bytes_(other.length_bytes_) {}
  PartPlace& operator=(PartPlace&&) = delete;
  ~PartPlace();

  [[nodiscard]] std::uint64_t offset_bytes() const { return offset_bytes_; }
  /// The part of another number follows.
  [[nodiscard]] std::uint64_t length_bytes() const { return length_bytes_; }
  /// The part is stored, and its bytes will not change any more.
  void settle();

 private:
  friend class PartPlaces;
  PartPlace(PartPlaces* places, std::string upload, unsigned number, std::uint64_t part_bytes,
            std::uint64_t length_bytes)
      : places_(places),
        upload_(std::move(upload)),
        number_(number),
        offset_bytes_((number - 1) * part_bytes),
        length_bytes_(length_bytes) {}

  PartPlaces* places_;  // null once settled
  std::string upload_;
  unsigned number_;
  std::uint64_t offset_bytes_;
  std::uint64_t length_bytes_;
};

/// Foresees where in the object the parts of uploads will be: all but the last of an upload have
/// one size, whatever client it is. So they need not be copied together.
///
/// It knows the uploads that were begun in this run of the server, as it keeps nothing on disk.
/// Thread-safe; outlives its PartPlace.
class PartPlaces {
 public:
  void begin(const std::string& upload);
  /// A place that no other request writes to. Nothing where it cannot be foreseen: the part is
  /// longer than the first one was, it came before, or the upload is not known.
  [[nodiscard]] std::optional<PartPlace> take(const std::string& upload, unsigned number,
                                              std::uint64_t length_bytes);
  /// Gives no more places. Whether no request writes to one any more: one whose client left may
  /// still.
  [[nodiscard]] bool close(const std::string& upload);
  void end(const std::string& upload);

 private:
  friend class PartPlace;
  struct Upload {
    std::uint64_t part_bytes = 0;  ///< 0: none came yet
    std::set<unsigned> taken = {};
    unsigned writers = 0;
    bool is_closed = false;
  };
  void leave(const std::string& upload, unsigned number, bool is_stored);

  Mutex mutex_;  // leaf
  std::map<std::string, Upload> uploads_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::target
