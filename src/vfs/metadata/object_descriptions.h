// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>

#include "s3/object_store.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::vfs {

/// Asks for all that the server tells of an object. A program reads extended attributes one by one,
/// each of them twice, first its size: so the newest answers are kept for a second. Thread-safe.
class ObjectDescriptions : public std::enable_shared_from_this<ObjectDescriptions> {
 public:
  using Description = std::shared_ptr<const s3::ObjectDescription>;

  /// Borrows both.
  ObjectDescriptions(s3::ObjectStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  /// Of the version, or of one that has replaced it. Errors: those of ObjectStore::head().
  void get(const s3::ObjectInfo& version, Deadline deadline, Done<Description> done);
  /// This mount changed the object: what is kept, and what is asked for now, is not kept.
  void invalidate(const std::string& key);

 private:
  struct Kept {
    Description description;
    Deadline until;
  };
  [[nodiscard]] Description find(const s3::ObjectInfo& version);
  void keep(const Description& description, Deadline asked_at);

  s3::ObjectStore& store_;
  const Clock& clock_;
  Mutex mutex_;                              // leaf
  std::list<Kept> kept_ GUARDED_BY(mutex_);  ///< the newest first; so few that a search is short
  Deadline changed_at_ GUARDED_BY(mutex_) = {};
};

}  // namespace s3rdmafs::vfs
