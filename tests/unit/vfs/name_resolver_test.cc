// SPDX-License-Identifier: Apache-2.0
#include "vfs/names/name_resolver.h"

#include <gtest/gtest.h>

#include "mounted_bucket.h"

namespace s3rdmafs::vfs {
namespace {

class NameResolverTest : public testing::Test {
 protected:
  Answer<NameAnswer> resolve(const std::string& key) {
    Answer<NameAnswer> answer;
    resolver_->resolve(key, {}, answer.done());
    return answer;
  }
  std::size_t heads() const { return store_.count(Operation::kHead); }

  fakes::FakeClock clock_;
  fakes::FakeObjectStore store_{clock_};
  metrics::Registry metrics_;
  NameCache names_{clock_, {.ttl = seconds(30), .negative_ttl = seconds(5), .entries_max = 100}};
  std::shared_ptr<NameResolver> resolver_ =
      std::make_shared<NameResolver>(store_, clock_, names_, metrics_);
};

TEST_F(NameResolverTest, AsksTheStoreOnceWithinTheTtl) {
  store_.put("a", "");
  EXPECT_TRUE(resolve("a").get()->node);
  EXPECT_TRUE(resolve("a").get()->node);
  EXPECT_EQ(heads(), 1U);
  clock_.advance(seconds(30));
  EXPECT_TRUE(resolve("a").get()->node);
  EXPECT_EQ(heads(), 2U);
  EXPECT_EQ(metrics_.counter("vfs_lookups_total", "", R"(source="cache")").value(), 1U);
  EXPECT_EQ(metrics_.counter("vfs_lookups_total", "", R"(source="store")").value(), 2U);
}

TEST_F(NameResolverTest, ADirectoryComesWithTheFirstOfItsNames) {
  for (unsigned i = 0; i <= kNamesWithDirectory; ++i) {
    store_.put("dir/" + std::to_string(100 + i), std::string(i, 'x'));
  }
  EXPECT_TRUE(resolve("dir").get()->node->is_directory);
  const std::size_t calls = store_.calls().size();
  EXPECT_EQ(resolve("dir/107").get()->node->object.size_bytes, 7U);
  EXPECT_EQ(store_.calls().size(), calls);
  EXPECT_TRUE(resolve("dir/" + std::to_string(100 + kNamesWithDirectory)).get()->node);
  EXPECT_GT(store_.calls().size(), calls) << "the control: one that is not among them";
}

TEST_F(NameResolverTest, ASmallDirectoryIsListedByItsLookup) {
  std::vector<std::string> listed;
  const auto resolver = std::make_shared<NameResolver>(
      store_, clock_, names_, metrics_,
      [&](const std::string& prefix, std::span<const ListedName> names) {
        for (const ListedName& name : names) listed.push_back(prefix + name.name);
      });
  for (unsigned i = 0; i <= kNamesWithDirectory; ++i) {
    store_.put("large/" + std::to_string(100 + i), "");
  }
  store_.put("small/a", "");
  store_.put("small/b/c", "");
  for (const char* key : {"large", "small"}) {
    Answer<NameAnswer> answer;
    resolver->resolve(key, {}, answer.done());
    EXPECT_TRUE(answer.get()->node->is_directory);
  }
  EXPECT_EQ(listed, (std::vector<std::string>{"small/a", "small/b"}))
      << "and not the beginning of a large one";
}

TEST_F(NameResolverTest, TheNamesOfADirectoryAreAsOldAsTheQuestion) {
  store_.put("dir/file", "old");
  store_.hold();
  const auto answer = resolve("dir");
  names_.invalidate("dir/file", clock_.now() + seconds(1));  // as this mount does when it writes it
  clock_.advance(seconds(2));
  store_.release_all();
  EXPECT_TRUE(answer.get()->node->is_directory);
  EXPECT_FALSE(names_.find("dir/file"));
}

TEST_F(NameResolverTest, ANameThatIsNotThereIsAskedForAgainAfterItsOwnTtl) {
  EXPECT_FALSE(resolve("a").get()->node);
  store_.put("a", "");
  EXPECT_FALSE(resolve("a").get()->node) << "still believed absent";
  clock_.advance(seconds(5));
  EXPECT_TRUE(resolve("a").get()->node);
}

TEST_F(NameResolverTest, ConcurrentQuestionsForOneNameShareOnePairOfRequests) {
  store_.put("a", "");
  store_.hold();
  std::vector<Answer<NameAnswer>> answers;
  for (int i = 0; i < 10; ++i) answers.push_back(resolve("a"));
  const auto other = resolve("b");
  EXPECT_EQ(store_.calls().size(), 4U) << "a pair for a, a pair for b";
  store_.release_all();
  for (const auto& answer : answers) EXPECT_TRUE(answer.get()->node);
  EXPECT_FALSE(other.get()->node);
}

TEST_F(NameResolverTest, AFailureReachesAllWaitingLookupsAndIsNotKept) {
  store_.put("a", "");
  store_.hold();
  const auto first = resolve("a");
  const auto second = resolve("a");
  store_.fail_next(Operation::kList, 1, ErrorCode::kUnreachable);
  store_.release_all();
  EXPECT_EQ(first.error(), "Unreachable");
  EXPECT_EQ(second.error(), "Unreachable");
  EXPECT_EQ(resolve("a").error(), "");
}

// The kernel looks an expired name up twice in one system call where the first attempt fails.
TEST_F(NameResolverTest, AFailureThatTookLongIsTheAnswerToTheLookupThatFollows) {
  store_.put("a", "");
  ASSERT_TRUE(resolve("a").get()->node);
  clock_.advance(seconds(30));
  store_.hold();
  const auto first = resolve("a");
  clock_.advance(seconds(30));
  store_.fail_next(Operation::kList, 1, ErrorCode::kTimedOut);
  store_.release_all();
  EXPECT_EQ(first.error(), "TimedOut");
  store_.forget_calls();
  EXPECT_EQ(resolve("a").error(), "TimedOut");
  EXPECT_TRUE(store_.calls().empty());
  EXPECT_FALSE(resolve("b").get()->node) << "the control: another name";
  clock_.advance(seconds(2));
  EXPECT_TRUE(resolve("a").get()->node) << "a later lookup tries again";
}

// After an outage the next call must find the server.
TEST_F(NameResolverTest, AFailureOfANameThatTheKernelNeverHadIsNotKept) {
  for (const bool was_asked_for : {false, true}) {
    if (was_asked_for) {
      ASSERT_FALSE(resolve("a").get()->node);
      clock_.advance(seconds(30));
    }
    store_.hold();
    const auto first = resolve("a");
    clock_.advance(seconds(30));
    store_.fail_next(Operation::kList, 1, ErrorCode::kTimedOut);
    store_.release_all();
    EXPECT_EQ(first.error(), "TimedOut");
    EXPECT_EQ(resolve("a").error(), "");
    clock_.advance(seconds(30));
  }
}

TEST_F(NameResolverTest, AFailureIsForgottenWithAChangeOfTheName) {
  store_.put("a", "");
  ASSERT_TRUE(resolve("a").get()->node);
  clock_.advance(seconds(30));
  store_.hold();
  const auto first = resolve("a");
  clock_.advance(seconds(30));
  store_.fail_next(Operation::kList, 1, ErrorCode::kTimedOut);
  store_.release_all();
  resolver_->invalidate("a");
  EXPECT_TRUE(resolve("a").get()->node);
}

TEST_F(NameResolverTest, AgeCountsFromTheQuestionNotFromTheAnswer) {
  store_.put("a", "");
  store_.hold();
  const auto answer = resolve("a");
  clock_.advance(seconds(20));
  store_.release_all();
  EXPECT_EQ(names_.time_left(answer.get()->seen_at), seconds(10));
}

}  // namespace
}  // namespace s3rdmafs::vfs
