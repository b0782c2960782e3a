// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "s3/object_writer.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"
#include "upload/staged/byte_ranges.h"
#include "upload/staged/write_mark.h"

namespace s3rdmafs::upload {

/// The version of an object that a staging file changes.
struct BaseVersion {
  std::string etag;
  std::uint64_t size_bytes = 0;

  friend bool operator==(const BaseVersion&, const BaseVersion&) = default;
};

/// The object that a staging file belongs to.
struct StagedIdentity {
  std::string key;
  std::optional<BaseVersion> base;  ///< nothing: the key was absent
  s3::UserMetadata metadata;        ///< to be stored with it

  /// The state of the key that storing it requires.
  [[nodiscard]] s3::Precondition when() const {
    return base ? s3::Precondition::matches(base->etag) : s3::Precondition::absent();
  }
  friend bool operator==(const StagedIdentity&, const StagedIdentity&) = default;
};

/// All that is known of a staging file after a crash. Plain value.
struct StagedState {
  StagedIdentity identity;
  std::uint64_t size_bytes = 0;
  ByteRanges changed;
  std::string reason = {};        ///< why it was not stored; empty: the daemon ended
  bool metadata_changed = false;  ///< the metadata differs from the base's
  /// The local file has all bytes, and may be written without a word to the sidecar: size and
  /// changes are what the local file shows (take_from), not what the sidecar says.
  bool is_whole = false;
  WriteMark stored_mark = 0;  ///< of a whole file: the mark that it got when the base was stored
  /// Changed bytes that the local file has no more: an upload under way had them alone, and it ends
  /// with the daemon.
  ByteRanges dropped = {};

  /// Takes size and changes of a whole file from the status of its local file.
  void take_from(const struct stat& local);
  /// Whether the base is not the file as it is.
  [[nodiscard]] bool is_changed() const;
};

/// The room that a sidecar is charged with: a page of head and one of records. Only many random
/// writes make it longer, and then it is small beside them.
inline constexpr std::uint64_t kSidecarBytes = 8192;

/// The file beside a staging file that keeps its StagedState over a crash of the daemon. A head of
/// text has what changes seldom; then come records of 32 bytes, one for each range that was
/// changed. A write that continues the last range updates its record in place. Records are written
/// after the bytes that they name, so each acknowledged write is found again, to the byte.
/// Not thread-safe: its StagingFile's lock guards it.
class Sidecar {
 public:
  /// Makes a file that is not there yet. A crash meanwhile may leave an empty one.
  /// Errors: as write().
  [[nodiscard]] static Result<Sidecar> create(int folder, const std::string& name,
                                              const StagedState& state);
  /// Makes the file, or replaces it at once by one with this content. Errors: kSystem, kNoSpace.
  [[nodiscard]] static Result<Sidecar> write(int folder, const std::string& name,
                                             const StagedState& state);
  /// Reads one. Errors: kSystem, kCorrupt.
  [[nodiscard]] static Result<std::pair<Sidecar, StagedState>> load(int folder,
                                                                    const std::string& name);

  /// The bytes were changed; the size is at least their end.
  [[nodiscard]] Result<void> add(ByteRange bytes);
  /// The file was cut, or its size is this now.
  [[nodiscard]] Result<void> resize(std::uint64_t size_bytes);
  /// The local file is about to lose the bytes, which are changed (StagedState::dropped). Next to
  /// the last ones it takes no room.
  [[nodiscard]] Result<void> drop(ByteRange bytes);
  /// This is the state now, in which nothing is changed, or of a whole file; each record names
  /// bytes that the base has too, or its size. In place, so a crash meanwhile may leave ranges that
  /// are said to be changed and are not. Errors: as write(); kUnsupported: write() it.
  [[nodiscard]] Result<void> settle(const StagedState& state);
  /// How many records there are; many more than ranges make a new write() worth its cost.
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }

 private:
  Sidecar(UniqueFd file, std::uint64_t first) : file_(std::move(file)), first_(first) {}
  enum class RecordKind : std::uint32_t { kChanged = 1, kResized = 2, kDropped = 3 };
  struct SidecarRecord;
  [[nodiscard]] static Result<Sidecar> make(int folder, const std::string& name, int flags,
                                            const StagedState& state);
  [[nodiscard]] Result<void> put(std::uint64_t index, RecordKind kind, ByteRange bytes);
  [[nodiscard]] Result<void> put_range(RecordKind kind, ByteRange bytes);

  UniqueFd file_;
  std::uint64_t first_ = 0;  ///< offset of the first record
  std::uint64_t records_ = 0;
  struct Last {
    RecordKind kind;
    ByteRange bytes;
  };
  std::optional<Last> last_;      ///< the last record, where it is a range
  bool has_synced_drop_ = false;  ///< the disk has a record of a dropped range
};

}  // namespace s3rdmafs::upload
