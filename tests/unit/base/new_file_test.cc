// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/new_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/temporary_folder.h"

namespace s3rdmafs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void make_file(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

std::ptrdiff_t files_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), {});
}

TEST(NewFileTest, IsForItsOwnerAlone) {
  const fakes::TemporaryFolder folder;
  const fs::path path = folder.path() / "report.json";
  auto file = NewFile::create("report", path);
  ASSERT_TRUE(file);
  EXPECT_FALSE(fs::exists(path)) << "a report is written whole or not at all";
  ASSERT_TRUE(file->commit("whole"));
  EXPECT_EQ(text_of(path), "whole");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files_in(folder.path()), 1);
}

TEST(NewFileTest, TakesThePlaceOfAnOlderOneWhenItIsWhole) {
  const fakes::TemporaryFolder folder;
  const fs::path path = folder.path() / "report.json";
  make_file(path, "older");
  {
    const auto abandoned = NewFile::create("report", path);
    ASSERT_TRUE(abandoned);
  }
  EXPECT_EQ(text_of(path), "older");
  EXPECT_EQ(files_in(folder.path()), 1);
  ASSERT_TRUE(NewFile::create("report", path)->commit("newer"));
  EXPECT_EQ(text_of(path), "newer");
}

TEST(NewFileTest, FollowsNoLinkAndReplacesNothingButFiles) {
  const fakes::TemporaryFolder folder;
  const fs::path other = folder.path() / "other";
  make_file(other, "untouched");
  const fs::path link = folder.path() / "link";
  fs::create_symlink(other, link);
  const auto refused = NewFile::create("report", link);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().detail, HasSubstr(link.string()));
  EXPECT_FALSE(NewFile::create("report", folder.path()));
  EXPECT_FALSE(NewFile::create("report", "/dev/null"));

  // A link that comes while the checks run.
  const fs::path path = folder.path() / "report.json";
  auto file = NewFile::create("report", path);
  ASSERT_TRUE(file);
  fs::create_symlink(other, path);
  EXPECT_FALSE(file->commit("whole"));
  EXPECT_EQ(text_of(other), "untouched");
}

TEST(NewFileTest, SaysWhereItCannotBeWritten) {
  const auto refused = NewFile::create("report", "/no/such/folder/report.json");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().detail, HasSubstr("/no/such/folder/report.json"));
}

}  // namespace
}  // namespace s3rdmafs
