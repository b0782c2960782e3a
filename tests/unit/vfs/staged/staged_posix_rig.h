// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "staged_rig.h"
#include "vfs/metadata/posix_metadata.h"

namespace s3rdmafs::vfs {

/// A mount that keeps attributes in user metadata (metadata.posix = "write").
class StagedPosix : public StagedRig {
 protected:
  using Time = PosixAttributes::Time;

  StagedPosix() : StagedRig(kMiB, PosixMetadata::kWrite) {}

  std::uint64_t make(std::string_view name) {
    const auto made = bucket_.create(kRootIno, name, {.posix = {.mode = 0640, .uid = 3, .gid = 4}});
    EXPECT_TRUE(made) << error_of(made);
    return made ? made->file.handle : 0;
  }
  Attributes of(std::string_view name) {
    const auto found = bucket_.lookup(kRootIno, name);
    EXPECT_TRUE(found) << error_of(found);
    return found ? found->attributes : Attributes{};
  }
  std::string_view set(std::string_view name, const PosixAttributes& wanted) {
    return error_of(bucket_.set_attributes(bucket_.ino_of(name), wanted));
  }
  /// As another client reads them.
  PosixAttributes stored(const std::string& key) const {
    return posix_attributes(store_.metadata(key));
  }
  void later() { bucket_.clock.advance(std::chrono::hours(1)); }
  Time now() const { return bucket_.clock.wall_now(); }
};

}  // namespace s3rdmafs::vfs
