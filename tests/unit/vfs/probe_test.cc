// SPDX-License-Identifier: Apache-2.0
#include "vfs/names/probe.h"

#include <gtest/gtest.h>

#include "mounted_bucket.h"

namespace s3rdmafs::vfs {
namespace {

class ProbeTest : public testing::Test {
 protected:
  /// "file", "directory", "nothing" or the error's name.
  static std::string what(const Answer<Found>& answer) {
    if (!answer.error().empty()) return std::string(answer.error());
    const std::optional<Node>& node = answer.get()->node;
    return !node ? "nothing" : node->is_directory ? "directory" : "file";
  }

  Answer<Found> start(std::string key) {
    Answer<Found> answer;
    probe(store_, std::move(key), {}, answer.done());
    return answer;
  }

  void release(Operation operation) { store_.release(index_of(operation)); }
  void fail(Operation operation, ErrorCode code) {
    store_.fail_held(index_of(operation), {.error = {code, "failed by the test"}});
  }
  std::size_t index_of(Operation operation) {
    const auto held = store_.held();
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (held[i].operation == operation) return i;
    }
    ADD_FAILURE() << "no such call is held";
    return held.size();
  }

  using Said = std::vector<std::string>;
  /// The answers of a probe of "a": after one request has ended, and after both have.
  Said said_after(Operation first, Operation second) {
    store_.hold();
    const auto answer = start("a");
    Said said;
    for (const Operation operation : {first, second}) {
      release(operation);
      said.push_back(what(answer));
    }
    return said;
  }

  fakes::FakeClock clock_;
  fakes::FakeObjectStore store_{clock_};
};

TEST_F(ProbeTest, TellsFilesDirectoriesAndNothingApart) {
  for (const char* key : {"file", "file-2/x", "dir/x", "marker/"}) store_.put(key, "");
  EXPECT_EQ(what(start("file")), "file");
  EXPECT_EQ(what(start("dir")), "directory");
  EXPECT_EQ(what(start("marker")), "directory");
  EXPECT_EQ(what(start("fil")), "nothing");
}

TEST_F(ProbeTest, ADirectoryWinsOverAFileAndIsCertainBeforeTheHeadIsAnswered) {
  store_.put("a", "");
  store_.put("a/b", "");
  EXPECT_EQ(said_after(Operation::kList, Operation::kHead), (Said{"directory", "directory"}));
}

TEST_F(ProbeTest, AFileIsCertainOnlyWhenTheListingSaysThatNoDirectoryHidesIt) {
  store_.put("a", "");
  EXPECT_EQ(said_after(Operation::kHead, Operation::kList), (Said{"pending", "file"}));
}

TEST_F(ProbeTest, ADirectoryIsFoundAlthoughTheHeadFails) {
  store_.put("a/b", "");
  store_.fail_next(Operation::kHead, 1, ErrorCode::kAccessDenied);
  EXPECT_EQ(what(start("a")), "directory");
}

TEST_F(ProbeTest, TheHeadsErrorIsTheAnswerWhereThereIsNoDirectory) {
  store_.hold();
  const auto answer = start("a");
  fail(Operation::kHead, ErrorCode::kUnreachable);
  EXPECT_EQ(what(answer), "pending");
  release(Operation::kList);
  EXPECT_EQ(what(answer), "Unreachable");
}

TEST_F(ProbeTest, TheListingsErrorIsTheAnswerInEitherOrder) {
  store_.put("a", "");
  for (const bool head_first : {true, false}) {
    store_.hold();
    const auto answer = start("a");
    if (head_first) release(Operation::kHead);
    fail(Operation::kList, ErrorCode::kTimedOut);
    if (!head_first) release(Operation::kHead);
    EXPECT_EQ(what(answer), "TimedOut");
  }
}

/// A store whose first page of any listing is empty and not the last, as S3 allows.
class EmptyFirstPages final : public s3::ObjectStore {
 public:
  explicit EmptyFirstPages(s3::ObjectStore& below) : below_(below) {}
  void head(std::string key, Deadline deadline, Done<s3::ObjectInfo> done) override {
    below_.head(std::move(key), deadline, std::move(done));
  }
  void list(s3::ListRequest request, Deadline deadline, Done<s3::ListPage> done) override {
    if (request.continuation_token.empty()) {
      return done(s3::ListPage{.objects = {}, .common_prefixes = {}, .next_token = "go on"});
    }
    request.continuation_token.clear();
    below_.list(std::move(request), deadline, std::move(done));
  }
  void get(s3::GetRequest request, Deadline deadline, s3::GetDone done) override {
    below_.get(std::move(request), deadline, std::move(done));
  }
  void shut_down() override { below_.shut_down(); }

 private:
  s3::ObjectStore& below_;
};

TEST_F(ProbeTest, AnEmptyPageThatIsNotTheLastProvesNothing) {
  store_.put("a/b", "");
  EmptyFirstPages store(store_);
  Answer<Found> answer;
  probe(store, "a", {}, answer.done());
  EXPECT_EQ(what(answer), "directory");
}

/// A store whose listings are one empty page after another, each with the same token.
class EndlessEmptyPages final : public s3::ObjectStore {
 public:
  void head(std::string, Deadline, Done<s3::ObjectInfo> done) override {
    done(s3rdmafs::fail(ErrorCode::kNotFound, "no object"));
  }
  void list(s3::ListRequest, Deadline, Done<s3::ListPage> done) override {
    if (++listings > 100) return done(s3rdmafs::fail(ErrorCode::kTimedOut, "too many listings"));
    done(s3::ListPage{.objects = {}, .common_prefixes = {}, .next_token = "again"});
  }
  void get(s3::GetRequest, Deadline, s3::GetDone) override {}
  void shut_down() override {}

  std::size_t listings = 0;
};

TEST_F(ProbeTest, AListingThatRepeatsItsTokenIsAProtocolError) {
  EndlessEmptyPages store;
  Answer<Found> answer;
  probe(store, "a", {}, answer.done());
  EXPECT_EQ(what(answer), "Protocol");
  EXPECT_EQ(store.listings, 2U);
}

}  // namespace
}  // namespace s3rdmafs::vfs
