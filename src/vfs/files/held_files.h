// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3/object_store.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"

namespace s3rdmafs::vfs {

/// The open files of some names, for a rename or a removal: none of them is stored until release().
/// One step at a time uses it. `done` rules as in base/callback.h.
class HeldFiles {
 public:
  virtual ~HeldFiles() = default;

  /// This mount has given the version another key, and `source.key` is gone. A file that can be
  /// stored under the new key follows; any other fails with kStale from now on.
  virtual void moved(const s3::ObjectInfo& source, const s3::ObjectInfo& copy) = 0;
  /// This mount is about to remove or replace the key's version: fetches the bytes of it that open
  /// handles may yet read, as far as there is room. `done` always succeeds.
  virtual void keep_bytes(const std::string& key, Deadline deadline, Done<void> done) = 0;
  /// The name stands for no file of before now, or for another one: nothing more of those that had
  /// it becomes visible. `done` when none of their requests is under way. Errors: none.
  virtual void replaced(const std::string& key, Done<void> done) = 0;
  /// Ends the hold. Exactly once, and last.
  virtual void release() = 0;
};

}  // namespace s3rdmafs::vfs
