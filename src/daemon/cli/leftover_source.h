// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "rdma/fabric.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/clock.h"
#include "upload/staged/staged_uploads.h"
#include "upload/staged/staging_file.h"

namespace s3rdmafs::daemon {

/// The bytes of a staged file that a mount left: its own, and those of the base version from the
/// server. Threads and errors as upload::StagedSource.
class LeftoverSource final : public upload::StagedSource {
 public:
  /// Borrows all; the fabric is the null fabric.
  LeftoverSource(upload::StagingFile& file, s3::ObjectStore& store, rdma::Fabric& fabric)
      : file_(file), store_(store), fabric_(fabric) {}

  void read(std::uint64_t offset_bytes, std::span<std::byte> out, Deadline deadline,
            Done<void> done) override;

 private:
  upload::StagingFile& file_;
  s3::ObjectStore& store_;
  rdma::Fabric& fabric_;
};

/// Whether the key holds what was staged for it: an object of the file's size that has each byte
/// which the mount wrote and the staging file has, and the metadata. So it is where the daemon
/// ended after the server had stored the file, and before it heard of that. If another client
/// stored it, the file is not lost either. Blocks. Errors: those of the store and of the file;
/// kStale if the object changes meanwhile.
[[nodiscard]] Result<bool> is_stored_already(upload::StagingFile& file, s3::ObjectStore& store,
                                             rdma::Fabric& fabric, const Clock& clock,
                                             std::chrono::milliseconds request_time);

}  // namespace s3rdmafs::daemon
