// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "s3/object_store.h"
#include "s3/object_writer.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "vfs/directories/listing_cursor.h"
#include "vfs/renames/rename_log.h"

namespace s3rdmafs::vfs {

/// An object that has moved.
struct MovedObject {
  s3::ObjectInfo from;
  std::string to;
  std::string etag;  ///< under the new key, also of one that was taken back; empty: not there
  bool is_renamed = false;  ///< the server moved it at once: the old key has nothing
  /// The copy or the rename failed without an answer that says so: it may be there.
  bool may_be_there = false;
};

/// Moves all keys below one prefix to another: lists them, renames or copies them all, then removes
/// what was copied. Until the last one is there, a failure takes them back again; after it, the
/// move can only go on. One use. Shared: requests under way keep it alive. Thread-safe.
class TreeMover : public std::enable_shared_from_this<TreeMover> {
 public:
  struct Parts {
    s3::ObjectStore& store;
    s3::ObjectWriter& writer;
    RenameLog& log;
    std::function<Deadline()> request_deadline;
    std::size_t keys_max = 0;  ///< with more the move fails before anything is changed
  };
  using Moved = std::vector<MovedObject>;
  struct Listeners {
    /// Called before the server is asked to rename this one: a reader may find the old key gone
    /// before the answer is here. By several threads.
    std::function<void(const MovedObject&)> on_moving;
    /// Called when all are there, before the first removal.
    std::move_only_function<void(const Moved&)> on_moved;
  };

  /// Both prefixes end in "/".
  /// @param replaces  `to` is there, as an empty directory, and stays where the move fails
  TreeMover(Parts parts, std::uint64_t id, std::string from, std::string to, bool replaces = false)
      : parts_(std::move(parts)),
        id_(id),
        from_(std::move(from)),
        to_(std::move(to)),
        replaces_(replaces) {}

  /// `to` has no key but its own, which is replaced.
  /// Errors: kTooManyKeys, kNameTooLong (a key would have more than 1,024 bytes); those of the
  /// store. After an error of a removal the new names have everything, and some old ones are left.
  void move(Listeners listeners, Done<void> done);
  /// When move() has answered: the objects that it found, also after an error. Any of both names
  /// may then have another version.
  [[nodiscard]] const Moved& objects() const { return objects_; }

 private:
  void list(ListingCursor cursor, Done<void> done);
  [[nodiscard]] Result<void> add_page(const s3::ListPage& page);
  [[nodiscard]] s3::Precondition condition_of(const MovedObject& object) const;
  void move_all(Done<void> done);
  void move_one(std::size_t index, Done<void> done);
  void copy_one(std::size_t index, Done<void> done);
  void note(std::size_t index, Result<std::string> etag, Done<void> done);
  void take_back(Error why, Done<void> done);
  void take_back_one(const MovedObject& moved, Done<void> done);
  void rename_back(const MovedObject& moved, Done<void> done);
  void remove_copy(const MovedObject& copy, Done<void> done);
  void remove_all(Done<void> done);

  const Parts parts_;
  const std::uint64_t id_;
  const std::string from_;
  const std::string to_;
  const bool replaces_;
  std::chrono::system_clock::time_point newest_ = {};  ///< of the keys that were listed
  Listeners listeners_;
  std::atomic<std::size_t> strays_ = 0;  ///< what could not be taken back, or may be there
  Moved objects_;                        ///< each is changed by its own requests only
};

}  // namespace s3rdmafs::vfs
