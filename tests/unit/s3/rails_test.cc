// SPDX-License-Identifier: Apache-2.0
// Requests whose tokens name rails, of which some have no way to the servers.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/unique_fd.h"
#include "store_fixture.h"

namespace s3rdmafs::s3 {
namespace {

using namespace std::chrono_literals;
using fakes::ScriptedHttpServer;
using rdma::TokenFate;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

constexpr const char* kGoodRail = "127.0.0.2";
constexpr const char* kOtherGoodRail = "127.0.0.3";
// No host's (reserved, RFC 1112), so that no connection comes about.
constexpr const char* kBadRail = "240.0.0.1";
constexpr const char* kOtherBadRail = "240.0.0.2";

/// Its tokens name one rail after the other.
class RegionOnRails final : public rdma::MemoryRegion {
 public:
  using Fate = std::pair<std::string, TokenFate>;  // of a token, with its rail

  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return memory_; }
  void token(std::size_t, std::size_t, Deadline, Done<rdma::Token> done) override {
    std::string rail;
    {
      const MutexLock lock(mutex_);
      rail = rails_.front();
      rails_.pop_front();
      rails_.push_back(rail);
    }
    done(rdma::Token("token", [this, rail](TokenFate fate) { note(rail, fate); }, rail));
  }
  [[nodiscard]] Result<void> fence() override { return {}; }

  void set_rails(std::deque<std::string> rails) {
    const MutexLock lock(mutex_);
    rails_ = std::move(rails);
  }
  /// Of the tokens that have ended, in that order; each is told once.
  [[nodiscard]] std::vector<Fate> take_fates() {
    const MutexLock lock(mutex_);
    return std::exchange(fates_, {});
  }

 private:
  void note(const std::string& rail, TokenFate fate) {
    const MutexLock lock(mutex_);
    fates_.emplace_back(rail, fate);
  }

  mutable std::vector<std::byte> memory_ = std::vector<std::byte>(kWindowBytes);
  Mutex mutex_;
  std::deque<std::string> rails_ GUARDED_BY(mutex_){kGoodRail};
  std::vector<Fate> fates_ GUARDED_BY(mutex_);
};

/// A port whose connections never come about: its queue is full, and further ones are dropped.
class BlackHole {
 public:
  BlackHole() {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* any = reinterpret_cast<sockaddr*>(&address_);
    socklen_t length = sizeof(address_);
    if (::bind(listener_.get(), any, length) != 0 || ::listen(listener_.get(), 0) != 0 ||
        ::getsockname(listener_.get(), any, &length) != 0) {
      throw std::runtime_error("no port to listen on");
    }
    for (const UniqueFd& caller : callers_) {
      static_cast<void>(::connect(caller.get(), any, length));
    }
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(ntohs(address_.sin_port));
  }

 private:
  static UniqueFd make_socket() {
    return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  }

  sockaddr_in address_{};
  UniqueFd listener_ = make_socket();
  std::array<UniqueFd, 3> callers_{make_socket(), make_socket(), make_socket()};
};

class RailsTest : public TwoServersTest {
 protected:
  RailsTest() {
    options_.endpoint.urls = {a_url_};
    options_.rdma.mode = RdmaMode::kRequire;
    options_.retry.attempts_max = 1;
    a_->then(sent_by_rdma());
    b_->then(sent_by_rdma());
  }

  Got get() { return get_into(window_of(region_)); }
  PutOutcome put_part() {
    const PutBody body{.window = window_of(region_), .crc64nvme = crc64nvme(0, region_.bytes())};
    Outcome<PutOutcome> outcome;
    store().upload_part("key", "upload", 1, body, soon(), outcome.done());
    return outcome.get();
  }
  static std::vector<std::string> clients_of(const ScriptedHttpServer& server) {
    std::vector<std::string> addresses;
    for (const auto& request : server.seen()) addresses.push_back(request.client_address);
    return addresses;
  }
  std::uint64_t failures_of(const std::string& url) {
    return counted("endpoint_failures_total", of_endpoint(url));
  }

