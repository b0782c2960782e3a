// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "fakes/fake_resident_objects.h"
#include "mounted_bucket.h"

namespace s3rdmafs::vfs {
namespace {

class OpenWholeTest : public testing::Test {
 protected:
  OpenWholeTest() { etag_ = store_.put("a", "hello"); }

  Ino ino_of(std::string_view name) {
    Answer<Entry> answer;
    fs_.lookup(kRootIno, name, {}, answer.done());
    return answer.get().value().attributes.ino;
  }

  fakes::FakeClock clock_;
  metrics::Registry metrics_;
  fakes::FakeObjectStore store_{clock_};
  fakes::FakeReadCache cache_{store_};
  fakes::FakeResidentObjects whole_;
  std::shared_ptr<FileSystem> shared_fs_ = FileSystem::create(
      store_, cache_, clock_, metrics_,
      {.prefix = "", .ttl = MountedBucket::kTtl, .negative_ttl = {}}, std::nullopt, &whole_);
  FileSystem& fs_ = *shared_fs_;
  std::string etag_;
  Answer<OpenFile> opened_;
};

TEST_F(OpenWholeTest, TheAnswerComesWhenTheObjectIsThere) {
  fs_.open_whole(ino_of("a"), {}, opened_.done());
  EXPECT_FALSE(opened_.has_come());
  ASSERT_EQ(whole_.asked().size(), 1U);
  EXPECT_EQ(whole_.asked()[0].etag, etag_);
  EXPECT_EQ(whole_.asked()[0].size_bytes, 5U);
  whole_.answer(std::make_shared<fakes::FakeResidentObject>(7));
  ASSERT_EQ(opened_.error(), "");
  EXPECT_EQ(opened_.get()->whole->fd(), 7);
}

TEST_F(OpenWholeTest, WithoutTheObjectTheFileIsOpenAllTheSame) {
  for (const ErrorCode code : {ErrorCode::kNoMemory, ErrorCode::kUnsupported, ErrorCode::kTimedOut,
                               ErrorCode::kServerError, ErrorCode::kCancelled}) {
    Answer<OpenFile> opened;
    fs_.open_whole(ino_of("a"), {}, opened.done());
    whole_.answer(fail(code, "the test says no"));
    ASSERT_EQ(opened.error(), "") << error_code_name(code);
    EXPECT_EQ(opened.get()->whole, nullptr);
    Answer<cache::PinnedBytes> bytes;
    fs_.read(opened.get()->handle, 0, 5, {}, bytes.done());
    EXPECT_EQ(text_of(*bytes.get()), "hello");
  }
}

TEST_F(OpenWholeTest, AVersionThatIsGoneIsStaleAndTheNextLookupFindsTheNewOne) {
  const Ino old_ino = ino_of("a");
  fs_.open_whole(old_ino, {}, opened_.done());
  store_.put("a", "news");
  whole_.answer(fail(ErrorCode::kStale, "gone"));
  EXPECT_EQ(opened_.error(), "Stale");
  EXPECT_NE(ino_of("a"), old_ino) << "although the ttl has not passed";
}

TEST_F(OpenWholeTest, AnOldVersionIsNotFetched) {
  const Ino old_ino = ino_of("a");
  store_.put("a", "news");
  clock_.advance(MountedBucket::kTtl);
  fs_.open_whole(old_ino, {}, opened_.done());
  EXPECT_EQ(opened_.error(), "Stale");
  EXPECT_TRUE(whole_.asked().empty());
}

class NextShard : public OpenWholeTest {
 protected:
  static constexpr std::size_t kShard = 5 * kMiB;

  NextShard() {
    for (const char* name : {"s1", "s2", "s3", "s4"}) store_.put(name, std::string(kShard, 's'));
  }
  void open(std::string_view name, bool as_whole) {
    Answer<OpenFile> opened;
    fs_.open_whole(ino_of(name), {}, opened.done());
    whole_.answer(as_whole ? Result<fakes::FakeResidentObjects::Object>(
                                 std::make_shared<fakes::FakeResidentObject>(7))
                           : fail(ErrorCode::kNoMemory, "the test says no"));
    ASSERT_EQ(opened.error(), "");
  }
};

// No program has listed the directory: the first shard has its listing fetched.
TEST_F(NextShard, IsFetchedWholeWhileTheOneBeforeItIsRead) {
  open("s1", true);
  EXPECT_TRUE(whole_.prefetched.empty());
  open("s2", true);
  EXPECT_EQ(whole_.prefetched, (std::vector<std::string>{"s3", "s4"}));
  EXPECT_TRUE(cache_.prefetched().empty());
}

TEST_F(NextShard, IsBegunInTheReadCacheWhereItCannotBeWhole) {
  for (const bool as_whole : {false, true}) {
    whole_.has_room = false;
    open(as_whole ? "s3" : "s1", as_whole);
    open(as_whole ? "s4" : "s2", as_whole);
  }
  EXPECT_EQ(cache_.prefetched(), (std::vector<std::string>{"s3", "s4"}));
  EXPECT_TRUE(whole_.prefetched.empty());
}

TEST_F(OpenWholeTest, APlainOpenFetchesNothing) {
  fs_.open(ino_of("a"), {}, opened_.done());
  ASSERT_EQ(opened_.error(), "");
  EXPECT_TRUE(whole_.asked().empty());
}

}  // namespace
}  // namespace s3rdmafs::vfs
