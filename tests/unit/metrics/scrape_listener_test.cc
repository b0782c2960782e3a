// SPDX-License-Identifier: Apache-2.0
#include "metrics/scrape_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/temporary_folder.h"
#include "metrics/listen_address.h"
#include "s3rdmafs/base/unix_socket.h"

namespace s3rdmafs::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::chrono::seconds kScrapeTimeout{20};

std::string read_all(int socket) {
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::recv(socket, buffer, sizeof(buffer), 0)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

class ScrapeListenerTest : public testing::Test {
 protected:
  ScrapeListenerTest() { registry_.counter("things_total", "Things").add(42); }

  [[nodiscard]] UniqueFd connected() const {
    auto socket = connect_to_unix_socket(path_);
    EXPECT_TRUE(socket) << socket.error().detail;
    if (!socket) return {};
    set_socket_timeouts(socket->get(), kScrapeTimeout);
    return std::move(*socket);
  }
  [[nodiscard]] std::string ask(std::string_view first_line, std::string_view rest = {}) const {
    const UniqueFd socket = connected();
    // A server may refuse a request before it has read all of it.
    std::ignore = send_all(socket.get(), std::string(first_line) + " HTTP/1.1\r\nHost: a\r\n" +
                                             "Connection: close\r\n" + std::string(rest) + "\r\n");
    return read_all(socket.get());
  }

  const fakes::TemporaryFolder folder_;
  const std::string path_ = folder_.path() / "scrape.sock";
  const std::string address_ = "unix:" + path_;
  Registry registry_;
};

TEST_F(ScrapeListenerTest, GivesTheTextOfNow) {
  const auto listener = ScrapeListener::listen(registry_, {.address = address_});
  ASSERT_TRUE(listener) << listener.error().detail;
  const std::string answer = ask("GET /metrics");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\n" + registry_.prometheus_text()));
  registry_.counter("things_total", "Things").add(1);
  EXPECT_THAT(ask("GET /metrics?x=1"), HasSubstr("s3rdmafs_things_total 43\n"));
}

TEST_F(ScrapeListenerTest, HasNothingElse) {
  const auto listener = ScrapeListener::listen(registry_, {.address = address_});
  ASSERT_TRUE(listener);
  for (const char* path : {"/", "/metrics/", "/metrics/../metrics", "/etc/passwd"}) {
    EXPECT_THAT(ask("GET " + std::string(path)), StartsWith("HTTP/1.1 404 ")) << path;
  }
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
    const std::string answer = ask(std::string(method) + " /metrics", "Content-Length: 0\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 ")) << method;
    EXPECT_THAT(answer, Not(HasSubstr("things_total"))) << method;
  }
  EXPECT_THAT(ask("GET /" + std::string(40'000, 'a')), Not(HasSubstr("things_total")));
}

TEST_F(ScrapeListenerTest, AnswersWhileClientsThatSayNothingHoldMostConnections) {
  const auto listener = ScrapeListener::listen(registry_, {.address = address_});
  ASSERT_TRUE(listener);
  std::vector<UniqueFd> silent;
  for (unsigned i = 0; i + 1 < ScrapeListener::kConnectionsMax; ++i) {
    silent.push_back(connected());
    ASSERT_TRUE(send_all(silent.back().get(), "GET /metr"));
  }
  EXPECT_THAT(ask("GET /metrics"), HasSubstr("things_total 42"));
}

TEST_F(ScrapeListenerTest, TheSocketHasTheRightsAskedForAndGoesWithTheListener) {
  {
    const auto listener =
        ScrapeListener::listen(registry_, {.address = address_, .mode = 0600, .group = "0"});
    if (::geteuid() != 0 && !listener) GTEST_SKIP() << "group 0 is root's to give";
    ASSERT_TRUE(listener) << listener.error().detail;
    struct stat found{};
    ASSERT_EQ(::stat(path_.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600U);
    EXPECT_EQ(found.st_gid, 0U);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  const auto for_all = ScrapeListener::listen(registry_, {.address = address_, .mode = 0666});
  struct stat found{};
  ASSERT_EQ(::stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0666U) << "whatever the umask";
}

TEST_F(ScrapeListenerTest, AFolderThatIsMissingIsMadeForAllToEnter) {
  const std::filesystem::path folder = folder_.path() / "new";
  const auto listener =
      ScrapeListener::listen(registry_, {.address = "unix:" + (folder / "a.sock").string()});
  ASSERT_TRUE(listener) << listener.error().detail;
  struct stat found{};
  ASSERT_EQ(::stat(folder.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0755U);
}

TEST_F(ScrapeListenerTest, LeavesASocketToAProcessThatListens) {
  auto first = ScrapeListener::listen(registry_, {.address = address_});
  ASSERT_TRUE(first) << first.error().detail;
  const auto second = ScrapeListener::listen(registry_, {.address = address_});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
  EXPECT_THAT(second.error().detail, HasSubstr("another process answers at " + path_));
  EXPECT_TRUE(connect_to_unix_socket(path_)) << "the first goes on";
  first->reset();
  EXPECT_TRUE(ScrapeListener::listen(registry_, {.address = address_})) << "the control";
}

TEST_F(ScrapeListenerTest, RefusesAGroupThatIsNotThere) {
  const auto listener =
      ScrapeListener::listen(registry_, {.address = address_, .group = "no-such-group"});
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(listener.error().detail, HasSubstr("there is no group 'no-such-group'"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST(ListenOnTcp, TakesAFreePortOfTheAddressAloneAndNoOther) {
  const auto listener = listen_on_tcp("127.0.0.1:0");
  ASSERT_TRUE(listener) << listener.error().detail;
  sockaddr_in bound{};
  socklen_t length = sizeof(bound);
  ASSERT_EQ(::getsockname(listener->get(), reinterpret_cast<sockaddr*>(&bound), &length), 0);
  EXPECT_EQ(bound.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
  const std::string taken = "127.0.0.1:" + std::to_string(ntohs(bound.sin_port));
  const auto second = listen_on_tcp(taken);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().detail, HasSubstr(taken));
  for (const char* wrong :
       {"localhost:9464", "127.0.0.1", ":9464", "[::1:9464", "127.0.0.1:99999"}) {
    EXPECT_EQ(listen_on_tcp(wrong).error().code, ErrorCode::kInvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace s3rdmafs::metrics
