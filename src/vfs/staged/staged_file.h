// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/read_cache.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "upload/early/early_upload.h"
#include "upload/staged/staged_uploads.h"
#include "upload/staged/staging_file.h"
#include "vfs/names/live_files.h"
#include "vfs/names/node.h"
#include "vfs/staged/turns.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

/// A file of staged mode while handles have it open or its changes are not stored: a staging file
/// has the bytes that this mount wrote, and the base, the version that was there at the open or was
/// stored last, has the others. All handles of its inode read and write it.
///
/// Changes run side by side. A store runs alone (turns()): changes wait for its end, so the object
/// is the file as it was at one moment. Reads never wait for either. The first store that fails
/// ends all changes: every later one, and every store, gets its error. Thread-safe; `done` rules as
/// in base/callback.h.
class StagedFile final : public cache::ObjectReader,
                         public std::enable_shared_from_this<StagedFile> {
 public:
  /// The version whose bytes the file has where they were not changed.
  struct Base {
    s3::ObjectInfo object;
    std::uint64_t generation = 0;
  };
  struct Start {
    std::string key;
    std::optional<Base> base = {};   ///< nothing: the key is absent
    s3::UserMetadata metadata = {};  ///< of the base; of a new file: to be stored with it
    PosixMetadata posix = PosixMetadata::kOff;
    /// Whether its inode is the base's. If not, the name stands for another inode until it is
    /// stored.
    bool has_base_inode = true;
    std::uint64_t number = 0;  ///< no other file of this mount has it
    bool is_whole = false;     ///< as StagingFile; without a base
  };

  /// Borrows the cache and the clock.
  /// @param bytes  of this key and base, with the user metadata to be stored
  StagedFile(cache::ReadCache& cache, const Clock& clock,
             std::unique_ptr<upload::StagingFile> bytes, Start start);

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] std::string key() const;
  /// The node of its inode.
  [[nodiscard]] Node node() const;
  [[nodiscard]] LiveFile live() const;
  [[nodiscard]] bool has_base() const;
  /// Whether it is its base, byte by byte, and its inode is that version's.
  [[nodiscard]] bool is_version() const;
  /// That version; nothing where is_version() is false.
  [[nodiscard]] std::optional<s3::ObjectInfo> version() const;

  // Bytes (staged_bytes.cc)

  /// Bytes up to the end of the file, by any handle. Errors: those of the cache; kSystem.
  void read(std::uint64_t offset_bytes, std::size_t length, Deadline deadline,
            Done<cache::PinnedBytes> done) override;
  /// Fills `out`, which lies within the file and stays valid until `done`. Errors: as read().
  void fill(std::uint64_t offset_bytes, std::span<std::byte> out, Deadline deadline,
            Done<void> done);
  /// Writes at any place, now; nothing: a store is under way. Errors: the error that sticks;
  /// kNoSpace (nothing was written), kTooLarge, kSystem.
  [[nodiscard]] std::optional<Result<void>> try_write(std::uint64_t offset_bytes,
                                                      std::span<const std::byte> bytes);
  /// As try_write(), after the store that is under way.
  void write(std::uint64_t offset_bytes, std::shared_ptr<const std::vector<std::byte>> bytes,
             Done<void> done);
  /// Cuts the file, or extends it with zeros. Errors: as write().
  void resize(std::uint64_t size_bytes, Done<void> done);
  /// Takes no room for what is only reserved. Errors: as write().
  void allocate(Allocation what, Done<void> done);
  /// Fetches the bytes of the base that it lacks, since the base is about to go. The caller has the
  /// turn alone. `done` always succeeds: what cannot be fetched is left.
  void keep_base(Deadline deadline, Done<void> done);
  /// Gives room of the staging area back that the file does not need.
  void drop_unchanged();

  // Parts that are sent while the file is written (staged_early.cc)

  /// Whether a part of it could be sent now. Cheap: asked at each write.
  [[nodiscard]] bool has_early_part(const upload::StagedUploads& uploads, bool is_needed) const;
  /// Sends the parts that are full, if the file is written in order. The caller has a turn.
  /// @param is_needed       there is no room; else only a file is begun that can be completed as it
  ///                        is, without another request for its attributes
  /// @param part_bytes_max  of one part
  void send_early(upload::StagedUploads& uploads, bool is_needed, std::uint64_t part_bytes_max,
                  const std::shared_ptr<upload::EarlySource>& source);
  /// For the source of send_early(): the bytes are about to be sent, in the run that began so.
  [[nodiscard]] bool begin_part(upload::ByteRange bytes, std::uint64_t run);
  struct RoomWanted {
    std::uint64_t bytes = 0;
    bool first_too = false;  ///< also the first part, which programs come back to most
  };
  /// Gives the room of parts back that the server has, until there is so much more or no part is
  /// left. `done` gets how much it was, and always succeeds.
  void drop_sent(RoomWanted wanted, Done<std::uint64_t> done);
  /// How many bytes were dropped, and are lost if it is not stored.
  [[nodiscard]] std::uint64_t dropped_bytes() const { return bytes_->dropped().bytes(); }
  /// Why parts cannot be sent any more, if so.
  [[nodiscard]] std::optional<Error> early_error() const;
  /// Whether the store just ended has made a version with the attributes that the file had when its
  /// first part was sent, and not those it has now.
  [[nodiscard]] bool lacks_attributes() const;

  // The kernel may write it (upload::StagingFile: whole files)

  /// Makes an empty file a whole one, if it can be.
  void make_whole();
  /// The local file of a whole file, valid as long as this; -1: it is not one.
  [[nodiscard]] int local_fd() const;
  /// A handle that can map it to write is opened, or released. Only of a whole file.
  void mapping_begins();
  void mapping_ends();

  /// Changes attributes in the user metadata that is stored with the file; does nothing where they
  /// are so already. `done` gets the number of changes that were lost before, for lost_since().
  /// Errors: as write(); of extended attributes also those of change_extended_attribute().
  void set_attributes(const AttributeChange& change, Done<std::uint64_t> done);
  /// The error of the last store of attributes alone that failed, if any did since; the file then
  /// has its former ones.
  [[nodiscard]] std::optional<Error> lost_since(std::uint64_t lost_before) const;

  /// Counts the versions that were its base.
  [[nodiscard]] std::uint64_t epoch() const;
  /// Takes the metadata of its base as the store has it now, since other clients can change it
  /// without another ETag. Does nothing where the file has changed since `epoch`.
  /// @param base  asked for after `epoch`
  void refresh(s3::ObjectInfo base, std::uint64_t epoch, Done<void> done);

  // Storing: called by StagedStore, which has the turn alone.

  [[nodiscard]] Turns& turns() { return turns_; }
  /// Whether the store lacks something of it, and may get it.
  [[nodiscard]] bool is_dirty() const;
  /// The error of its first failed store.
  [[nodiscard]] std::optional<Error> error() const;
  [[nodiscard]] upload::StagedObject begin_store();
  /// As begin_store(), of a file that becomes a copy of this version. Nothing: it has bytes, or
  /// cannot be stored, or the kernel may write it.
  [[nodiscard]] std::optional<upload::StagedObject> begin_copy(const s3::ObjectInfo& source);
  /// After end_store(): its version is a copy of this one.
  void end_copy(const s3::ObjectInfo& source, std::uint64_t generation);
  /// The copy failed, and the file is as it was.
  void end_copy_in_vain();
  /// Whether its version was made as a copy of this one.
  [[nodiscard]] bool is_copy_of(const s3::ObjectInfo& source, std::uint64_t generation) const;
  /// Whether the last store makes, or was to make, a version of the same bytes as the base.
  [[nodiscard]] bool stores_same_bytes() const;
  /// The ETag of the base; empty: there is none.
  [[nodiscard]] std::string base_etag() const;
  void end_store(const std::string& etag, std::uint64_t generation);
  /// A store of attributes alone, whose version is still there, leaves the file as that version is.
  /// Any other failure is final.
  void fail_store(Error error);

  /// Whether this version is its base, and it may still be stored.
  [[nodiscard]] bool is_based_on(const s3::ObjectInfo& version) const;
  /// The file has the key of this copy of its base.
  void rename(s3::ObjectInfo copy, std::uint64_t generation);
  /// Its name was removed: nothing of it is stored any more, nor left to `recover`.
  void unlink();
  [[nodiscard]] bool is_unlinked() const;
  /// No handle is left. Removes the staged bytes, unless a store of them failed; one of attributes
  /// alone has lost none.
  void close();

 private:
  enum class Phase { kOpen, kFailed, kUnlinked };
  class Fill;
  struct View;

  [[nodiscard]] std::shared_ptr<cache::ObjectReader> base_reader(std::uint64_t& epoch);
  /// The error of a read of dropped bytes.
  [[nodiscard]] Error dropped_error() const;
  void set_base(const std::string& etag, std::uint64_t generation);
  /// Adds the early upload, if there is one, to what is stored.
  void take_early(const upload::StagingFile::Snapshot& snapshot, upload::StagedObject& object)
      REQUIRES(mutex_);
  void discard_early();
  /// The early upload, if it was begun before this run.
  void discard_early_before(std::uint64_t run);
  void note_dropped();
  [[nodiscard]] bool was_rebased_since(std::uint64_t epoch) const;
  using Change = std::move_only_function<Result<void>(upload::StagingFile&)>;
  void change(Change how, Done<void> done);
  [[nodiscard]] Result<void> change_now(Change& how);
  void refresh_now(s3::ObjectInfo base, std::uint64_t epoch);
  [[nodiscard]] Result<std::uint64_t> set_attributes_now(const AttributeChange& change);
  /// The file was written: it must not run with the rights of its owner as it is now.
  void drop_set_id_bits();
  /// Takes the time of what the kernel wrote by itself.
  void take_write_time() const;
  /// User metadata and times become those of the base.
  void show_base() REQUIRES(mutex_);
  /// User metadata with the times that the file has now.
  [[nodiscard]] s3::UserMetadata stored_metadata() const REQUIRES(mutex_);

  cache::ReadCache& cache_;
  const Clock& clock_;
  const std::unique_ptr<upload::StagingFile> bytes_;
  const std::uint64_t number_;
  const PosixMetadata posix_;

  Turns turns_;  ///< of changes and stores
  Turns views_;  ///< of reads of the staging file, and of what takes bytes out of it

  mutable Mutex mutex_;  // leaf
  std::string key_ GUARDED_BY(mutex_);
  std::optional<Base> base_ GUARDED_BY(mutex_);
  bool has_base_inode_ GUARDED_BY(mutex_);
  std::uint64_t epoch_ GUARDED_BY(mutex_) = 0;  ///< counts the bases
  std::shared_ptr<cache::ObjectReader> base_reader_ GUARDED_BY(mutex_);
  // Mutable: take_write_time()
  mutable std::chrono::system_clock::time_point modified_ GUARDED_BY(mutex_);
  mutable std::chrono::system_clock::time_point changed_ GUARDED_BY(mutex_);
  bool stores_same_bytes_ GUARDED_BY(mutex_) = false;
  struct Copied {
    std::string key;  ///< of the source, as the next
    std::string etag;
    std::uint64_t generation = 0;
    std::uint64_t epoch = 0;  ///< in which the copy is the base
  };
  Copied copied_ GUARDED_BY(mutex_);
  std::shared_ptr<upload::StoredParts> stored_parts_ GUARDED_BY(mutex_);  ///< of a whole file
  std::uint64_t storing_bytes_ GUARDED_BY(mutex_) = 0;             ///< the size that a store makes
  std::shared_ptr<upload::EarlyUpload> early_ GUARDED_BY(mutex_);  ///< null: no part was sent
  /// The metadata that a store gives the version, where it cannot be that of now.
  std::optional<s3::UserMetadata> early_metadata_ GUARDED_BY(mutex_);
  bool has_dropped_ GUARDED_BY(mutex_) = false;  ///< and the log has said so
  mutable std::shared_ptr<const s3::UserMetadata> metadata_ GUARDED_BY(mutex_);
  Phase phase_ GUARDED_BY(mutex_) = Phase::kOpen;
  std::optional<Error> error_ GUARDED_BY(mutex_);
  std::uint64_t lost_changes_ GUARDED_BY(mutex_) = 0;  ///< of attributes
  std::optional<Error> last_loss_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::vfs
