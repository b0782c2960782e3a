// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "s3/object_store.h"
#include "s3/object_writer.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "vfs/renames/rename_log.h"

namespace s3rdmafs::vfs {

/// One rename of a file, for the server and the log.
struct ObjectMove {
  s3::ObjectInfo from;             ///< the version that moves
  std::string to;                  ///< the key it gets
  s3::CopyOptions options = {};    ///< of the copy
  std::string replaced_etag = {};  ///< the version that `to` has now, as far as is known
  /// Called before the server is asked to move the version at once: a reader may find the source
  /// gone before the answer is here. May be empty.
  std::move_only_function<void()> on_moving = {};
  /// Called with the ETag that `to` has got: before the source is removed, where it was copied. May
  /// be empty.
  std::move_only_function<void(const std::string& etag)> on_moved = {};
};

/// Moves objects of one version from key to key. Where the server renames objects that is one
/// request, and nothing is logged, as the version has one of the names whatever happens. Elsewhere
/// the server copies, and removes the source when the copy is there; each step is in the log before
/// the next begins. There is no moment in which neither key has the bytes. Borrows all.
/// Thread-safe.
class ObjectMover {
 public:
  ObjectMover(s3::ObjectWriter& writer, RenameLog& log, std::function<Deadline()> request_deadline)
      : writer_(writer), log_(log), request_deadline_(std::move(request_deadline)) {}

  /// @return the ETag that `to` has now. Errors: kStale: the source has another version, and
  /// nothing was changed; kExists by the move's options. After any other error of the copy `to` may
  /// have its old or its new version, and the source stays. After an error of the removal both keys
  /// have the bytes.
  void move(ObjectMove move, Done<std::string> done);

 private:
  void copy_and_remove(ObjectMove move, Done<std::string> done);
  void copy(std::uint64_t id, ObjectMove move, Done<std::string> done);
  void remove_source(std::uint64_t id, const s3::ObjectInfo& from, std::string etag,
                     Done<std::string> done);

  s3::ObjectWriter& writer_;
  RenameLog& log_;
  const std::function<Deadline()> request_deadline_;
};

}  // namespace s3rdmafs::vfs
