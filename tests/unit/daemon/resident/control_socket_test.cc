// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/control_socket.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "fakes/eventually.h"
#include "fakes/temporary_folder.h"
#include "read_answer.h"
#include "s3rdmafs/base/unix_socket.h"

namespace s3rdmafs::daemon {
namespace {

class ControlSocketTest : public testing::Test {
 protected:
  ControlSocketTest() {
    auto listening = ControlSocket::listen(path_, [](ControlRequest& request) {
      request.say("words " + std::to_string(request.words().size()));
    });
    EXPECT_TRUE(listening);
    control_ = std::move(*listening);
  }

  std::string ask(const std::vector<std::string>& words) {
    const auto socket = send_request(path_, words);
    EXPECT_TRUE(socket) << socket.error().detail;
    return read_answer(*socket);
  }

  static bool wait_until_read(int socket) {
    return fakes::eventually([socket] {
      int unread_bytes = -1;
      return ::ioctl(socket, SIOCOUTQ, &unread_bytes) == 0 && unread_bytes == 0;
    });
  }

  const fakes::TemporaryFolder folder_;
  const std::string path_ = folder_.path() / "control.sock";
  std::unique_ptr<ControlSocket> control_;
};

TEST_F(ControlSocketTest, ARequestIsItsWords) {
  EXPECT_EQ(ask({"warm", "", "a b"}), "words 3\n");
  EXPECT_EQ(ask({}), "words 0\n");
}

TEST_F(ControlSocketTest, MoreWordsThanACommandLineHasAreRefused) {
  EXPECT_EQ(ask(std::vector<std::string>(200'000)), "words 200000\n") << "the control";
  EXPECT_EQ(ask(std::vector<std::string>(300'000)), "error too many paths; name fewer\n");
}

TEST_F(ControlSocketTest, AClientWhoseRequestNeverEndsDoesNotHoldUpTheEnd) {
  const auto client = connect_to_unix_socket(path_);
  ASSERT_TRUE(client);
  ASSERT_TRUE(send_all(client->get(), "x"));
  ASSERT_TRUE(wait_until_read(client->get())) << "it is this client's turn";
  bool was_hung_up_on = false;
  std::jthread dripping([&] {
    // Bounded for a daemon that would listen for ever.
    for (int bytes = 0; bytes < 1000 && !was_hung_up_on; ++bytes) {
      was_hung_up_on = !send_all(client->get(), "x");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  control_->stop();
  control_.reset();
  dripping.join();
  EXPECT_TRUE(was_hung_up_on);
}

}  // namespace
}  // namespace s3rdmafs::daemon
