// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "unit/disk/disk_rig.h"

namespace s3rdmafs::disk {

class DiskTierTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto started = rig_.start();
    ASSERT_TRUE(started) << started.error().detail;
  }
  /// Stores an object and reads it by pieces of 4 MiB, so that all of it is on the disk.
  std::string put_and_read(const std::string& key, const std::string& bytes) {
    std::string etag = rig_.store.put(key, bytes);
    for (std::size_t at = 0; at < bytes.size(); at += kChunkBytes) {
      EXPECT_TRUE(rig_.get(key, etag, at, std::min<std::size_t>(kChunkBytes, bytes.size() - at)));
    }
    EXPECT_TRUE(rig_.wait());
    rig_.store.forget_calls();
    return etag;
  }

  DiskRig rig_;
};

}  // namespace s3rdmafs::disk
