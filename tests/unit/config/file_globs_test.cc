// SPDX-License-Identifier: Apache-2.0
#include "config/file_globs.h"

#include <gtest/gtest.h>

namespace s3rdmafs::config {
namespace {

TEST(FileGlobs, APatternIsForTheWholePathOfAFile) {
  const FileGlobs globs("*.safetensors,index/*.bin");
  EXPECT_TRUE(globs.match("a.safetensors"));
  EXPECT_TRUE(globs.match("deep/down/a.safetensors"));
  EXPECT_TRUE(globs.match("index/a.bin"));
  EXPECT_FALSE(globs.match("a.safetensors/b")) << "a directory does not stand for its files";
  EXPECT_FALSE(globs.match("old/index/a.bin"));
}

TEST(FileGlobs, AnyOfAListWillDo) {
  const FileGlobs globs("*.arrow,part-[0-9].tar");
  EXPECT_TRUE(globs.match("x.arrow"));
  EXPECT_TRUE(globs.match("part-7.tar"));
  EXPECT_FALSE(globs.match("part-x.tar"));
}

TEST(FileGlobs, NoneMatchesNothing) {
  EXPECT_FALSE(FileGlobs().match("a"));
  EXPECT_FALSE(FileGlobs("").match("a"));
  EXPECT_FALSE(FileGlobs("").match(""));
}

TEST(FileGlobs, AListIsKeptWithoutSpacesBetweenItsPatterns) {
  EXPECT_EQ(check_globs("*.a, b/*.c").value(), "*.a,b/*.c");
  EXPECT_EQ(check_globs(" a b , c ").value(), "a b,c") << "a space inside belongs to the name";
  EXPECT_FALSE(check_globs("a, ,b"));
  EXPECT_EQ(check_globs("").value(), "");
}

TEST(FileGlobs, AListWithAnEmptyPatternIsRefused) {
  EXPECT_EQ(check_globs("/*.a").value(), "/*.a") << "the control";
  for (const char* list : {"*.a,,*.b", ",", "*.a,", "/"}) {
    const auto checked = check_globs(list);
    ASSERT_FALSE(checked) << list;
    EXPECT_NE(checked.error().detail.find("*.safetensors"), std::string::npos) << "says what to do";
  }
}

}  // namespace
}  // namespace s3rdmafs::config
