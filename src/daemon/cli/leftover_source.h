// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "rdma/fabric.h"
#include "s3/object_store.h"
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
  [[nodiscard]] Result<void> read_base(std::uint64_t offset_bytes, std::span<std::byte> out,
                                       Deadline deadline);

  upload::StagingFile& file_;
  s3::ObjectStore& store_;
  rdma::Fabric& fabric_;
};

}  // namespace s3rdmafs::daemon
