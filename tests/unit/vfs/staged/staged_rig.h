// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "../writable_bucket.h"
#include "fakes/eventually.h"
#include "vfs/file_system.h"

namespace s3rdmafs::vfs {

using StoreOperation = fakes::FakeObjectStore::Operation;

/// A bucket that is mounted with write.mode "staged", and what programs do with its files.
class StagedRig : public testing::Test {
 protected:
  explicit StagedRig(std::uint64_t staging_bytes = kMiB, PosixMetadata posix = PosixMetadata::kOff)
      : bucket_(MountedBucket::kTtl, staging_bytes, posix) {}

  std::uint64_t open(std::string_view name, bool truncate = false) {
    const auto handle = bucket_.open_by_name(kRootIno, name, truncate, WritableBucket::kProcess);
    EXPECT_TRUE(handle) << handle.error().detail;
    return handle.value_or(0);
  }
  std::uint64_t open_to_read(std::string_view name) {
    const auto opened = bucket_.open(bucket_.ino_of(name));
    EXPECT_TRUE(opened) << opened.error().detail;
    return opened ? opened->handle : 0;
  }
  void write(std::uint64_t handle, std::uint64_t offset, std::string_view text) {
    EXPECT_EQ(error_of(bucket_.write(handle, offset, text)), "");
  }
  std::string read(std::uint64_t handle, std::uint64_t offset = 0, std::size_t length = 1 << 16) {
    return bucket_.read(handle, offset, length).value_or("an error");
  }
  /// As close(2) by the last process.
  std::string_view close(std::uint64_t handle) {
    const auto synced = bucket_.sync(handle);
    fs_.release(handle);
    return error_of(synced);
  }
  std::uint64_t size_of(std::string_view name) {
    const auto found = bucket_.lookup(kRootIno, name);
    return found ? found->attributes.size_bytes : 0;
  }
  std::uint64_t staged_bytes() const { return bucket_.staging->used_bytes(); }
  /// A file is let go just after the answer to its last store.
  bool has_nothing_staged() {
    return fakes::eventually([this] { return staged_bytes() == 0; });
  }

  WritableBucket bucket_;
  fakes::FakeObjectStore& store_ = bucket_.store;
  FileSystem& fs_ = bucket_.fs;
};

}  // namespace s3rdmafs::vfs