  RegionOnRails region_;
};

TEST_F(RailsTest, AReadComesFromAnyAddressWhereItsRailHasNoWayToTheServer) {
  region_.set_rails({kBadRail});
  EXPECT_EQ(get().value(), Path::kRdma) << "not a retry: only one attempt is allowed";
  EXPECT_THAT(clients_of(*a_), ElementsAre("127.0.0.1"));
  EXPECT_THAT(region_.take_fates(), ElementsAre(Pair(kBadRail, TokenFate::kUnconnected),
                                                Pair(kBadRail, TokenFate::kAnsweredUnbound)));
}

TEST_F(RailsTest, AReadGoesByAnotherRailWhereItsOwnHasNoWayToTheServer) {
  region_.set_rails({kBadRail, kGoodRail});
  EXPECT_EQ(get().value(), Path::kRdma);
  EXPECT_THAT(clients_of(*a_), ElementsAre(kGoodRail));
  EXPECT_THAT(region_.take_fates(), ElementsAre(Pair(kBadRail, TokenFate::kUnconnected),
                                                Pair(kGoodRail, TokenFate::kAnswered)));
}

TEST_F(RailsTest, AReadComesFromAnyAddressAfterTwoRailsWithoutAWay) {
  region_.set_rails({kBadRail, kOtherBadRail, kGoodRail});
  EXPECT_EQ(get().value(), Path::kRdma);
  EXPECT_THAT(clients_of(*a_), ElementsAre("127.0.0.1"));
  EXPECT_THAT(region_.take_fates(), ElementsAre(Pair(kBadRail, TokenFate::kUnconnected),
                                                Pair(kOtherBadRail, TokenFate::kUnconnected),
                                                Pair(kGoodRail, TokenFate::kAnsweredUnbound)));
}

// The control of the three above.
TEST_F(RailsTest, AReadComesFromItsRailWhereThatHasAWayToTheServer) {
  region_.set_rails({kGoodRail, kOtherGoodRail});
  ASSERT_TRUE(get() && get());
  EXPECT_THAT(clients_of(*a_), ElementsAre(kGoodRail, kOtherGoodRail));
  EXPECT_THAT(region_.take_fates(), ElementsAre(Pair(kGoodRail, TokenFate::kAnswered),
                                                Pair(kOtherGoodRail, TokenFate::kAnswered)));
}

TEST_F(RailsTest, APartOfAnUploadComesFromAnyAddressToo) {
  a_.emplace();
  options_.endpoint.urls = {a_->url()};
  a_->then({.headers = {{"ETag", kEtag},
                        {"x-amz-rdma-reply", "200"},
                        {"x-amz-rdma-bytes-transferred", "4096"}}});
  region_.set_rails({kBadRail});
  const PutOutcome outcome = put_part();
  ASSERT_TRUE(outcome.etag) << outcome.etag.error().detail;
  EXPECT_EQ(outcome.path, Path::kRdma);
  EXPECT_FALSE(outcome.late_read_possible) << "the first attempt reached nothing";
  EXPECT_THAT(clients_of(*a_), ElementsAre("127.0.0.1"));
}

// On a node with rails that do not lead to the servers, no server must count as dead.
TEST_F(RailsTest, NoServerIsBlamedForARailWithoutAWay) {
  options_.endpoint.urls = {a_url_, b_url_};
  region_.set_rails({kBadRail, kOtherBadRail});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(get());
  EXPECT_EQ(failures_of(a_url_), 0U);
  EXPECT_EQ(failures_of(b_url_), 0U);
  EXPECT_TRUE(is_alive(a_url_));
  EXPECT_TRUE(is_alive(b_url_));
  EXPECT_EQ(a_->seen().size(), 10U) << "both are used";
  EXPECT_EQ(b_->seen().size(), 10U);
}

TEST_F(RailsTest, NoRailIsBlamedForAServerThatIsDead) {
  options_.endpoint.urls = {a_url_, b_url_};
  a_.reset();
  region_.set_rails({kGoodRail, kOtherGoodRail});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(get());
  EXPECT_FALSE(is_alive(a_url_));
  EXPECT_EQ(b_->seen().size(), 10U);
  const auto fates = region_.take_fates();
  EXPECT_THAT(fates, AllOf(Contains(Pair(kGoodRail, TokenFate::kUnsent)),
                           Contains(Pair(kOtherGoodRail, TokenFate::kUnsent))));
  EXPECT_THAT(fates, Not(Contains(Pair(testing::_, TokenFate::kUnconnected))));
}

// The server may be dead and others alive: one more time-out shows that.
TEST_F(RailsTest, AReadComesFromAnyAddressAtOnceAfterATimeOut) {
  const BlackHole hole;
  options_.endpoint.urls = {hole.url()};
  options_.http.connect_timeout = 100ms;
  region_.set_rails({kGoodRail, kOtherGoodRail});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(get());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s) << "the timeout was another one, of 5 s";
  EXPECT_THAT(region_.take_fates(), ElementsAre(Pair(kGoodRail, TokenFate::kUnsent),
                                                Pair(kOtherGoodRail, TokenFate::kUnsent)));
  EXPECT_EQ(failures_of(hole.url()), 1U);
}

TEST_F(RailsTest, NoTokenIsHeldWhereNothingIsReachedAtAll) {
  a_.reset();
  region_.set_rails({kBadRail, kGoodRail});
  const Got ended = get();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().error.code, ErrorCode::kUnreachable);
  EXPECT_FALSE(ended.error().late_write_possible);
  EXPECT_THAT(region_.take_fates(),
              ElementsAre(Pair(kBadRail, TokenFate::kUnsent), Pair(kGoodRail, TokenFate::kUnsent),
                          Pair(kBadRail, TokenFate::kUnsent)))
      << "before the caller may give its memory up";
  EXPECT_THAT(region_.take_fates(), IsEmpty());
  EXPECT_EQ(failures_of(a_url_), 1U) << "the attempt from any address";
}

}  // namespace
}  // namespace s3rdmafs::s3
