// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "upload/uploads.h"
#include "vfs/files/file_committer.h"
#include "vfs/files/file_writing.h"
#include "vfs/files/writing_context.h"
#include "vfs/files/written_files.h"

namespace s3rdmafs::vfs {

/// Sequential mode: a file is written once, from its first byte to its last, by one handle at a
/// time, and cannot be read meanwhile. Its bytes go to the server as they come. While it is
/// written, its name stands for an inode of its own. Thread-safe.
class SequentialWriting final : public FileWriting,
                                public std::enable_shared_from_this<SequentialWriting> {
 public:
  /// Borrows the uploads.
  SequentialWriting(const WritingContext& context, upload::Uploads& uploads);

  std::optional<Entry> lookup(const std::string& key) override;
  bool is_written(const std::string& key) override { return written_->find(key) != nullptr; }
  bool any_below(const std::string& prefix) const override;
  std::shared_ptr<const NamesBesides> unstored_in(const std::string&) const override {
    return nullptr;
  }

  void store_pending(const std::string& key, Done<void> done) override;
  void store_pending_below(const std::string& prefix, Done<void> done) override;
  /// A file that is written again is another inode, and handles keep the version that they opened.
  bool was_changed(const std::string&) const override { return false; }
  bool has_any_of(const std::string& key) const override { return written_->has_any_of(key); }
  bool may_change_names_of(const std::string& prefix) const override {
    return written_->has_any_in(prefix);
  }
  void hold(std::vector<std::string> names, Done<std::shared_ptr<HeldFiles>> done) override;
  void work_begins() override { written_->work_begins(); }
  void work_ends() override { written_->work_ends(); }

  bool may_pass_writes() const override { return false; }

  void create(const std::string& key, Creation how, ProcessId process, Deadline deadline,
              Done<CreatedFile> done) override;
  void open_to_write(Ino ino, OpenToWrite how, ProcessId process, Deadline deadline,
                     Done<OpenFile> done) override;
  void read(std::uint64_t handle, std::uint64_t offset_bytes, std::size_t length, Deadline deadline,
            Done<cache::PinnedBytes> done) override;
  void write(std::uint64_t handle, std::uint64_t offset_bytes, std::span<const std::byte> bytes,
             Deadline deadline, Done<void> done) override;
  void sync(std::uint64_t handle, Done<void> done) override;
  /// Nothing: its inode is of no other handle.
  void sync_inode(Ino, Done<void> done) override { done({}); }
  std::optional<ProcessId> opener(std::uint64_t handle) const override;
  void truncate(Ino ino, std::uint64_t size_bytes, bool shares_inode, Deadline deadline,
                Done<void> done) override;
  /// Nothing: an upload has its metadata from its beginning on.
  void set_attributes(Ino, const AttributeChange&, ProcessId, Deadline, Done<void> done) override {
    done({});
  }
  void allocate(std::uint64_t handle, Allocation what, Done<void> done) override;
  void copy(const CopyRange& range, Done<std::uint64_t> done) override;
  bool release(std::uint64_t handle) override;

  std::optional<Result<OpenFile>> open_to_read(Ino ino) override;
  std::shared_ptr<cache::ObjectReader> newer_reader(Ino) override { return nullptr; }
  void version_opened(Ino) override {}
  void version_released(Ino) override {}

  void end(Deadline deadline) override;

 private:
  void store_all(std::vector<std::shared_ptr<WrittenFile>> files, Done<void> done);
  void create_if_absent(const std::shared_ptr<WrittenFile>& file, Creation how, ProcessId process,
                        Result<NameAnswer> answer, Done<CreatedFile> done);
  Result<OpenFile> reserve_if_empty(Ino ino, const std::string& etag, ProcessId process,
                                    const std::string& key, Result<s3::ObjectInfo> there);
  void truncate_version(Ino ino, const s3::ObjectInfo& known, std::uint64_t size_bytes,
                        Result<s3::ObjectInfo> there, Deadline deadline, Done<void> done);

  s3::ObjectStore& store_;
  s3::ObjectWriter& writer_;
  const Clock& clock_;
  const std::shared_ptr<HandleTable> handles_;
  const std::shared_ptr<Names> names_;
  const std::shared_ptr<WrittenFiles> written_;
  const std::shared_ptr<FileCommitter> committer_;
};

}  // namespace s3rdmafs::vfs
