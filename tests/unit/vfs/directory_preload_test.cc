// SPDX-License-Identifier: Apache-2.0
#include "vfs/directories/directory_preload.h"

#include <gtest/gtest.h>

#include "mounted_bucket.h"
#include "vfs/names/probe.h"

namespace s3rdmafs::vfs {
namespace {

constexpr std::size_t kNamesAPage = DirectoryPreload::kNamesAPage;

s3::ObjectInfo listed_file(const std::string& key) {
  return {.key = key, .etag = "\"e\"", .size_bytes = 1, .modified = {}};
}

/// A page of "d/" with these files, and another after it where there is a token.
s3::ListPage page(const std::vector<std::string>& names, const std::string& next_token = "") {
  s3::ListPage page;
  for (const std::string& name : names) page.objects.push_back(listed_file("d/" + name));
  page.next_token = next_token;
  return page;
}

class DirectoryPreloadTest : public testing::Test {
 protected:
  using Step = DirectoryPreload::Step;

  /// Looks up so many names of a directory. Returns the pages that are wanted.
  std::vector<Step> ask(std::size_t names, const std::string& prefix = "d/") {
    std::vector<Step> wanted;
    for (std::size_t i = 0; i < names; ++i) {
      if (auto step = preload_.on_asked(prefix + "x")) wanted.push_back(*std::move(step));
    }
    return wanted;
  }

  fakes::FakeClock clock_;
  fakes::FakeObjectStore store_{clock_};
  DirectoryPreload preload_{100, [this](const std::string& prefix) {
                              return std::make_shared<ListingPages>(
                                  store_, clock_, std::make_shared<ListingPages::Servers>(),
                                  prefix);
                            }};
};

TEST_F(DirectoryPreloadTest, AFewLookupsCauseNoListing) {
  EXPECT_TRUE(ask(kNamesAPage - 1).empty());
  EXPECT_TRUE(ask(kNamesAPage - 1, "e/").empty()) << "directories are counted each by itself";
}

TEST_F(DirectoryPreloadTest, ADirectoryIsListedOnceManyOfItsNamesWereAskedFor) {
  const auto wanted = ask(kNamesAPage);
  ASSERT_EQ(wanted.size(), 1U);
  EXPECT_EQ(wanted[0].prefix, "d/");
  EXPECT_EQ(wanted[0].token, "");
}

TEST_F(DirectoryPreloadTest, TheNextPageIsPaidForByNamesThatWereStillUnknown) {
  const auto first = ask(kNamesAPage);
  const auto listed = preload_.on_page(first.at(0), page({"a", "b"}, "more"), {});
  EXPECT_EQ(listed.position, 0U);
  EXPECT_EQ(listed.names.size(), 1U) << "\"b/\" may yet hide b";
  const auto second = ask(kNamesAPage);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].token, "more");
  const auto rest = preload_.on_page(second[0], page({"c"}), {});
  EXPECT_EQ(rest.position, 1U);
  EXPECT_EQ(rest.names.size(), 2U);
}

TEST_F(DirectoryPreloadTest, LookupsWhileAPageIsUnderWayPayForThoseAfterIt) {
  const auto first = ask(kNamesAPage);
  EXPECT_TRUE(ask(2 * kNamesAPage - 1).empty()) << "one page at a time";
  const auto second = preload_.on_page(first.at(0), page({"a"}, "1"), {}).next;
  ASSERT_TRUE(second);
  EXPECT_EQ(second->token, "1");
  EXPECT_FALSE(preload_.on_page(*second, page({"b"}, "2"), {}).next) << "not paid for";
}

TEST_F(DirectoryPreloadTest, FromTheThirdOnEightPagesArePaidForTogether) {
  for (const char* token : {"1", "2"}) {
    EXPECT_FALSE(preload_.on_page(ask(kNamesAPage).at(0), page({token}, token), {}).next);
  }
  EXPECT_TRUE(ask(ListingPages::kSideBySide * kNamesAPage - 1).empty());
  auto step = ask(1);
  ASSERT_EQ(step.size(), 1U);
  std::size_t pages = 1;
  for (auto next = std::optional(step[0]); next; ++pages) {
    EXPECT_EQ(next->paid_after, ListingPages::kSideBySide - pages) << "none is fetched in vain";
    const std::string token = std::to_string(100 + pages);
    next = preload_.on_page(*next, page({token}, token), {}).next;
    if (!next) break;
  }
  EXPECT_EQ(pages, ListingPages::kSideBySide);
}

TEST_F(DirectoryPreloadTest, AfterItsEndTheListingBeginsAgain) {
  EXPECT_EQ(preload_.on_page(ask(kNamesAPage).at(0), page({"a"}), {}).names.size(), 1U);
  const auto again = ask(kNamesAPage);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].token, "");
}

TEST_F(DirectoryPreloadTest, ADirectoryWithTooManyNamesIsGivenUp) {
  std::vector<std::string> names(200);
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = "f" + std::to_string(1000 + i);
  EXPECT_GT(preload_.on_page(ask(kNamesAPage).at(0), page(names, "more"), {}).names.size(), 100U);
  EXPECT_TRUE(ask(100 * kNamesAPage).empty());
  EXPECT_EQ(ask(kNamesAPage, "e/").size(), 1U) << "not the others";
}

