// SPDX-License-Identifier: Apache-2.0
// The fake stands in for S3 in the tests of every layer above, so its own rules are tested first.
#include "fakes/s3/fake_object_store.h"

#include <cstring>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/fake_read_cache.h"
#include "fakes/rdma/fake_region.h"

namespace s3rdmafs::fakes {
namespace {

using Operation = FakeObjectStore::Operation;

class FakeObjectStoreTest : public testing::Test {
 protected:
  s3::ListPage list(s3::ListRequest request) {
    s3::ListPage page;
    store_.list(std::move(request), {},
                [&](Result<s3::ListPage> result) { page = std::move(result).value(); });
    return page;
  }

  /// Every key and common prefix of a listing, with `|` between pages.
  std::string walk(s3::ListRequest request) {
    std::string text;
    do {
      const s3::ListPage page = list(request);
      for (const s3::ObjectInfo& object : page.objects) text += object.key + " ";
      for (const std::string& prefix : page.common_prefixes) text += prefix + " ";
      text += "|";
      request.continuation_token = page.next_token;
    } while (!request.continuation_token.empty());
    return text;
  }

  FakeClock clock_;
  FakeObjectStore store_{clock_};
};

TEST_F(FakeObjectStoreTest, ListsInByteOrderAndRollsUpCommonPrefixes) {
  for (const char* key : {"b", "a/y", "a/x", "a-b", "a", "\xff", "Z"}) store_.put(key, "");
  EXPECT_EQ(walk({.prefix = "", .delimiter = "/", .continuation_token = ""}),
            "Z a a-b b \xff a/ |");
  EXPECT_EQ(walk({.prefix = "a", .delimiter = "", .continuation_token = ""}), "a a-b a/x a/y |");
  EXPECT_EQ(walk({.prefix = "none/", .delimiter = "/", .continuation_token = ""}), "|");
}

TEST_F(FakeObjectStoreTest, PagesOfOneKeyShowEachKeyAndPrefixOnce) {
  for (const char* key : {"a", "a/x", "a/y", "a/", "b/", "c"}) store_.put(key, "");
  EXPECT_EQ(walk({.prefix = "", .delimiter = "/", .continuation_token = "", .keys_max = 1}),
            "a |a/ |b/ |c |");
  EXPECT_EQ(walk({.prefix = "a/", .delimiter = "/", .continuation_token = "", .keys_max = 1}),
            "a/ |a/x |a/y |");
  store_.set_page_keys_max(3);
  EXPECT_EQ(walk({.prefix = "", .delimiter = "", .continuation_token = ""}),
            "a a/ a/x |a/y b/ c |");
}

TEST_F(FakeObjectStoreTest, APutIsANewVersionAndAnOldOneIsStale) {
  const std::string first = store_.put("k", "hello");
  FakeRegion region(3);
  std::expected<s3::Path, s3::GetFailure> got;
  const auto get = [&](const std::string& etag) {
    store_.get({.key = "k", .etag = etag, .offset_bytes = 2, .window = {&region, 0, 3}}, {},
               [&](auto result) { got = std::move(result); });
  };
  get(first);
  ASSERT_TRUE(got);
  EXPECT_EQ(std::memcmp(region.bytes().data(), "llo", 3), 0);

  EXPECT_NE(store_.put("k", "hello"), first);
  get(first);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().error.code, ErrorCode::kStale);
}

TEST_F(FakeObjectStoreTest, AHeldCallSeesTheBucketAsItIsWhenReleased) {
  store_.hold();
  std::optional<Result<s3::ObjectInfo>> answer;
  store_.head("k", {}, [&](Result<s3::ObjectInfo> result) { answer = std::move(result); });
  EXPECT_FALSE(answer);
  ASSERT_EQ(store_.held().size(), 1U);
  store_.put("k", "12345");
  EXPECT_TRUE(store_.release());
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ((*answer)->size_bytes, 5U);
  EXPECT_FALSE(store_.release());
}

TEST_F(FakeObjectStoreTest, FailsAsManyCallsAsTold) {
  store_.put("k", "1");
  store_.fail_next(Operation::kHead, 2, ErrorCode::kUnreachable);
  std::string codes;
  for (int i = 0; i < 3; ++i) {
    store_.head("k", {}, [&](Result<s3::ObjectInfo> result) {
      codes += result ? "ok " : std::string(error_code_name(result.error().code)) + " ";
    });
  }
  EXPECT_EQ(codes, "Unreachable Unreachable ok ");
  EXPECT_EQ(store_.count(Operation::kHead), 3U);
}

TEST_F(FakeObjectStoreTest, ShutDownCancelsWhatIsHeldAndWhatComesLater) {
  store_.hold();
  int cancelled = 0;
  const auto count = [&](Result<s3::ObjectInfo> result) {
    if (!result && result.error().code == ErrorCode::kCancelled) ++cancelled;
  };
  store_.head("k", {}, count);
  store_.shut_down();
  EXPECT_EQ(cancelled, 1);
  store_.head("k", {}, count);
  EXPECT_EQ(cancelled, 2);
}

TEST_F(FakeObjectStoreTest, AReadOfTheFakeCacheIsAGetClippedToTheObjectsEnd) {
  const std::string etag = store_.put("k", "hello");
  FakeReadCache cache(store_);
  const auto reader = cache.open({.key = "k", .etag = etag, .size_bytes = 5});
  std::string text;
  reader->read(3, 100, {}, [&](Result<cache::PinnedBytes> bytes) {
    ASSERT_TRUE(bytes);
    for (const auto piece : bytes->pieces()) {
      for (const std::byte byte : piece) text += static_cast<char>(byte);
    }
  });
  EXPECT_EQ(text, "lo");
  EXPECT_EQ(store_.count(Operation::kGet), 1U);
  EXPECT_EQ(cache.readers(), 1);
}

}  // namespace
}  // namespace s3rdmafs::fakes
