// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/read_cache.h"
#include "upload/staged/staged_uploads.h"
#include "upload/staged/staging_area.h"
#include "vfs/files/file_writing.h"
#include "vfs/files/writing_context.h"
#include "vfs/staged/staged_file_maker.h"
#include "vfs/staged/staged_files.h"
#include "vfs/staged/staged_store.h"

namespace s3rdmafs::vfs {

/// Staged mode: files are read and written at any place, by any number of handles. A local staging
/// file has what was written; close, fsync and the end of the mount store it. The inode keeps its
/// number meanwhile. Thread-safe.
class StagedWriting final : public FileWriting, public std::enable_shared_from_this<StagedWriting> {
 public:
  struct Needs {
    upload::StagingArea& area;  // this and the next two are borrowed
    upload::StagedUploads& uploads;
    cache::ReadCache& cache;
    std::shared_ptr<StagedFiles> files;  ///< the names know them too
  };

  StagedWriting(const WritingContext& context, Needs needs);

  std::optional<Entry> lookup(const std::string& key) override;
  bool is_written(const std::string& key) override;
  bool any_below(const std::string& prefix) const override;
  std::shared_ptr<const NamesBesides> unstored_in(const std::string& prefix) const override;

  void store_pending(const std::string& key, Done<void> done) override;
  void store_pending_below(const std::string& prefix, Done<void> done) override;
  bool was_changed(const std::string& key) const override { return files_->was_changed(key); }
  bool has_any_of(const std::string& key) const override { return files_->find(key) != nullptr; }
  /// A new file is among the names from its creation on.
  bool may_change_names_of(const std::string&) const override { return false; }
  void hold(std::vector<std::string> names, Done<std::shared_ptr<HeldFiles>> done) override;
  void work_begins() override { store_->work_begins(); }
  void work_ends() override { store_->work_ends(); }

  bool may_pass_writes() const override { return maker_->may_make_whole(); }

  void create(const std::string& key, Creation how, ProcessId process, Deadline deadline,
              Done<CreatedFile> done) override;
  void open_to_write(Ino ino, OpenToWrite how, ProcessId process, Deadline deadline,
                     Done<OpenFile> done) override;
  void read(std::uint64_t handle, std::uint64_t offset_bytes, std::size_t length, Deadline deadline,
            Done<cache::PinnedBytes> done) override;
  void write(std::uint64_t handle, std::uint64_t offset_bytes, std::span<const std::byte> bytes,
             Deadline deadline, Done<void> done) override;
  void sync(std::uint64_t handle, Done<void> done) override;
  void sync_inode(Ino ino, Done<void> done) override;
  std::optional<ProcessId> opener(std::uint64_t handle) const override;
  void truncate(Ino ino, std::uint64_t size_bytes, bool shares_inode, Deadline deadline,
                Done<void> done) override;
  void set_attributes(Ino ino, const AttributeChange& change, ProcessId process, Deadline deadline,
                      Done<void> done) override;
  void allocate(std::uint64_t handle, Allocation what, Done<void> done) override;
  void copy(const CopyRange& range, Done<std::uint64_t> done) override;
  bool release(std::uint64_t handle) override;

  std::optional<Result<OpenFile>> open_to_read(Ino ino) override;
  std::shared_ptr<cache::ObjectReader> newer_reader(Ino ino) override { return files_->of(ino); }
  void version_opened(Ino ino) override { files_->opened(ino, /*may_write=*/false); }
  void version_released(Ino ino) override;

  void end(Deadline deadline) override { store_->end(deadline); }

 private:
  using FileDone = Done<std::shared_ptr<StagedFile>>;

  void create_if_absent(const std::string& key, Creation how, ProcessId process,
                        Result<NameAnswer> answer, Done<CreatedFile> done);
  /// Gives the file of an inode, with one handle counted. Begins it if there is none; then the
  /// store confirms the version. Where the inode is not shared, it gives none: the name stands for
  /// another inode. Errors: kStale (look the name up again), kIsDirectory, kNoSpace, kSystem.
  void with_file(Ino ino, bool shares_inode, Deadline deadline, FileDone done);
  void confirm(Ino ino, bool shares_inode, Deadline deadline, FileDone done);
  /// A question to the store: whether an inode's version is still there.
  struct Question {
    Ino ino = 0;
    Node node;
    bool shares_inode = true;
    std::shared_ptr<StagedFile> file;  ///< of the inode when it was asked; null: none
    std::uint64_t epoch = 0;           ///< of the file
  };
  [[nodiscard]] std::unexpected<Error> look_again(const std::string& key);
  [[nodiscard]] Result<std::shared_ptr<StagedFile>> on_confirmed(
      const Question& asked, const Result<s3::ObjectInfo>& there);
  [[nodiscard]] Result<std::shared_ptr<StagedFile>> begin(const Question& asked,
                                                          s3::ObjectInfo there,
                                                          std::uint64_t generation);
  /// Makes room for it where there is none. Errors: as StagedFileMaker::make.
  Result<std::shared_ptr<StagedFile>> make(StagedFile::Start start);
  /// Gives room back that files take for bytes that the store has.
  void drop_unchanged();
  /// Makes a handle of a file that with_file() gave.
  OpenFile add_handle(StagedHandle handle);
  void close(const std::shared_ptr<StagedFile>& file, Ino ino, bool may_write);
  struct Write {
    std::shared_ptr<StagedHandle> handle;
    std::uint64_t offset_bytes = 0;
    std::shared_ptr<const std::vector<std::byte>> bytes;
    Done<void> done;
  };
  /// The version whose bytes a handle reads; nothing: it reads others too.
  [[nodiscard]] std::optional<s3::ObjectInfo> version_read_by(std::uint64_t handle) const;
  void write_later(Write write, bool is_last_try);
  // Room (staged_room.cc)
  void on_no_room(Write write, bool was_last_try, Error error);
  void wait_for_room(Write write);
  static void fail_for_room(Write write, Error error);
  struct RoomSearch;
  /// Drops parts that the server has, of `own` first. `done` gets how many bytes of one file.
  void drop_sent(const std::shared_ptr<StagedFile>& own, StagedFile::RoomWanted wanted,
                 Done<std::uint64_t> done);
  void drop_next(std::shared_ptr<RoomSearch> search);
  /// After a change without a handle: stores the file unless a handle will, of this process if one
  /// is given.
  void end_change(Ino ino, const std::shared_ptr<StagedFile>& file,
                  std::optional<ProcessId> process, Result<void> changed, Done<void> done);
  void sync_if_asked(const StagedHandle& handle, Result<void> changed, Done<void> done);

  s3::ObjectStore& versions_;
  const Clock& clock_;
  const std::shared_ptr<HandleTable> handles_;
  const std::shared_ptr<Names> names_;
  const std::shared_ptr<StagedFiles> files_;
  const std::shared_ptr<StagedStore> store_;
  const std::shared_ptr<StagedFileMaker> maker_;
  const PosixMetadata posix_;
  const std::uint64_t part_bytes_max_;  ///< of what is sent before a file is stored
};

}  // namespace s3rdmafs::vfs
