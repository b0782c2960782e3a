// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/log_setup.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "fakes/temporary_folder.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class LogSetupTest : public testing::Test {
 protected:
  ~LogSetupTest() override { end_log(); }

  // spdlog 1.15 still holds a default logger that another one replaces; 1.10 does not.
  void end_log() const {
    spdlog::drop("s3rdmafs");
    spdlog::set_default_logger(before_);
  }

  [[nodiscard]] std::string logged() const {
    std::ostringstream text;
    text << std::ifstream(file_).rdbuf();
    return text.str();
  }
  [[nodiscard]] LogSetup to_file(LogFormat format) const {
    return {.level = "info", .file = file_, .format = format, .mount_point = "/mnt/t"};
  }

  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  const fakes::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "log";
};

/// Stands in for journald: the datagrams that come.
class Journal {
 public:
  explicit Journal(const std::string& path) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
  }
  [[nodiscard]] std::string next() const {
    std::string datagram(64 * 1024, '\0');
    const ssize_t n = ::recv(socket_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
    datagram.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return datagram;
  }

 private:
  const UniqueFd socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

TEST_F(LogSetupTest, AJsonLineIsOneObjectWhateverTheMessageHolds) {
  ASSERT_TRUE(set_up_log(to_file(LogFormat::kJson)));
  log::warn("key 'a\"b\\c\n\xff' failed");
  EXPECT_THAT(
      logged(),
      MatchesRegex(R"(\{"time":"[0-9-]+T[0-9:]+\.[0-9]+Z","level":"warning","message":"key 'a\\"b)"
                   R"(\\\\c\\\\n.*' failed","pid":[0-9]+,"thread":[0-9]+,"mount":"/mnt/t"\})"
                   "\n"));
  EXPECT_THAT(logged(), Not(HasSubstr("\xff")));
}

TEST_F(LogSetupTest, TheJournalGetsFields) {
  const std::string path = folder_.path() / "journal";
  const Journal journal(path);
  LogSetup setup = to_file(LogFormat::kJournald);
  setup.journal_socket = path;
  ASSERT_TRUE(set_up_log(setup));
  log::error("GET 'a\nb' failed");
  const std::string fields = journal.next();
  EXPECT_THAT(fields, HasSubstr("MESSAGE=GET 'a\\nb' failed\n"));
  EXPECT_THAT(fields, HasSubstr("\nPRIORITY=3\nSYSLOG_IDENTIFIER=s3rdmafs\nTID="));
  EXPECT_THAT(fields, HasSubstr("\nS3RDMAFS_MOUNT=/mnt/t\n"));
  EXPECT_TRUE(journal.next().empty());
  EXPECT_FALSE(std::filesystem::exists(file_)) << "the journal is in place of the file";
}

TEST_F(LogSetupTest, WithoutAJournalLinesAreTextAndTheFirstSaysSo) {
  LogSetup setup = to_file(LogFormat::kJournald);
  setup.journal_socket = folder_.path() / "none";
  ASSERT_TRUE(set_up_log(setup));
  log::info("hello");
  EXPECT_THAT(logged(), HasSubstr("warning log: journal " + setup.journal_socket));
  EXPECT_THAT(logged(), HasSubstr("info    hello\n"));
}

TEST_F(LogSetupTest, RepeatsAreLeftOutAndCounted) {
  ASSERT_TRUE(set_up_log(to_file(LogFormat::kText)));
  for (int i = 0; i < 100; ++i) log::warn("GET 'key-{}' failed", i);
  end_log();  // it tells what is left to tell
  const std::string text = logged();
  EXPECT_EQ(std::ranges::count(text, '\n'), 11) << text;
  EXPECT_THAT(text, HasSubstr("log: 90 lines like this one were left out: GET 'key-9' failed\n"));
}

TEST_F(LogSetupTest, DebugLinesAreNeverLeftOut) {
  LogSetup setup = to_file(LogFormat::kText);
  setup.level = "debug";
  ASSERT_TRUE(set_up_log(setup));
  for (int i = 0; i < 100; ++i) log::debug("GET {}", i);
  const std::string text = logged();
  EXPECT_EQ(std::ranges::count(text, '\n'), 100);
}

}  // namespace
}  // namespace s3rdmafs
