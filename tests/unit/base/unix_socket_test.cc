// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/temporary_folder.h"

namespace s3rdmafs {
namespace {

using testing::HasSubstr;

class UnixSocketTest : public testing::Test {
 protected:
  std::string socket() const { return folder_ / "s"; }
  /// "" if it can be listened at and connected to.
  std::string trouble() const {
    const auto listener = listen_on_unix_socket(socket());
    if (!listener) return listener.error().detail;
    const auto client = connect_to_unix_socket(socket());
    return client ? "" : client.error().detail;
  }

  fakes::TemporaryFolder parent_;
  const std::filesystem::path folder_ = parent_.path() / "s3rdmafs-1000";
};

TEST_F(UnixSocketTest, MakesAFolderThatOnlyThisUserMayEnter) {
  EXPECT_EQ(trouble(), "");
  struct stat made{};
  ASSERT_EQ(::stat(folder_.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0700U);
}

TEST_F(UnixSocketTest, TakesOverWhatADeadDaemonLeft) {
  ASSERT_TRUE(listen_on_unix_socket(socket()));  // closed at once, and its name is still there
  ASSERT_TRUE(std::filesystem::exists(socket()));
  EXPECT_EQ(connect_to_unix_socket(socket()).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(trouble(), "");
}

TEST_F(UnixSocketTest, FindsNoDaemonWhereNoMountWas) {
  EXPECT_EQ(connect_to_unix_socket(socket()).error().code, ErrorCode::kNotFound);
}

TEST_F(UnixSocketTest, ReceivesAllThatThePeerSendsBeforeItCloses) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const UniqueFd ours(ends[0]);
  UniqueFd peer(ends[1]);
  const std::string sent(300'000, 'x');  // more than one receive, and than the socket holds
  std::jthread sender([&] {
    EXPECT_TRUE(send_all(peer.get(), sent));
    peer.reset();
  });
  EXPECT_EQ(receive_all(ours.get()).value_or("nothing"), sent);
}

TEST_F(UnixSocketTest, GivesUpOnAPeerThatIsSilent) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const UniqueFd ours(ends[0]);
  const UniqueFd peer(ends[1]);
  set_socket_timeouts(ours.get(), std::chrono::seconds(1));
  ASSERT_TRUE(send_all(peer.get(), "a beginning"));
  const auto received = receive_all(ours.get());
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, ErrorCode::kTimedOut);
}

TEST_F(UnixSocketTest, SaysThatTheFolderCannotBeMadeWhereADaemonWouldListen) {
  const std::string nowhere = "/proc/nothing-is-made-here/s3rdmafs/s";
  EXPECT_EQ(listen_on_unix_socket(nowhere).error().code, ErrorCode::kSystem);
  EXPECT_EQ(connect_to_unix_socket(nowhere).error().code, ErrorCode::kNotFound) << "the control";
}

TEST_F(UnixSocketTest, RefusesAFolderThatOthersMayChange) {
  std::filesystem::create_directory(folder_);
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_THAT(trouble(), HasSubstr("XDG_RUNTIME_DIR"));
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  EXPECT_EQ(trouble(), "") << "the control";
}

TEST_F(UnixSocketTest, RefusesAFolderOfAnotherUserWhoListensThere) {
  constexpr uid_t kOtherUser = 12345;
  const auto listener = listen_on_unix_socket(socket());
  ASSERT_TRUE(listener);
  ASSERT_TRUE(connect_to_unix_socket(socket())) << "the control";
  if (::chown(folder_.c_str(), kOtherUser, kOtherUser) != 0) GTEST_SKIP() << "not root";
  EXPECT_FALSE(connect_to_unix_socket(socket()));
  EXPECT_FALSE(listen_on_unix_socket(socket()));
}

TEST_F(UnixSocketTest, RefusesALinkInTheFoldersPlace) {
  const std::filesystem::path elsewhere = parent_.path() / "elsewhere";
  std::filesystem::create_directory(elsewhere);
  std::filesystem::create_directory_symlink(elsewhere, folder_);
  EXPECT_THAT(trouble(), HasSubstr("XDG_RUNTIME_DIR"));
}

}  // namespace
}  // namespace s3rdmafs
