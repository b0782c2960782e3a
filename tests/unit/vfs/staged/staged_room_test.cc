// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "staged_rig.h"

namespace s3rdmafs::vfs {
namespace {

class FullStagedWriting : public StagedRig {
 protected:
  // With the 8 KiB that each of two files takes besides, kMore does not fit beside kMost.
  FullStagedWriting() : StagedRig(/*staging_bytes=*/64 * 1024) {}
  const std::string kMost = std::string(44 * 1024, 'a');
  /// From its end: no part of it is sent before it is stored.
  void write_out_of_order(std::uint64_t handle, const std::string& all) {
    write(handle, all.size() / 2, std::string_view(all).substr(all.size() / 2));
    write(handle, 0, std::string_view(all).substr(0, all.size() / 2));
  }
  const std::string kMore = std::string(16 * 1024, 'b');
};

TEST_F(FullStagedWriting, RefusesAWriteWithoutRoomAndLosesNothing) {
  const auto handle = open("file");
  write_out_of_order(handle, kMost);
  EXPECT_EQ(error_of(bucket_.write(handle, kMost.size(), kMore)), "NoSpace");
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.object("file") == kMost);
}

TEST_F(FullStagedWriting, TakesRoomThatStoredBytesNoLongerNeed) {
  const auto handle = open("file");
  write(handle, 0, kMost);
  EXPECT_EQ(error_of(bucket_.sync(handle)), "");
  write(handle, kMost.size(), kMore);
  EXPECT_TRUE(read(handle) == kMost + kMore);
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.object("file") == kMost + kMore);
}

TEST_F(FullStagedWriting, LetsAWriteWaitForAStoreThatGivesRoom) {
  const auto first = open("first");
  write_out_of_order(first, kMost);
  const auto second = open("second");
  store_.hold();
  Later<void> synced;
  fs_.sync(first, synced.done());
  Later<void> written;
  fs_.write(second, 0, std::as_bytes(std::span(kMore)), {}, written.done());
  EXPECT_FALSE(written.has_come());
  store_.release_all();
  EXPECT_EQ(error_of(synced.get()), "");
  EXPECT_EQ(error_of(written.get()), "");
  EXPECT_EQ(close(first), "");
  EXPECT_EQ(close(second), "");
  EXPECT_TRUE(store_.object("second") == kMore);
}

}  // namespace
}  // namespace s3rdmafs::vfs
