// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "s3/object_writer.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/unique_fd.h"
#include "upload/part_sizes.h"
#include "upload/staged/byte_ranges.h"
#include "upload/staged/sidecar.h"

namespace s3rdmafs::upload {

/// Of file systems on x86 and most others. Where blocks are larger, files take more than is
/// charged.
inline constexpr std::uint64_t kPageBytes = 4096;

class StagingArea;

/// The bytes of one file that this mount wrote, in a local file, and what has to be known of them
/// after a crash of the daemon, in a sidecar beside it. Bytes that it lacks are those of the base
/// version, or of the version that was stored last. Made by StagingArea; destroying it closes the
/// file and leaves it on disk, remove() removes it. Thread-safe; calls block for a local file and
/// wait for no network, so FUSE workers may make them, without a lock of another layer.
///
/// Three sets of bytes. `written`: the local file has them. `changed`: they differ from the base,
/// so they have to be sent. `changed` contains every byte at and beyond the base's size, and is
/// part of `written`, but for what was *dropped*: bytes that an upload under way has, and the local
/// file no more (drop_sent). The rest of `written` is a copy of what the base has.
///
/// A *whole* file is one that began empty, so the local file has every byte. The kernel may then
/// write it for a program (FUSE passthrough) without a word to this class, which looks at the local
/// file for its size, its time, and whether it was written since the last store: if so, all of it
/// counts as changed. Room that the kernel takes is charged afterwards and refused by the file
/// system alone (StagingArea::bounds_itself).
class StagingFile {
 public:
  /// A run of bytes for a reader.
  struct Run {
    ByteRange bytes;
    bool is_local = false;    ///< read() has them
    bool is_dropped = false;  ///< they cannot be read before the file is stored
    // Neither: the base has them at the same place.
  };

  ~StagingFile();
  StagingFile(const StagingFile&) = delete;
  StagingFile& operator=(const StagingFile&) = delete;

  /// Writes all bytes; a gap between the size and `offset_bytes` becomes zeros.
  /// Errors: kNoSpace (write.staging_size, or the file system), kTooLarge, kSystem; then bytes that
  /// it would have replaced may be either the old or the new ones, and no other byte has changed.
  /// kSequentialOnly: bytes were dropped there; nothing has changed.
  [[nodiscard]] Result<void> write(std::uint64_t offset_bytes, std::span<const std::byte> bytes);
  /// Reads bytes of local runs; those at and beyond size_bytes() are zeros. Errors: kSystem.
  [[nodiscard]] Result<void> read(std::uint64_t offset_bytes, std::span<std::byte> out) const;
  /// Keeps a copy of bytes of the base, where the file has none of its own: not a change.
  /// Errors: kNoSpace, kSystem; then a part of them may be kept.
  [[nodiscard]] Result<void> keep_copy(std::uint64_t offset_bytes,
                                       std::span<const std::byte> bytes);
  /// Cuts the file, or extends it with zeros. Errors: as write().
  [[nodiscard]] Result<void> truncate(std::uint64_t size_bytes);
  /// Extends the file with zeros where it is shorter. Errors: as write().
  [[nodiscard]] Result<void> extend(std::uint64_t size_bytes);
  /// Makes zeros of the bytes below size_bytes(), and gives their room back. Errors: kSystem.
  [[nodiscard]] Result<void> punch(ByteRange bytes);

  /// The runs of `bytes` below size_bytes(), in order, neighbours of the same kind joined.
  [[nodiscard]] std::vector<Run> runs(ByteRange bytes) const;
  [[nodiscard]] std::uint64_t size_bytes() const;
  [[nodiscard]] ByteRanges written() const;
  [[nodiscard]] ByteRanges changed() const;
  /// Whether the base is not the file as it is: bytes, size or metadata differ, or there is no
  /// base.
  [[nodiscard]] bool is_changed() const;
  /// Key, base and metadata.
  [[nodiscard]] StagedIdentity identity() const;

