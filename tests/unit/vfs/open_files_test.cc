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

  const cache::ObjectVersion source_{"k", "1", 5, 0};

  fakes::FakeClock clock_;
  fakes::FakeObjectStore store_{clock_};
  fakes::FakeReadCache cache_{store_};
  metrics::Registry metrics_;
  std::shared_ptr<const OpenVersion> find(std::uint64_t handle) const {
    return handles_.find<const OpenVersion>(handle);
  }

  HandleTable handles_;
  OpenFiles files_{cache_, handles_, metrics_};
};

TEST_F(OpenFilesTest, HandlesOfOneVersionShareOneReader) {
  const auto a = files_.open(7, version("1"));
  const auto b = files_.open(7, version("1"));
  const auto other = files_.open(8, version("2"));
  EXPECT_NE(a, b);
  EXPECT_EQ(find(a)->reader, find(b)->reader);
  EXPECT_NE(find(a)->reader, find(other)->reader);
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
  EXPECT_FALSE(find(a));
  EXPECT_NE(files_.open(7, version("1")), a);
}

TEST_F(OpenFilesTest, AFileThatIsOpenedWhileItsVersionMovesFollowsItToo) {
  const s3::ObjectInfo moved{"new", "1", 5, {}};
  files_.moved(version("1"), 0, moved, 0);
  const auto during = files_.open(7, version("1"));
  EXPECT_TRUE(files_.moved_from(*find(during), source_));
  files_.release(during);
  files_.move_ended(version("1"), 0);
  const auto after = files_.open(7, version("1"));
  EXPECT_FALSE(files_.moved_from(*find(after), source_)) << "a later object with the same ETag";
}

TEST_F(OpenFilesTest, AMoveThatHasBegunIsTheNextPlaceAndNoMoreOnceItHasEnded) {
  const auto handle = files_.open(7, version("1"));
  files_.moved(version("1"), 0, {"new", "1", 5, {}}, 0);
  files_.move_ended(version("1"), 0);
  files_.moving({"new", "1", 5, {}}, 0, {"newest", "1", 5, {}}, 0);
  const auto there = files_.moved_from(*find(handle), source_);
  ASSERT_TRUE(there);
  EXPECT_EQ(there->key, "new") << "it may still be there";
  EXPECT_EQ(files_.moved_from(*find(handle), *there)->key, "newest");
  files_.move_ended({"new", "1", 5, {}}, 0);
  EXPECT_FALSE(files_.moved_from(*find(handle), *there));
  files_.release(handle);
}

TEST_F(OpenFilesTest, AHandleOfOneKindIsNotFoundAsAnother) {
  const auto version_handle = files_.open(7, version("1"));
  EXPECT_TRUE(find(version_handle));
  EXPECT_FALSE(handles_.find<DirectoryHandle>(version_handle));
  EXPECT_FALSE(handles_.remove<WrittenFile>(version_handle));
  EXPECT_TRUE(find(version_handle)) << "it was not removed as another kind";
  files_.release(version_handle);
}

}  // namespace
}  // namespace s3rdmafs::vfs
