// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/resident_objects.h"
#include "cache/whole/object_part.h"

namespace s3rdmafs::cache {

/// Parts of objects in memory, each in a file of its own: for programs that read them past FUSE.
/// ObjectCache implements it; tests/fakes has a fake. Thread-safe.
class ResidentParts {
 public:
  virtual ~ResidentParts() = default;

  /// Answers with the part when all of it is resident, at once where it is already. As
  /// ResidentObjects::open(), for parts of any length.
  virtual void open_part(ObjectPart part, Deadline deadline,
                         Done<std::shared_ptr<const ResidentObject>> done) = 0;
  /// As ResidentObjects::prefetch(), for parts of any length.
  virtual bool prefetch_part(ObjectPart part, Deadline deadline) = 0;
  /// Whether the object is resident as a whole, or soon is.
  [[nodiscard]] virtual bool has_whole(const ObjectVersion& version) const = 0;
  /// All the memory that parts and whole objects may take.
  [[nodiscard]] virtual std::uint64_t memory_bytes_max() const = 0;
};

}  // namespace s3rdmafs::cache