TEST_F(DirectoryPreloadTest, AFailedPageBeginsTheDirectoryAgain) {
  const auto first = ask(kNamesAPage).at(0);
  static_cast<void>(preload_.on_page(first, page({"a"}, "more"), {}));
  preload_.on_failure(ask(kNamesAPage).at(0));
  EXPECT_EQ(ask(kNamesAPage).at(0).token, "");
}

TEST_F(DirectoryPreloadTest, APageOfAListingThatWasForgottenIsNotMixedIntoAnother) {
  const auto first = ask(kNamesAPage).at(0);
  static_cast<void>(preload_.on_page(first, page({"a"}, "more"), {}));
  const auto second = ask(kNamesAPage).at(0);
  preload_.on_failure(second);
  const auto again = ask(kNamesAPage).at(0);
  EXPECT_TRUE(preload_.on_page(second, page({"z"}), {}).names.empty());
  EXPECT_EQ(preload_.on_page(again, page({"a"}), {}).names.size(), 1U) << "the control";
}

TEST_F(DirectoryPreloadTest, ListingsThatDoNotHelpEnd) {
  std::size_t pages = 0;
  for (int i = 0; i < 1000; ++i) pages += ask(kNamesAPage, std::to_string(i) + "/").size();
  EXPECT_EQ(pages, DirectoryPreload::kPagesOnTrust);
  for (std::size_t i = 0; i < 10 * kNamesAPage; ++i) preload_.on_known();
  for (int i = 1000; i < 2000; ++i) pages += ask(kNamesAPage, std::to_string(i) + "/").size();
  EXPECT_EQ(pages, DirectoryPreload::kPagesOnTrust + 10) << "those that helped paid for more";
}

TEST_F(DirectoryPreloadTest, ForgetsRatherThanGrows) {
  for (std::size_t i = 0; i < DirectoryPreload::kDirectoriesMax; ++i) {
    ask(kNamesAPage - 1, std::to_string(i) + "/");
  }
  EXPECT_EQ(ask(1, "0/").size(), 1U) << "all are known";
  ask(1, "another/");
  EXPECT_TRUE(ask(1, "1/").empty()) << "forgotten";
}

// The whole path, through lookups.

class PreloadedBucket : public MountedBucket, public testing::Test {
 protected:
  PreloadedBucket() : MountedBucket() {
    for (int i = 0; i < kFiles; ++i) store.put(path(i), "bytes");
    directory_ = lookup(kRootIno, "d")->attributes.ino;
  }
  static std::string path(int number) { return "d/f" + std::to_string(10'000 + number); }
  std::string_view look_up(int number) {
    return error_of(lookup(directory_, path(number).substr(2)));
  }
  std::size_t requests() { return store.calls().size(); }

  static constexpr int kFiles = 2500;
  Ino directory_ = 0;
};

TEST_F(PreloadedBucket, ThousandsOfNamesAskedForOneByOneCostFewRequests) {
  const std::size_t before = requests();
  // 7 and 2500 have no common divisor: all names once, in no order.
  for (int i = 0; i < kFiles; ++i) EXPECT_EQ(look_up(i * 7 % kFiles), "");
  EXPECT_LT(requests() - before, 400U) << "without listings 5,000";
}

TEST_F(PreloadedBucket, ANameListedAheadIsBelievedNoLongerThanAnyName) {
  for (int i = 0; i < kFiles; ++i) look_up(i);
  store.remove(path(2000));
  EXPECT_EQ(look_up(2000), "") << "as after a listing by hand";
  clock.advance(kTtl);
  EXPECT_EQ(look_up(2000), "NotFound");
}

TEST_F(PreloadedBucket, NamesThatAreNotThereCauseNoListing) {
  const std::size_t before = store.count(Operation::kList);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(error_of(lookup(directory_, "no" + std::to_string(i))), "NotFound");
  EXPECT_EQ(store.count(Operation::kList) - before, 100U) << "one a probe";
}

TEST_F(PreloadedBucket, AFailedListingFailsNoLookupAndIsTriedAgain) {
  std::size_t failed = 0;
  store.fail_if([&](const fakes::FakeObjectStore::Call& call) -> std::optional<s3::GetFailure> {
    if (call.operation != Operation::kList || call.key != "d/") return std::nullopt;
    ++failed;
    return s3::GetFailure{.error = {ErrorCode::kUnreachable, "down"}};
  });
  for (int i = 0; i < 100; ++i) EXPECT_EQ(look_up(i), "");
  EXPECT_EQ(failed, (100 - kNamesWithDirectory) / kNamesAPage);
  store.fail_if({});
  for (int i = 100; i < kFiles; ++i) EXPECT_EQ(look_up(i), "");
  EXPECT_LT(requests(), 700U);
}

TEST_F(DirectoryPreloadTest, APageThatRepeatsItsTokenEndsTheListing) {
  const auto first = ask(kNamesAPage);
  (void)preload_.on_page(first.at(0), page({"a", "b"}, "more"), {});
  const auto second = ask(kNamesAPage);
  const auto listed = preload_.on_page(second.at(0), page({"c", "d"}, "more"), {});
  EXPECT_TRUE(listed.names.empty());
  const auto third = ask(kNamesAPage);
  ASSERT_EQ(third.size(), 1U);
  EXPECT_EQ(third[0].token, "") << "the directory is listed from its beginning";
}

}  // namespace
}  // namespace s3rdmafs::vfs
