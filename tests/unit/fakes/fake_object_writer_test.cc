// SPDX-License-Identifier: Apache-2.0
// The writing half of the fake store, by its own rules.
#include <cstring>
#include <optional>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/rdma/fake_region.h"
#include "fakes/s3/fake_object_store.h"
#include "s3rdmafs/base/checksum.h"

namespace s3rdmafs::fakes {
namespace {

using Operation = FakeObjectStore::Operation;

class FakeObjectWriterTest : public testing::Test {
 protected:
  s3::PutBody body(const char* text) {
    std::memcpy(region_.bytes().data(), text, std::strlen(text));
    const auto bytes = region_.bytes().first(std::strlen(text));
    return {.window = {&region_, 0, bytes.size()}, .crc64nvme = crc64nvme(0, bytes)};
  }
  std::string begin() {
    std::string id;
    store_.create_upload("k", {}, {}, [&](Result<std::string> result) { id = result.value(); });
    return id;
  }
  s3::UploadedPart part(const std::string& id, unsigned number, const char* text) {
    s3::UploadedPart result{.number = number, .etag = {}};
    store_.upload_part("k", id, number, body(text), {},
                       [&](s3::PutOutcome outcome) { result.etag = outcome.etag.value(); });
    return result;
  }
  Result<std::string> complete(const std::string& id, std::vector<s3::UploadedPart> parts) {
    Result<std::string> result;
    store_.complete_upload("k", id, std::move(parts), {}, {},
                           [&](Result<std::string> etag) { result = std::move(etag); });
    return result;
  }

  FakeClock clock_;
  FakeRegion region_{64};
  FakeObjectStore store_{clock_};
};

TEST_F(FakeObjectWriterTest, APutIsVisibleAtOnceAndRefusedWhereTheKeyMustBeAbsent) {
  std::optional<s3::PutOutcome> outcome;
  const auto keep = [&](s3::PutOutcome result) { outcome = std::move(result); };
  const s3::PutOptions only_if_absent{.when = s3::Precondition::absent(), .metadata = {}};
  store_.put("k", body("hello"), only_if_absent, {}, keep);
  ASSERT_TRUE(outcome && outcome->etag);
  EXPECT_EQ(store_.object("k"), "hello");
  store_.put("k", body("other"), only_if_absent, {}, keep);
  EXPECT_EQ(outcome->etag.error().code, ErrorCode::kExists);
  EXPECT_EQ(store_.object("k"), "hello");
}

TEST_F(FakeObjectWriterTest, AnUploadIsVisibleWholeOnceItIsCompleted) {
  const std::string id = begin();
  const auto second = part(id, 2, "lo");
  const auto first = part(id, 1, "hel");
  EXPECT_FALSE(store_.object("k"));
  EXPECT_FALSE(complete(id, {second, first})) << "not ascending";
  EXPECT_TRUE(complete(id, {first, second}));
  EXPECT_EQ(store_.object("k"), "hello");
  EXPECT_EQ(store_.open_uploads(), 0U);
  EXPECT_FALSE(complete(id, {first, second})) << "it is gone";
}

TEST_F(FakeObjectWriterTest, AnAbortedUploadLeavesNothing) {
  const std::string id = begin();
  const auto only = part(id, 1, "x");
  bool is_aborted = false;
  store_.abort_upload("k", id, {}, [&](Result<void> result) { is_aborted = result.has_value(); });
  EXPECT_TRUE(is_aborted);
  EXPECT_FALSE(complete(id, {only}));
  EXPECT_FALSE(store_.object("k"));
}

TEST_F(FakeObjectWriterTest, AHeldPartIsReadWhenReleasedAndItsChecksumCompared) {
  const std::string id = begin();
  store_.hold();
  std::optional<s3::PutOutcome> outcome;
  store_.upload_part("k", id, 1, body("abc"), {},
                     [&](s3::PutOutcome result) { outcome = std::move(result); });
  region_.bytes()[0] = std::byte{'!'};  // what a writer must not do
  ASSERT_EQ(store_.held().size(), 1U);
  EXPECT_EQ(store_.held().at(0).part_number, 1U);
  store_.release_all();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->etag.error().code, ErrorCode::kCorrupt);
}

TEST_F(FakeObjectWriterTest, AFailedPutCanLeaveALateRead) {
  store_.fail_next(Operation::kPut, 1, ErrorCode::kUnreachable, /*late_write_possible=*/true);
  std::optional<s3::PutOutcome> outcome;
  store_.put("k", body("abc"), {}, {}, [&](s3::PutOutcome result) { outcome = std::move(result); });
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->etag);
  EXPECT_TRUE(outcome->late_read_possible);
  EXPECT_FALSE(store_.object("k"));
}

