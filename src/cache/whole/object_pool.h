// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

namespace s3rdmafs::cache {

/// Decides which object files exist, and which are evicted when another needs room. Pure
/// bookkeeping over numbers; it touches no file. Thread-bound: ObjectTable's lock guards it.
///
/// A file is *busy* (being made or filled, open, pinned, or not yet fenced), or *idle* (holds an
/// object that is not open; the least recently used one is evicted first), or *empty* (evicted
/// before all idle ones, and the first choice for an object that fits).
class ObjectPool {
 public:
  using FileId = std::uint64_t;

  struct Limits {
    std::uint64_t bytes_max = 0;
    std::size_t files_max = 0;  ///< a descriptor each
  };

  /// The room of a new object: `file`, a new number unless `reused`, and the files to close before
  /// it is made. The caller forgets the objects of the dropped and the reused files.
  struct Room {
    FileId file = 0;
    bool reused = false;
    std::vector<FileId> dropped = {};
    std::uint64_t dropped_bytes = 0;  ///< for set_closed()
  };

  explicit ObjectPool(Limits limits) : limits_(limits) {}

  /// A busy file of exactly this capacity. Nothing, and no change, if that would take files that
  /// are busy or held.
  /// @param is_held  whether a program has the file although it is idle; such a file stays, since
  ///                 closing it would free no memory
  [[nodiscard]] std::optional<Room> take(std::uint64_t capacity_bytes,
                                         const std::function<bool(FileId)>& is_held);

  /// A busy file of exactly this capacity that is made ahead of need: only if no file has to go for
  /// it, and no dropped file is still to be closed.
  [[nodiscard]] std::optional<FileId> reserve(std::uint64_t capacity_bytes);
  /// The caller has closed what take() told it to drop.
  void set_closed(std::uint64_t bytes) { closing_bytes_ -= bytes; }

  void set_busy(FileId file);
  void set_idle(FileId file);   ///< as the most recently used
  void set_empty(FileId file);  ///< the next to go
  /// The file was closed, or could not be made.
  void remove(FileId file);

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t files() const noexcept { return files_.size(); }
  [[nodiscard]] std::uint64_t busy_bytes() const;
  [[nodiscard]] std::uint64_t empty_bytes() const;

 private:
  struct File {
    std::uint64_t capacity_bytes = 0;
    bool is_empty = false;
    std::optional<std::list<FileId>::iterator> place;  // in order_; none while busy
  };

  [[nodiscard]] std::optional<FileId> find_empty(std::uint64_t capacity_bytes,
                                                 const std::function<bool(FileId)>& is_held) const;
  [[nodiscard]] FileId add(std::uint64_t capacity_bytes);
  [[nodiscard]] bool has_room(std::uint64_t more_bytes, std::uint64_t fewer_bytes,
                              std::size_t fewer_files) const;
  void leave_order(File& file);

  const Limits limits_;
  std::uint64_t bytes_ = 0;
  std::uint64_t closing_bytes_ = 0;  // dropped, and not yet closed; not in bytes_
  FileId last_ = 0;
  std::unordered_map<FileId, File> files_;
  std::list<FileId> order_;  // in the order of eviction: the empty ones first
};

}  // namespace s3rdmafs::cache
