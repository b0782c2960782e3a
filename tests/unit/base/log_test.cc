// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/log.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "fakes/temporary_folder.h"

namespace s3rdmafs {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

class LogFileTest : public testing::Test {
 protected:
  ~LogFileTest() override { spdlog::set_default_logger(before_); }

  static std::string text_of(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  static mode_t mode_of(const std::filesystem::path& file) {
    struct stat found{};
    EXPECT_EQ(::stat(file.c_str(), &found), 0);
    return found.st_mode & 07777;
  }

  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  const fakes::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "log";
};

TEST_F(LogFileTest, ANameOrAServersTextCannotForgeALineNorReachATerminal) {
  ASSERT_TRUE(set_up_log_file("info", file_));
  log::info("first '{}'", "a\n2026-01-01T00:00:00.000 error   forged");
  log::warn("second {}", "\x1b]0;title\a\x7f");
  const std::string text = text_of(file_);
  EXPECT_EQ(std::ranges::count(text, '\n'), 2) << text;
  EXPECT_THAT(text, HasSubstr("first 'a\\n2026-01-01T00:00:00.000 error   forged'\n"));
  EXPECT_THAT(text, EndsWith("second \\x1b]0;title\\x07\\x7f\n"));
}

TEST_F(LogFileTest, EachLevelIsWrittenUnderItsNameAndLowerOnesAreLeftOut) {
  ASSERT_TRUE(set_up_log_file("warn", file_));
  log::debug("one");
  log::info("two");
  log::warn("three");
  log::error("four");
  log::critical("five");
  log::line(log::Level::kInfo, "six");
  log::line(log::Level::kError, "{}", "seven");
  const std::string text = text_of(file_);
  EXPECT_EQ(std::ranges::count(text, '\n'), 4) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("warning three"), HasSubstr("error   four"),
                          HasSubstr("critical five"), HasSubstr("error   seven")));
}

TEST_F(LogFileTest, ALineThatCannotBeFormattedTellsWhyAndThrowsNothing) {
  ASSERT_TRUE(set_up_log_file("info", file_));
  log::warn("{:{}}", "text", -1);  // a width that is only known when it runs
  EXPECT_THAT(text_of(file_), HasSubstr("negative width"));
}

TEST_F(LogFileTest, IsReadableByItsOwnerAloneWhateverTheUmask) {
  const mode_t umask_before = ::umask(0);
  const auto set = set_up_log_file("info", file_);
  ::umask(umask_before);
  ASSERT_TRUE(set);
  EXPECT_EQ(mode_of(file_), 0600U);
}

TEST_F(LogFileTest, IsAppendedToAndKeepsTheModeThatItHas) {
  std::ofstream(file_) << "before\n";
  std::filesystem::permissions(file_, std::filesystem::perms(0640));
  ASSERT_TRUE(set_up_log_file("info", file_));
  log::info("after");
  EXPECT_THAT(text_of(file_), testing::MatchesRegex("before\n[^\n]* after\n"));
  EXPECT_EQ(mode_of(file_), 0640U);
}

TEST_F(LogFileTest, IsRefusedWhereItIsASymbolicLink) {
  const auto target = folder_.path() / "target";
  std::filesystem::create_symlink(target, file_);
  const auto set = set_up_log_file("info", file_);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ErrorCode::kSystem);
  EXPECT_THAT(set.error().detail, HasSubstr("symbolic link"));
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(LogFileTest, ThatCannotBeOpenedIsAnErrorThatNamesIt) {
  const auto set = set_up_log_file("info", folder_.path() / "none" / "log");
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().detail, HasSubstr("none/log"));
}

TEST_F(LogFileTest, AWrongLevelIsAnError) {
  EXPECT_EQ(set_up_log_file("loud", file_).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace s3rdmafs