  /// The key under which it will be stored, after a rename. Errors: kSystem.
  [[nodiscard]] Result<void> set_key(std::string key);
  /// As set_key(), where the new key has a copy of the base with this ETag. Errors: kSystem.
  [[nodiscard]] Result<void> set_copy(std::string key, std::string etag);
  /// Replaces the user metadata to be stored, which counts as a change also where it is the same:
  /// times that are not in it may differ. Errors: kSystem; then it is as before.
  [[nodiscard]] Result<void> set_metadata(s3::UserMetadata metadata);
  /// The user metadata of the base, to be stored with the next change; not a change. An error of
  /// the disk is logged.
  void set_base_metadata(s3::UserMetadata metadata);
  /// Why it was not stored, for `s3rdmafs recover`. An error of the disk is logged.
  void set_reason(std::string_view reason);

  /// The file as it is stored now. Writes may go on meanwhile; they count as changes of the version
  /// that the store makes. One store at a time.
  struct Snapshot {
    StagedIdentity identity;
    std::uint64_t size_bytes = 0;
    ByteRanges changed;
    bool is_copy = false;      ///< the file gets this size when it is stored
    ByteRanges as_sent = {};   ///< as begin_part() said, and not changed since
    bool has_dropped = false;  ///< some of these are not in the local file any more
  };
  [[nodiscard]] Snapshot begin_store();
  /// As begin_store(), where the store makes a copy of another object, which has so many bytes: the
  /// file has these from then on. Nothing, and no store begins: it has bytes, or is a whole file.
  [[nodiscard]] std::optional<Snapshot> begin_copy(std::uint64_t size_bytes);
  /// The store of the snapshot succeeded: its version is the base from now on. Errors: kSystem (the
  /// sidecar still has the former base: a crash would name the file in `recover` although it was
  /// stored).
  [[nodiscard]] Result<void> stored(std::string etag);
  /// The store failed: its changes are changes again, and no upload has parts of it.
  void not_stored();

  // Parts that are sent early (staging_file_early.cc)

  /// A file that was written from its first byte to its last, each write at its end, and to which
  /// nothing else was done since it was empty.
  struct InOrder {
    std::uint64_t run = 0;         ///< counts the times that it was empty
    std::uint64_t size_bytes = 0;  ///< 0: it is not such a file
  };
  [[nodiscard]] InOrder in_order() const;
  /// The bytes are about to be read and sent. False: it is another run, or a store is under way.
  [[nodiscard]] bool begin_part(ByteRange bytes, std::uint64_t run);
  /// The part was sent in this run: gives its room back, until the file is stored or empty again.
  /// It cannot be read meanwhile, nor changed. False: no room was given back, since it has changed,
  /// or was dropped before, or a store is under way, or the file is too large to be sent so, or the
  /// file system cannot. No reader may use runs() of before. Errors: as write().
  /// @param size_bytes_max  that the file may have from now on, until it is stored or empty
  [[nodiscard]] Result<bool> drop_sent(ByteRange part, std::uint64_t run,
                                       std::uint64_t size_bytes_max = kObjectBytesMax);
  /// The dropped bytes are lost, so the rest cannot be stored either: gives its room back too. No
  /// reader may use runs() of before.
  void give_up();
  /// The bytes that were dropped, which are lost if this mount does not store the file.
  [[nodiscard]] ByteRanges dropped() const;

  // Whole files (staging_file_whole.cc)

  /// Makes an empty file a whole one. False: it is not empty. Errors: kSystem, kNoSpace.
  [[nodiscard]] Result<bool> make_whole();
  [[nodiscard]] bool is_whole() const;
  /// A program can map the file to write it, until mapping_ends(): nothing shows these writes, so
  /// the file counts as changed meanwhile, and until the next store afterwards. Errors: kSystem
  /// (the same, but a crash may lose what was written through a mapping). Only of a whole file.
  [[nodiscard]] Result<void> mapping_begins();
  void mapping_ends();
  /// The time of the last write to a whole file; nothing: there was none since the last call.
  [[nodiscard]] std::optional<std::chrono::system_clock::time_point> take_write_time();

