// SPDX-License-Identifier: Apache-2.0
#include "vfs/files/open_files.h"

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/fake_read_cache.h"
#include "fakes/s3/fake_object_store.h"

namespace s3rdmafs::vfs {
namespace {

class OpenFilesTest : public testing::Test {
 protected:
  static s3::ObjectInfo version(std::string etag) { return {"k", std::move(etag), 5, {}}; }

  fakes::FakeClock clock_;
  fakes::FakeObjectStore store_{clock_};
  fakes::FakeReadCache cache_{store_};
  metrics::Registry metrics_;
  OpenFiles files_{cache_, metrics_};
};

TEST_F(OpenFilesTest, HandlesOfOneVersionShareOneReader) {
  const auto a = files_.open(7, version("1"));
  const auto b = files_.open(7, version("1"));
  const auto other = files_.open(8, version("2"));
  EXPECT_NE(a, b);
  EXPECT_EQ(files_.find(a)->reader, files_.find(b)->reader);
  EXPECT_NE(files_.find(a)->reader, files_.find(other)->reader);
  EXPECT_EQ(cache_.opens(), 2);
  EXPECT_EQ(metrics_.gauge("vfs_open_files", "").value(), 3);
}

TEST_F(OpenFilesTest, TheReaderGoesWithTheLastHandle) {
  const auto a = files_.open(7, version("1"));
  const auto b = files_.open(7, version("1"));
  files_.release(a);
  EXPECT_EQ(cache_.readers(), 1);
  files_.release(b);
  EXPECT_EQ(cache_.readers(), 0);
  EXPECT_EQ(metrics_.gauge("vfs_open_files", "").value(), 0);
}

TEST_F(OpenFilesTest, AReleasedHandleIsUnknownAndItsNumberIsNotUsedAgain) {
  const auto a = files_.open(7, version("1"));
  files_.release(a);
  files_.release(a);
  EXPECT_FALSE(files_.find(a));
  EXPECT_NE(files_.open(7, version("1")), a);
}

}  // namespace
}  // namespace s3rdmafs::vfs
