// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "s3rdmafs/base/callback.h"

namespace s3rdmafs::vfs {

/// A rename that has begun: what the next mount needs to finish or to undo it. Plain value.
struct BegunRename {
  std::uint64_t id = 0;  ///< of RenameLog::next_id()
  /// Of a file: its key. Of a directory: the prefix of all keys below it, which ends in "/".
  std::string from;
  std::string to;
  std::string etag = {};           ///< of a file: the version that moves
  std::uint64_t size_bytes = 0;    ///< of that version
  std::string replaced_etag = {};  ///< of a file: the version that `to` had; empty: none
  std::string copied_etag = {};    ///< of a file: the version that `to` has got; empty: unknown
  /// The modification time of the version that moves, of a directory of the newest. A newer one is
  /// another file.
  std::chrono::system_clock::time_point newest = {};
  bool is_copied = false;  ///< `to` has everything; what is left is to remove `from`

  [[nodiscard]] bool is_directory() const { return from.ends_with('/'); }
};

/// Where the steps of renames are kept, so that they outlive this process. Thread-safe.
class RenameLog {
 public:
  virtual ~RenameLog() = default;

  /// No other rename in the log has it.
  [[nodiscard]] virtual std::uint64_t next_id() = 0;
  /// `done` when the record outlives the machine. Errors: kSystem; then nothing may be renamed.
  virtual void begun(const BegunRename& rename, Done<void> done) = 0;
  /// `to` has it all. The record outlives this process; losing it with the machine may leave both
  /// names, and nothing worse.
  /// @param etag  of a file: the version that `to` has got
  virtual void copied(std::uint64_t id, const std::string& etag) = 0;
  /// Nothing is left to do, or the rename was undone.
  virtual void ended(std::uint64_t id) = 0;
};

/// Keeps nothing: for mounts without a state folder, and for tests.
class NoRenameLog final : public RenameLog {
 public:
  [[nodiscard]] std::uint64_t next_id() override { return 0; }
  void begun(const BegunRename&, Done<void> done) override { done({}); }
  void copied(std::uint64_t, const std::string&) override {}
  void ended(std::uint64_t) override {}
};

}  // namespace s3rdmafs::vfs
