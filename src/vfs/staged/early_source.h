// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "upload/early/early_upload.h"
#include "vfs/staged/staged_file.h"
#include "vfs/staged/staged_store.h"

namespace s3rdmafs::vfs {

/// Gives an early upload the bytes of a staged file, as long as the file is in the run in which it
/// was begun. Its requests are work of the store: writes that lack room wait for them, and the
/// mount's end does.
class StagedEarlySource final : public upload::EarlySource {
 public:
  StagedEarlySource(std::shared_ptr<StagedFile> file, std::shared_ptr<StagedStore> store)
      : file_(std::move(file)), store_(std::move(store)) {}

  bool may_send(upload::ByteRange bytes, std::uint64_t run) override {
    return file_->begin_part(bytes, run);
  }
  void read(std::uint64_t offset_bytes, std::span<std::byte> out, Deadline deadline,
            Done<void> done) override {
    file_->fill(offset_bytes, out, deadline, std::move(done));
  }
  void work_begins() override { store_->work_begins(); }
  void work_ends() override { store_->work_ends(); }

 private:
  const std::shared_ptr<StagedFile> file_;
  const std::shared_ptr<StagedStore> store_;
};

}  // namespace s3rdmafs::vfs
