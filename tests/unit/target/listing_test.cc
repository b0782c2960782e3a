// SPDX-License-Identifier: Apache-2.0
#include "target/store/listing.h"

#include <algorithm>
#include <set>

#include "target_fixture.h"

namespace s3rdmafs::target {
namespace {

class ListingTest : public TargetTest {
 protected:
  void add(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) write_file(folder("bucket") / key, key);
    keys_.insert(keys.begin(), keys.end());
  }

  ListPage list(const ListQuery& query) {
    const auto bucket = services_->store.open_bucket("bucket");
    return list_keys(bucket.value(), snapshots_, query).value();
  }

  /// All pages of a listing, keys and common prefixes in one order; prefixes end in " (prefix)".
  std::vector<std::string> list_all(ListQuery query) {
    std::vector<std::string> all;
    for (;;) {
      const ListPage page = list(query);
      std::vector<std::pair<std::string, std::string>> shown;
      for (const auto& object : page.objects) shown.emplace_back(object.key, object.key);
      for (const auto& common : page.common_prefixes) {
        shown.emplace_back(common, common + " (prefix)");
      }
      std::ranges::sort(shown);
      for (const auto& [key, text] : shown) all.push_back(text);
      if (!page.is_truncated) return all;
      EXPECT_EQ(shown.back().first, page.last);
      EXPECT_LE(shown.size(), query.max_keys);
      query.after = page.last;
    }
  }

  /// The listing that S3 prescribes, from the plain set of keys: the rule itself, without a tree.
  std::vector<std::string> expected(const ListQuery& query) const {
    std::vector<std::string> all;
    for (const std::string& key : keys_) {
      if (!key.starts_with(query.prefix) || key <= query.after) continue;
      const std::size_t at = query.delimiter.empty()
                                 ? std::string::npos
                                 : key.find(query.delimiter, query.prefix.size());
      if (at == std::string::npos) {
        all.push_back(key);
        continue;
      }
      const std::string common = key.substr(0, at + query.delimiter.size());
      if (common == query.after) continue;
      if (all.empty() || all.back() != common + " (prefix)") all.push_back(common + " (prefix)");
    }
    return all;
  }

  std::set<std::string> keys_;
};

TEST_F(ListingTest, IsInByteOrderAlthoughFoldersSortDifferentlyFromTheirNames) {
  // '-' < '/' < '0': the folder "a" sorts between "a-b" and "a0", not before them.
  add({"a-b", "a/x", "a0", "a.b", "A", "ä"});
  EXPECT_EQ(list_all({}), (std::vector<std::string>{"A", "a-b", "a.b", "a/x", "a0", "ä"}));
}

TEST_F(ListingTest, EqualsTheRuleForEveryPrefixDelimiterMarkerAndPageSize) {
  add({"a", "a-b", "b/1", "b/2", "b/c/1", "b/c/2", "b/c/d/e", "b0", "b-", "c/x", "cc/x", "d--x/y",
       "d--y", "z"});
  // Some are paths of the file system, but of no key.
  const std::vector<std::string> texts{"",  "a", "b",  "b/",   "b/c",     "b/c/", "b/c/1", "c",
                                       "x", "/", "./", "b//c", "b/../a/", "b/./", "zz"};
  for (const std::string& prefix : texts) {
    for (const std::string delimiter : {"", "/", "-", "--", "c/", "x"}) {
      for (const std::string& after : texts) {
        const ListQuery whole{.prefix = prefix, .delimiter = delimiter, .after = after};
        for (const std::size_t page : {std::size_t{1}, std::size_t{2}, std::size_t{1000}}) {
          ListQuery query = whole;
          query.max_keys = page;
          EXPECT_EQ(list_all(query), expected(whole))
              << "prefix " << prefix << " delimiter " << delimiter << " after " << after;
        }
      }
    }
  }
}

TEST_F(ListingTest, AFolderThatWasNeverPutIsNotAKeyAndAnEmptyOneNotAPrefix) {
  add({"full/file"});
  std::filesystem::create_directories(folder("bucket/empty/deep"));
  EXPECT_EQ(list_all({.delimiter = "/"}), (std::vector<std::string>{"full/ (prefix)"}));
  EXPECT_EQ(list_all({}), (std::vector<std::string>{"full/file"}));
}

TEST_F(ListingTest, AFolderThatWasPutIsAKey) {
  add({"a/file"});
  ASSERT_EQ(send({.method = "PUT", .target = "/bucket/a/"}).status, 200);
  ASSERT_EQ(send({.method = "PUT", .target = "/bucket/b/"}).status, 200);
  EXPECT_EQ(list_all({}), (std::vector<std::string>{"a/", "a/file", "b/"}));
  EXPECT_EQ(list_all({.prefix = "a/", .delimiter = "/"}),
            (std::vector<std::string>{"a/", "a/file"}));
  EXPECT_EQ(list_all({.delimiter = "/"}), (std::vector<std::string>{"a/ (prefix)", "b/ (prefix)"}));
}

TEST_F(ListingTest, ShowsWhatWasAddedSinceALargeFolderWasCached) {
  for (int i = 0; i < 300; ++i) write_file(folder("bucket") / std::to_string(1000 + i), "");
  // Old enough to be cached; the control below shows that it was.
  std::filesystem::last_write_time(
      folder("bucket"), std::filesystem::file_time_type::clock::now() - std::chrono::years(10));
  EXPECT_EQ(list_all({}).size(), 300U);
  const auto bucket = services_->store.open_bucket("bucket");
  EXPECT_EQ(snapshots_.get(bucket->folder()).value(), snapshots_.get(bucket->folder()).value());
  write_file(folder("bucket/new"), "");
  EXPECT_EQ(list_all({}).size(), 301U);
}

TEST_F(ListingTest, HidesNamesThatXmlCannotCarryUnlessTheyAreEncoded) {
  add({"good", "bad\xFF"});
  EXPECT_EQ(list_all({}), (std::vector<std::string>{"good"}));
  EXPECT_EQ(list_all({.include_non_utf8 = true}), (std::vector<std::string>{"bad\xFF", "good"}));
  ASSERT_EQ(send({.method = "PUT", .target = "/bucket/worse%FF/"}).status, 200);
  EXPECT_EQ(list_all({.prefix = "worse\xFF/"}), std::vector<std::string>{});
  EXPECT_EQ(list_all({.prefix = "worse\xFF/", .include_non_utf8 = true}),
            std::vector<std::string>{"worse\xFF/"});
}

TEST_F(ListingTest, VersionTwoPagesWithItsToken) {
  add({"k1", "k2", "k3"});
  const std::string first =
      body(send({.method = "GET", .target = "/bucket?list-type=2&max-keys=2"}));
  EXPECT_EQ(between(first, "<IsTruncated>", "<"), "true");
  EXPECT_EQ(between(first, "<KeyCount>", "<"), "2");
  const std::string token = between(first, "<NextContinuationToken>", "<");
  const std::string second =
      body(send({.method = "GET", .target = "/bucket?list-type=2&continuation-token=" + token}));
  EXPECT_EQ(between(second, "<IsTruncated>", "<"), "false");
  EXPECT_EQ(between(second, "<Key>", "<"), "k3");
  EXPECT_EQ(code(send({.method = "GET", .target = "/bucket?list-type=2&continuation-token=zz"})),
            "InvalidArgument");
}

}  // namespace
}  // namespace s3rdmafs::target
