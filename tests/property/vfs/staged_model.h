// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "../../unit/vfs/writable_bucket.h"

namespace s3rdmafs::vfs {

/// One thing that happens to a staged mount or to its bucket. Plain value.
struct StagedCommand {
  enum class Kind {
    kOpen,
    kOpenTruncated,
    kOpenExclusive,
    kOpenToRead,
    kWrite,
    kAppend,
    kRead,
    kTruncate,
    kTruncatePath,
    kZero,
    kExtend,
    kSync,
    kSyncSlowly,  ///< what comes meanwhile finds it under way
    kClose,
    kUnlink,
    kRename,
    kForget,
    kCrash,  ///< looks at what a crash would leave
    kStoresFail,
    kAnswersLost,  ///< the bucket has what is stored, and the mount cannot know
    kRemovalsFail,
    kAllSucceed,
    kOtherPuts,
    kOtherRemoves
  };
  Kind kind = Kind::kOpen;
  unsigned name = 0;    ///< one of three
  unsigned handle = 0;  ///< one of those that are open
  unsigned offset = 0;  ///< or a size
  unsigned bytes = 0;
};

std::ostream& operator<<(std::ostream& out, const StagedCommand& command);

/// Faults planted for the control. The first is the bucket's, as of a mount that sends no
/// condition; the others are the model's, which then differs from a right mount as a wrong mount
/// from it.
enum class StagedMistake {
  kNone,
  kDropsConditions,
  kForgetsAWrite,
  kBelievesAFailedStore,  ///< acknowledges what is not in the bucket
  kMixesBases,            ///< unchanged bytes of a store are those of an earlier version
};

/// A mount in staged mode and, beside it, byte for byte, what every open file, the bucket and the
/// staging folder must have. The rules: an acknowledged store is in the bucket, an acknowledged
/// write is in each read and in the staging folder, no other client's version is ever replaced by a
/// file that began with another one, and a file whose store failed says so for ever.
class StagedModel {
 public:
  StagedModel(StagedMistake mistake, std::uint64_t staging_bytes);

  /// Runs commands until something is not as the model says. Returns what, or "".
  std::string run(const std::vector<StagedCommand>& commands);

 private:
  struct Version {
    std::string bytes;
    unsigned serial = 0;
  };
  struct File {
    std::string key;
    Ino ino = 0;
    std::string bytes;
    std::vector<bool> changed;    ///< by byte: differs from the base
    std::optional<Version> base;  ///< nothing: the key was absent
    std::string first_bytes;      ///< of the version at its open
    bool is_staged = false;       ///< it was opened to write
    bool has_failed = false;
    bool is_unlinked = false;
    int handles = 0;
    int writers = 0;
  };
  using FilePtr = std::shared_ptr<File>;
  struct Handle {
    std::uint64_t number = 0;
    FilePtr file;
    bool may_write = false;
  };

  static std::string text_by(unsigned serial, std::size_t length);
  std::string step(const StagedCommand& command);
  std::string step_of_handle(const StagedCommand& command);

  std::string open(const std::string& name, bool truncate);
  std::string open_exclusive(const std::string& name);
  std::string open_to_read(const std::string& name);
  std::string write(const Handle& handle, std::uint64_t offset, std::size_t length);
  std::string read(const Handle& handle, std::uint64_t offset, std::size_t length);
  std::string truncate(const Handle& handle, std::size_t size);
  std::string truncate_path(const std::string& name, std::size_t size);
  std::string allocate(const Handle& handle, Allocation what);
  std::string sync(const Handle& handle);
  std::string sync_slowly(const Handle& handle, const StagedCommand& command);
  std::string intrude(const Handle& handle, const StagedCommand& command);
  std::string end_pending_write(const Handle& handle, const std::string& text, std::uint64_t offset,
                                const Result<void>& written);
  std::string close(std::size_t at);
  std::string unlink(const std::string& name);
  std::string rename(const std::string& from, const std::string& to);
  void forget_unused();
  void let_fail(StagedCommand::Kind kind);
  void other_puts(const std::string& name, std::size_t length);
  void other_removes(const std::string& name);

  /// The file that an open by this name must give, if it is there.
  FilePtr file_of(const std::string& name);
  std::string add_handle(std::uint64_t number, const FilePtr& file, bool may_write);
  Result<Entry> look_up(const std::string& name);
  void end_if_unused(const FilePtr& file);

  [[nodiscard]] static bool is_changed(const File& file);
  [[nodiscard]] static bool is_dirty(const File& file);
  [[nodiscard]] bool is_base_there(const File& file) const;
  /// Whether a store must succeed; does what it does to the model.
  bool store(const FilePtr& file);
  static void put(File& file, std::uint64_t offset, const std::string& text);
  static void resize(File& file, std::size_t size);
  [[nodiscard]] bool may_lack_room(const Error& error) const;

  std::string compare_bucket();
  std::string compare_names();
  std::string compare_disk();
  bool comes_to_no_upload();
  [[nodiscard]] std::vector<std::string> expected_on_disk() const;
  [[nodiscard]] std::vector<std::string> found_on_disk() const;

  const StagedMistake mistake_;
  const bool is_tight_;  ///< the staging area is smaller than the files
  WritableBucket bucket_;
  std::map<std::string, Version> stored_;  ///< the bucket must have these
  std::map<std::string, FilePtr> named_;   ///< the staged file that was begun last
  std::vector<Handle> handles_;
  std::vector<FilePtr> left_;  ///< closed, and not stored
  std::map<Ino, std::uint64_t> lookups_;
  unsigned serial_ = 0;
  bool stores_fail_ = false;
  bool answers_are_lost_ = false;
  bool removals_fail_ = false;
};

}  // namespace s3rdmafs::vfs
