// SPDX-License-Identifier: Apache-2.0
#include "credentials/rotating_credentials.h"

#include <atomic>
#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/eventually.h"
#include "fakes/fake_clock.h"
#include "fakes/log_capture.h"

namespace s3rdmafs::credentials {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

/// Gives the answers of a test, one after another; the last stays.
class ScriptedSource final : public KeySource {
 public:
  struct Script {
    Mutex mutex;
    std::deque<Result<FetchedKeys>> answers GUARDED_BY(mutex);
    std::atomic<int> fetches = 0;
    std::atomic<bool> has_changed = false;
  };
  explicit ScriptedSource(std::shared_ptr<Script> script) : script_(std::move(script)) {}

  Result<FetchedKeys> fetch(const std::stop_token&) override {
    ++script_->fetches;
    script_->has_changed = false;
    const MutexLock lock(script_->mutex);
    if (script_->answers.empty()) return fail(ErrorCode::kUnreachable, "the service is down");
    auto answer = script_->answers.front();
    if (script_->answers.size() > 1) script_->answers.pop_front();
    return answer;
  }
  bool may_have_changed() override { return script_->has_changed; }

 private:
  const std::shared_ptr<Script> script_;
};

class RotatingCredentialsTest : public testing::Test {
 protected:
  FetchedKeys keys(const std::string& id, std::optional<seconds> time = std::nullopt) const {
    FetchedKeys made{.keys = {.access_key_id = id, .secret_access_key = "s"}};
    if (time) made.end = clock_.wall_now() + *time;
    return made;
  }
  void answer(Result<FetchedKeys> next) {
    const MutexLock lock(script_->mutex);
    script_->answers.push_back(std::move(next));
  }
  void start(FetchedKeys first) {
    rotating_.emplace(std::make_unique<ScriptedSource>(script_), std::move(first), "a test", clock_,
                      metrics_);
  }
  std::string now() {
    const auto found = rotating_->get();
    return found ? found->access_key_id : found.error().detail;
  }
  bool become(const std::string& id) {
    return fakes::eventually([&] { return now() == id; });
  }
  /// Whether the source was asked so often, and the thread waits for the next time.
  bool fetched(int times) {
    return fakes::eventually([&] { return script_->fetches >= times; }) && looked();
  }
  /// Whether the thread has looked at the time, and has not fetched.
  bool stays_at(int fetches) { return looked() && script_->fetches == fetches; }
  bool looked() {
    const int waits = clock_.waits();
    return fakes::eventually([&] { return clock_.waits() >= waits + 2; });
  }

  fakes::FakeClock clock_;
  metrics::Registry metrics_;
  const std::shared_ptr<ScriptedSource::Script> script_ =
      std::make_shared<ScriptedSource::Script>();
  std::optional<RotatingCredentials> rotating_;
};

TEST_F(RotatingCredentialsTest, AreRenewedInTheLastQuarterOfTheirTime) {
  start(keys("one", seconds(40)));
  clock_.advance(seconds(29));
  EXPECT_TRUE(stays_at(0));
  EXPECT_EQ(now(), "one");
  answer(keys("two", seconds(40)));
  clock_.advance(seconds(1));
  EXPECT_TRUE(become("two"));
  EXPECT_EQ(metrics_.counter("credentials_renewals_total", "").value(), 2U) << "the first are one";
}

TEST_F(RotatingCredentialsTest, OfALongTimeAreRenewedTenMinutesAhead) {
  start(keys("one", hours(12)));
  clock_.advance(hours(12) - minutes(10) - seconds(1));
  EXPECT_TRUE(stays_at(0));
  answer(keys("two", hours(12)));
  clock_.advance(seconds(1));
  EXPECT_TRUE(become("two"));
}

TEST_F(RotatingCredentialsTest, StayWhileTheServiceIsDownAndAreRenewedOnceItIsBack) {
  fakes::LogCapture log;
  start(keys("one", minutes(40)));
  clock_.advance(minutes(30));
  EXPECT_TRUE(fetched(1));
  EXPECT_EQ(now(), "one") << "they have not ended";
  for (int attempts = 2; attempts < 5; ++attempts) {
    clock_.advance(RotatingCredentials::kRetryMax);
    EXPECT_TRUE(fetched(attempts));
  }
  answer(keys("two", minutes(40)));
  clock_.advance(RotatingCredentials::kRetryMax);
  EXPECT_TRUE(become("two"));
  EXPECT_GE(metrics_.counter("credentials_failures_total", "").value(), 4U);
  rotating_.reset();  // and its thread, which logs
  EXPECT_FALSE(log.lines_with("no keys from a test: the service is down").empty());
}

TEST_F(RotatingCredentialsTest, ThatHaveEndedAreNotUsed) {
  start(keys("one", seconds(40)));
  clock_.advance(seconds(41));
  EXPECT_TRUE(fetched(1));
  EXPECT_THAT(now(), HasSubstr("the service is down"));
  EXPECT_THAT(now(), HasSubstr("the keys from a test ended at 2023-11-14T22:14:00Z"));
  EXPECT_EQ(rotating_->get().error().code, ErrorCode::kNoCredentials);
  answer(keys("two", seconds(40)));
  clock_.advance(RotatingCredentials::kRetryMax);
  EXPECT_TRUE(become("two"));
}

TEST_F(RotatingCredentialsTest, ThatEndedAlreadyAreNotTaken) {
  start(keys("one", seconds(40)));
  answer(keys("old", seconds(-1)));
  clock_.advance(seconds(30));
  EXPECT_TRUE(fetched(1));
  EXPECT_EQ(now(), "one");
}

TEST_F(RotatingCredentialsTest, AreAskedForSeldomWhereTheSourceGivesTheSame) {
  const auto same = keys("one", seconds(40));
  start(same);
  answer(same);
  clock_.advance(seconds(30));
  EXPECT_TRUE(fetched(1));
  EXPECT_TRUE(stays_at(1));
  clock_.advance(seconds(1));
  EXPECT_TRUE(stays_at(1)) << "an eighth of ten seconds";
  clock_.advance(seconds(1));
  EXPECT_TRUE(fetched(2));
}

TEST_F(RotatingCredentialsTest, WithAnEndThatIsFarAreNotAskedForAgain) {
  start(keys("one", hours(24 * 365 * 100)));
  clock_.advance(hours(24 * 365 * 50));
  EXPECT_TRUE(stays_at(0));
  EXPECT_EQ(now(), "one");
}

TEST_F(RotatingCredentialsTest, WithoutAnEndChangeWhenTheirSourceDoes) {
  start(keys("one"));
  clock_.advance(hours(100));
  EXPECT_TRUE(stays_at(0));
  answer(keys("two"));
  script_->has_changed = true;
  clock_.advance(RotatingCredentials::kLook);
  EXPECT_TRUE(become("two"));
}

TEST_F(RotatingCredentialsTest, EndWithoutAWait) {
  start(keys("one", hours(1)));
  const auto begin = std::chrono::steady_clock::now();
  rotating_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(20)) << "the clock does not move";
}

}  // namespace
}  // namespace s3rdmafs::credentials
