// SPDX-License-Identifier: Apache-2.0
// The notification socket of systemd (sd_notify(3)), as a service manager listens on it.
#include "daemon/mount/process/readiness.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "fakes/temporary_folder.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::daemon {
namespace {

class ReadinessTest : public testing::Test {
 protected:
  ReadinessTest() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const std::string path = folder_.path() / "notify.sock";
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~ReadinessTest() override { ::unsetenv("NOTIFY_SOCKET"); }

  /// The messages that were sent until now, one after another.
  std::string received() {
    std::string text;
    char buffer[512];
    for (ssize_t n = 0; (n = ::recv(socket_.get(), buffer, sizeof(buffer), MSG_DONTWAIT)) > 0;) {
      text += std::string(buffer, static_cast<std::size_t>(n)) + "|";
    }
    return text;
  }

  const fakes::TemporaryFolder folder_;
  const UniqueFd socket_;
};

TEST_F(ReadinessTest, SystemdIsToldWhenTheMountAnswersAndWhenItEnds) {
  notify_ready("bucket data on /mnt");
  EXPECT_EQ(received(), "READY=1\nSTATUS=bucket data on /mnt|");
  notify_stopping();
  EXPECT_EQ(received(), "STOPPING=1|");
}

TEST_F(ReadinessTest, AStatusCannotAddALineOfItsOwn) {
  notify_ready("bucket a\nMAINPID=1");
  EXPECT_EQ(received(), "READY=1\nSTATUS=bucket a\\nMAINPID=1|");
}

TEST_F(ReadinessTest, NothingIsSentWhereSystemdDidNotStartTheProcess) {
  ::unsetenv("NOTIFY_SOCKET");
  notify_ready("bucket data on /mnt");
  EXPECT_EQ(received(), "");
}

// Containers and older systemd name a socket without a path so.
TEST_F(ReadinessTest, AnAbstractSocketIsToldToo) {
  const UniqueFd abstract(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::string name = fmt::format("s3rdmafs-test-{}", ::getpid());
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(::bind(abstract.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ::setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
  notify_stopping();
  char buffer[64];
  EXPECT_EQ(::recv(abstract.get(), buffer, sizeof(buffer), MSG_DONTWAIT), 10);
  EXPECT_EQ(received(), "") << "the control: another socket hears nothing";
}

TEST_F(ReadinessTest, ASocketThatIsGoneFailsNothing) {
  ::setenv("NOTIFY_SOCKET", "/nowhere/notify.sock", 1);
  notify_ready("bucket data on /mnt");
  ::setenv("NOTIFY_SOCKET", std::string(200, '/').c_str(), 1);
  notify_ready("bucket data on /mnt");
  EXPECT_EQ(received(), "");
}

}  // namespace
}  // namespace s3rdmafs::daemon