  /// Gives the room of bytes back that the base has too. No reader may use runs() of before.
  void drop_unchanged();

  /// The local file: bytes outside of written() are holes.
  [[nodiscard]] int fd() const noexcept { return data_.get(); }

  /// Removes both files, now; fd() stays valid.
  void remove();

 private:
  friend class StagingArea;
  /// @param charged_bytes  of a whole file
  StagingFile(StagingArea& area, std::string name, UniqueFd data, Sidecar sidecar,
              StagedState state, std::uint64_t charged_bytes);

  [[nodiscard]] Result<void> check_size(std::uint64_t size_bytes) const REQUIRES(mutex_);
  /// The pages of `bytes` that were charged to the area just now. Errors: kNoSpace.
  [[nodiscard]] Result<ByteRanges> reserve(ByteRange bytes) REQUIRES(mutex_);
  /// How much became zeros. kSome: an error came half way, and no room was given back.
  enum class Punched { kAll, kSome, kNothing };
  /// Gives the whole pages within `bytes` back, and makes zeros of them.
  Punched give_back(ByteRange bytes) REQUIRES(mutex_);
  /// Errors: kSequentialOnly: some of the bytes were dropped.
  [[nodiscard]] Result<void> check_dropped(ByteRange bytes) const REQUIRES(mutex_);
  /// The file is empty: a run may begin.
  void begin_run() REQUIRES(mutex_);
  /// Undoes what a write that failed has done.
  void take_back(ByteRange bytes, const ByteRanges& reserved) REQUIRES(mutex_);
  [[nodiscard]] Result<void> mark_changed(ByteRange bytes) REQUIRES(mutex_);
  [[nodiscard]] Result<void> rewrite_sidecar() REQUIRES(mutex_);

  /// Takes what the local file of a whole file shows into state_ and written_.
  void look() const REQUIRES(mutex_);
  [[nodiscard]] Result<void> truncate_whole(std::uint64_t size_bytes) REQUIRES(mutex_);
  void mark_whole() REQUIRES(mutex_);

  StagingArea& area_;
  const std::string name_;  ///< without ending
  const UniqueFd data_;

  mutable Mutex mutex_;  // before the area's; held during calls on both files, for which only users
                         // of this file wait
  Sidecar sidecar_ GUARDED_BY(mutex_);
  // Of a whole file these two are as at the last look().
  mutable StagedState state_ GUARDED_BY(mutex_);
  mutable ByteRanges written_ GUARDED_BY(mutex_);
  ByteRanges allocated_ GUARDED_BY(mutex_);  ///< whole pages, charged to the area
  std::optional<Snapshot> storing_ GUARDED_BY(mutex_);
  ByteRanges since_ GUARDED_BY(mutex_);    ///< changed since begin_store()
  ByteRanges as_sent_ GUARDED_BY(mutex_);  ///< not changed since begin_part()
  std::uint64_t size_bytes_max_ GUARDED_BY(mutex_) = kObjectBytesMax;  ///< while bytes are dropped
  bool is_in_order_ GUARDED_BY(mutex_);
  std::uint64_t run_ GUARDED_BY(mutex_) = 1;
  bool is_removed_ GUARDED_BY(mutex_) = false;

  /// Of a whole file only.
  struct Whole {
    std::uint64_t charged_bytes = 0;
    std::optional<std::chrono::system_clock::time_point> last_write = {};  ///< seen last
    bool is_last_write_new = false;                                        ///< was not taken
    WriteMark last_mark = 0;
    WriteMark storing_mark = 0;  ///< that the local file got when the store began
    unsigned mappings = 0;
  };
  mutable Whole whole_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::upload
