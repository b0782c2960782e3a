// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "upload/staged/staged_uploads.h"
#include "vfs/staged/staged_file.h"

namespace s3rdmafs::vfs {

/// Gives a store the bytes of a staged file; the store has the file's turn alone meanwhile.
class StagedFileSource final : public upload::StagedSource {
 public:
  explicit StagedFileSource(std::shared_ptr<StagedFile> file) : file_(std::move(file)) {}

  void read(std::uint64_t offset_bytes, std::span<std::byte> out, Deadline deadline,
            Done<void> done) override {
    file_->fill(offset_bytes, out, deadline, std::move(done));
  }

 private:
  const std::shared_ptr<StagedFile> file_;
};

}  // namespace s3rdmafs::vfs
