// SPDX-License-Identifier: Apache-2.0
#include "cache/whole/object_fetch.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/rdma/fake_region.h"
#include "fakes/s3/fake_object_store.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::cache {
namespace {

using fakes::FakeObjectStore;

constexpr std::size_t kFetchedBytes = 50 * kMiB + 3;  // seven parts, the last one short

class ObjectFetchTest : public testing::Test {
 protected:
  ObjectFetchTest() : bytes_(kFetchedBytes, '\0') {
    for (std::size_t i = 0; i < kFetchedBytes; i += 4096)
      bytes_[i] = static_cast<char>(i / 4096 % 251 + 1);
    version_ = {.key = "k", .etag = store_.put("k", bytes_), .size_bytes = kFetchedBytes};
  }
  void fetch() {
    fetch_object(store_, ObjectPart::whole_of(version_), region_,
                 {.part_deadline = [this] { return clock_.now() + std::chrono::seconds(30); }},
                 [this](std::expected<void, s3::GetFailure> outcome) {
                   EXPECT_FALSE(outcome_) << "done was called twice";
                   outcome_ = std::move(outcome);
                 });
  }
  std::size_t gets() const { return store_.count(FakeObjectStore::Operation::kGet); }

  fakes::FakeClock clock_;
  FakeObjectStore store_{clock_};
  fakes::FakeRegion region_{52 * kMiB};
  std::string bytes_;
  ObjectVersion version_;
  std::optional<std::expected<void, s3::GetFailure>> outcome_;
};

TEST_F(ObjectFetchTest, AllBytesComeToTheBeginningOfTheRegion) {
  fetch();
  ASSERT_TRUE(outcome_ && *outcome_);
  EXPECT_TRUE(std::equal(bytes_.begin(), bytes_.end(), region_.bytes().begin(),
                         [](char a, std::byte b) { return std::byte(a) == b; }));
}

TEST_F(ObjectFetchTest, AFewPartsTravelAtOnceAndTheNextFollowsEach) {
  store_.hold();
  fetch();
  EXPECT_EQ(store_.held().size(), 4U);
  store_.release(2);
  EXPECT_EQ(store_.held().size(), 4U);
  EXPECT_EQ(gets(), 5U);
  EXPECT_FALSE(outcome_);
  store_.release_all();
  EXPECT_TRUE(outcome_ && *outcome_);
  EXPECT_EQ(gets(), 7U);
}

TEST_F(ObjectFetchTest, AFailureIsReportedWhenNoRequestIsUnderWay) {
  store_.hold();
  fetch();
  store_.fail_held(0, {.error = {ErrorCode::kServerError, "no"}});
  EXPECT_FALSE(outcome_) << "three parts are still on their way";
  store_.release();
  store_.release();
  EXPECT_FALSE(outcome_);
  store_.release();
  ASSERT_TRUE(outcome_);
  ASSERT_FALSE(*outcome_);
  EXPECT_EQ(outcome_->error().error.code, ErrorCode::kServerError);
  EXPECT_FALSE(outcome_->error().late_write_possible);
  EXPECT_EQ(gets(), 4U) << "no part is sent after a failure";
}

TEST_F(ObjectFetchTest, ALateWriteOfAnyPartCounts) {
  store_.hold();
  fetch();
  store_.fail_held(0, {.error = {ErrorCode::kServerError, "first"}});
  store_.fail_held(0, {.error = {ErrorCode::kTimedOut, "second"}, .late_write_possible = true});
  store_.release_all();
  ASSERT_TRUE(outcome_ && !*outcome_);
  EXPECT_EQ(outcome_->error().error.detail, "first");
  EXPECT_TRUE(outcome_->error().late_write_possible);
}

TEST_F(ObjectFetchTest, AnotherVersionIsStale) {
  store_.put("k", bytes_);
  fetch();
  ASSERT_TRUE(outcome_ && !*outcome_);
  EXPECT_EQ(outcome_->error().error.code, ErrorCode::kStale);
}

}  // namespace
}  // namespace s3rdmafs::cache