TEST_F(FakeObjectWriterTest, AVersionIsReplacedAndRemovedOnlyIfItIsTheOneNamed) {
  const std::string old_etag = store_.put("k", "old");
  const std::string etag = store_.put("k", "newer");
  std::optional<s3::PutOutcome> outcome;
  const auto keep = [&](s3::PutOutcome result) { outcome = std::move(result); };
  store_.put("k", body("x"), {.when = s3::Precondition::matches(old_etag), .metadata = {}}, {},
             keep);
  EXPECT_EQ(outcome->etag.error().code, ErrorCode::kStale);
  Result<void> removed;
  const auto keep_removed = [&](Result<void> result) { removed = std::move(result); };
  store_.remove_version("k", old_etag, {}, keep_removed);
  EXPECT_EQ(removed.error().code, ErrorCode::kStale);
  EXPECT_EQ(store_.object("k"), "newer");
  store_.remove_version("k", etag, {}, keep_removed);
  EXPECT_TRUE(removed);
  EXPECT_EQ(store_.object("k"), std::nullopt);
  store_.remove_version("k", etag, {}, keep_removed);
  EXPECT_TRUE(removed) << "there is nothing";
}

TEST_F(FakeObjectWriterTest, ACopyIsOfTheVersionNamedAndKeepsOrReplacesItsMetadata) {
  const std::string etag = store_.put("source", "bytes", {{"mode", "1"}});
  Result<std::string> copied;
  const auto keep = [&](Result<std::string> result) { copied = std::move(result); };
  store_.copy({"source", "\"other\"", 5}, "k", {}, {}, keep);
  EXPECT_EQ(copied.error().code, ErrorCode::kStale);
  store_.copy({"source", etag, 5}, "k", {}, {}, keep);
  EXPECT_TRUE(copied);
  EXPECT_EQ(store_.object("k"), "bytes");
  EXPECT_EQ(store_.metadata("k"), (s3::UserMetadata{{"mode", "1"}}));
  store_.copy({"source", etag, 5}, "k",
              {.when = s3::Precondition::absent(), .metadata = std::nullopt}, {}, keep);
  EXPECT_EQ(copied.error().code, ErrorCode::kExists);
  store_.copy({"source", etag, 5}, "k", {.when = {}, .metadata = s3::UserMetadata{{"mode", "2"}}},
              {}, keep);
  EXPECT_EQ(store_.metadata("k"), (s3::UserMetadata{{"mode", "2"}}));
}

TEST_F(FakeObjectWriterTest, AnUploadIsMadeOfCopiedAndSentParts) {
  const std::string etag = store_.put("source", "0123456789");
  const std::string id = begin();
  s3::UploadedPart copied{.number = 1, .etag = {}};
  store_.upload_part_copy({"source", etag, 10}, 2, 3, "k", id, 1, {},
                          [&](Result<std::string> result) { copied.etag = result.value(); });
  EXPECT_TRUE(complete(id, {copied, part(id, 2, "tail")}));
  EXPECT_EQ(store_.object("k"), "234tail");
}

}  // namespace
}  // namespace s3rdmafs::fakes
