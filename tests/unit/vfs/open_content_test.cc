// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "mounted_bucket.h"

namespace s3rdmafs::vfs {
namespace {

constexpr std::uint64_t kContentBytesMax = 5;

FileSystem::Options options(std::uint64_t content_bytes_max) {
  return {.prefix = "",
          .ttl = MountedBucket::kTtl,
          .negative_ttl = MountedBucket::kNegativeTtl,
          .content_bytes_max = content_bytes_max};
}

class OpenContentTest : public testing::Test {
 protected:
  Ino ino_of(std::string_view name) {
    return bucket_.lookup(kRootIno, name).value().attributes.ino;
  }
  std::size_t gets() const { return bucket_.store.count(Operation::kGet); }

  MountedBucket bucket_{options(kContentBytesMax)};
};

TEST_F(OpenContentTest, TheFirstOpenOfASmallFileBringsItsBytes) {
  bucket_.store.put("a", "hello");
  const auto opened = bucket_.open(ino_of("a"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(text_of(opened->content), "hello");
  EXPECT_EQ(gets(), 1U);
}

TEST_F(OpenContentTest, LaterOpensBringNothingUntilTheKernelForgotTheInode) {
  bucket_.store.put("a", "hello");
  const Ino ino = ino_of("a");
  ASSERT_TRUE(bucket_.open(ino));
  EXPECT_EQ(text_of(bucket_.open(ino).value().content), "") << "the kernel may have it";
  EXPECT_EQ(gets(), 1U);
  bucket_.fs.forget(ino, 1);
  EXPECT_EQ(text_of(bucket_.open(ino_of("a")).value().content), "hello");
  EXPECT_EQ(gets(), 2U);
}

TEST_F(OpenContentTest, LargerAndEmptyFilesAreOpenedWithoutARequest) {
  bucket_.store.put("large", "hello!");
  bucket_.store.put("empty", "");
  for (const char* name : {"large", "empty"}) {
    EXPECT_EQ(text_of(bucket_.open(ino_of(name)).value().content), "");
  }
  EXPECT_EQ(gets(), 0U);
}

TEST_F(OpenContentTest, WithoutALimitNothingIsBrought) {
  MountedBucket plain{options(0)};
  plain.store.put("a", "hello");
  const Ino ino = plain.lookup(kRootIno, "a").value().attributes.ino;
  EXPECT_EQ(text_of(plain.open(ino).value().content), "");
  EXPECT_EQ(plain.store.count(Operation::kGet), 0U);
}

TEST_F(OpenContentTest, AVersionThatIsGoneIsStaleAtOpenAndTheNextLookupFindsTheNewOne) {
  bucket_.store.put("a", "old");
  const Ino old_ino = ino_of("a");
  bucket_.store.put("a", "new");
  EXPECT_EQ(error_of(bucket_.open(old_ino)), "Stale") << "although the ttl has not passed";
  EXPECT_EQ(bucket_.gauge("vfs_open_files"), 0);
  EXPECT_EQ(bucket_.cache.readers(), 0);
  EXPECT_EQ(text_of(bucket_.open(ino_of("a")).value().content), "new");
}

TEST_F(OpenContentTest, WhereTheBytesCannotBeHadTheFileIsOpenAllTheSame) {
  bucket_.store.put("a", "hello");
  const Ino ino = ino_of("a");
  bucket_.store.fail_next(Operation::kGet, 1, ErrorCode::kTimedOut);
  const auto opened = bucket_.open(ino);
  ASSERT_TRUE(opened);
  EXPECT_EQ(text_of(opened->content), "");
  EXPECT_EQ(bucket_.read(opened->handle, 0, 5).value(), "hello");
}

}  // namespace
}  // namespace s3rdmafs::vfs
