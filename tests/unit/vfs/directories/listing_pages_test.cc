// SPDX-License-Identifier: Apache-2.0
#include "vfs/directories/pages/listing_pages.h"

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "answer.h"
#include "fakes/fake_clock.h"
#include "fakes/s3/fake_object_store.h"
#include "vfs/directories/listing_cursor.h"

namespace s3rdmafs::vfs {
namespace {

using Operation = fakes::FakeObjectStore::Operation;

class ListingPagesTest : public testing::Test {
 protected:
  std::shared_ptr<ListingPages> open(const std::string& prefix, std::size_t page_keys_min = 1) {
    servers_->page_keys_min = page_keys_min;
    return std::make_shared<ListingPages>(store_, clock_, servers_, prefix);
  }
  static Answer<ListingPages::Page> get(ListingPages& pages, const std::string& token,
                                        std::size_t ahead_max = ListingPages::kSideBySide) {
    Answer<ListingPages::Page> answer;
    pages.get(token, ahead_max, {}, answer.done());
    return answer;
  }
  /// Keys and common prefixes as a listing gives them out.
  static std::vector<std::string> all_of(ListingPages& pages) {
    std::vector<std::string> names;
    ListingCursor cursor;
    while (!cursor.is_at_end()) {
      const auto answer = get(pages, cursor.token());
      EXPECT_EQ(answer.error(), "");
      if (!answer.error().empty()) return names;
      const s3::ListPage& page = answer.get()->page;
      std::vector<std::string> of_page = page.common_prefixes;
      for (const s3::ObjectInfo& object : page.objects) of_page.push_back(object.key);
      std::ranges::sort(of_page);
      names.insert(names.end(), of_page.begin(), of_page.end());
      EXPECT_TRUE(cursor.pass(page));
    }
    return names;
  }
  std::size_t lists() const { return store_.count(Operation::kList); }
  void put(int count, const std::function<std::string(int)>& name) {
    for (int i = 0; i < count; ++i) store_.put("d/" + name(i), "");
  }

  fakes::FakeClock clock_;
  fakes::FakeObjectStore store_{clock_};
  std::shared_ptr<ListingPages::Servers> servers_ = std::make_shared<ListingPages::Servers>();
};

TEST_F(ListingPagesTest, ALargeFlatDirectoryIsFetchedSideBySide) {
  put(20'000, [](int i) { return fmt::format("image-{:07}.jpg", i); });
  const auto pages = open("d/", 100);
  std::string token;
  for (int page = 1; page <= 2; ++page) {
    token = get(*pages, token).get()->page.next_token;
    EXPECT_EQ(lists(), static_cast<std::size_t>(page)) << "until it has shown that it is large";
  }
  store_.hold();
  const auto third = get(*pages, token);
  EXPECT_EQ(store_.held().size(), ListingPages::kSideBySide);
  store_.release(7);
  EXPECT_FALSE(third.has_come()) << "in order, whatever comes first";
  store_.release_all();
  EXPECT_EQ(third.get()->page.objects.front().key, "d/image-0002000.jpg");
}

TEST_F(ListingPagesTest, NoPageIsFetchedBeyondThoseThatAreAllowedAhead) {
  put(20'000, [](int i) { return fmt::format("{:05}", i); });
  const auto pages = open("d/");
  std::string token;
  for (int page = 1; page <= 2; ++page) token = get(*pages, token).get()->page.next_token;
  for (const std::size_t ahead_max : {3U, 2U, 1U, 0U}) {
    token = get(*pages, token, ahead_max).get()->page.next_token;
    EXPECT_EQ(lists(), 2U + 4U) << ahead_max;
  }
  token = get(*pages, token, 0).get()->page.next_token;
  EXPECT_EQ(lists(), 7U) << "the one that is asked for";
  get(*pages, token);
  EXPECT_GT(lists(), 7U + 7U) << "the control";
}

TEST_F(ListingPagesTest, AllNamesComeHoweverFewPagesAreAllowedAhead) {
  // Its end is denser than its beginning, so that slots become several pages.
  put(9'000, [](int i) { return fmt::format("{:08}", i < 4'000 ? i * 100 : 400'000 + i); });
  for (std::size_t seed = 0; seed < 20; ++seed) {
    const auto pages = open("d/");
    std::mt19937 random(seed);
    std::size_t names = 0;
    ListingCursor cursor;
    while (!cursor.is_at_end()) {
      const auto answer = get(*pages, cursor.token(), random() % 9);
      ASSERT_TRUE(answer.has_come());
      ASSERT_EQ(answer.error(), "");
      names += answer.get()->page.objects.size();
      ASSERT_TRUE(cursor.pass(answer.get()->page));
    }
    EXPECT_EQ(names, 9'000U) << seed;
  }
}

TEST_F(ListingPagesTest, ManyNamesMadeByProgramsCostHardlyMoreRequestsThanPages) {
  const std::function<std::string(int)> kinds[] = {
      [](int i) { return fmt::format("{:06}", i); },
      [](int i) { return fmt::format("part-{:05}-of-50000.parquet", i); },
      [](int i) { return fmt::format("{:08x}.bin", static_cast<unsigned>(i) * 2'654'435'761U); },
  };
  for (const auto& name : kinds) {
    put(20'000, name);
    store_.forget_calls();
    EXPECT_EQ(all_of(*open("d/")).size(), 20'000U);
    EXPECT_LE(lists(), 32U) << name(1) << ": 20 pages";
    for (int i = 0; i < 20'000; ++i) store_.remove("d/" + name(i));
  }
}

TEST_F(ListingPagesTest, ASmallDirectoryIsFetchedSerially) {
  put(1500, [](int i) { return std::to_string(i); });
  EXPECT_EQ(all_of(*open("d/")).size(), 1500U);
  EXPECT_EQ(lists(), 2U);
}

TEST_F(ListingPagesTest, APageThatFailsMayBeAskedForAgain) {
  put(20'000, [](int i) { return fmt::format("{:05}", i); });
  const auto pages = open("d/");
  std::vector<std::string> keys;
  const auto keep = [&keys](const Answer<ListingPages::Page>& answer) {
    for (const auto& object : answer.get()->page.objects) keys.push_back(object.key);
    return answer.get()->page.next_token;
  };
  std::string token;
  for (int page = 1; page <= 3; ++page) token = keep(get(*pages, token));
  store_.fail_if(
      [](const auto&) { return s3::GetFailure{.error = {ErrorCode::kUnreachable, ""}}; });
  Answer<ListingPages::Page> answer = get(*pages, token);
  for (; answer.error().empty(); answer = get(*pages, token)) token = keep(answer);
  EXPECT_EQ(answer.error(), "Unreachable") << "after those that were fetched before";
  store_.fail_if({});
  while (!token.empty()) {
    answer = get(*pages, token);
    ASSERT_EQ(answer.error(), "");
    token = keep(answer);
  }
  EXPECT_EQ(keys.size(), 20'000U) << "none twice, none missing";
  EXPECT_TRUE(std::ranges::is_sorted(keys));
}

TEST_F(ListingPagesTest, AReaderWhosePageIsThereWaitsForNoRequestThatHasFailed) {
  put(20'000, [](int i) { return fmt::format("{:05}", i); });
  const auto pages = open("d/");
  std::string token;
  for (int page = 1; page <= 2; ++page) token = get(*pages, token).get()->page.next_token;
  store_.hold();
  const auto third = get(*pages, token);
  ASSERT_EQ(store_.held().size(), ListingPages::kSideBySide);
  store_.release(0);
  EXPECT_FALSE(third.has_come()) << "the control: no other has shown that it begins where told";
  const std::size_t asked = lists();
  while (store_.fail_held(0, {.error = {ErrorCode::kUnreachable, "failed by the test"}})) {
  }
  ASSERT_TRUE(third.has_come());
  token = third.get()->page.next_token;
  EXPECT_EQ(third.get()->page.objects.front().key, "d/02000");
  EXPECT_EQ(lists(), asked) << "none is sent again without a pause";
  store_.release_all();
  EXPECT_GT(get(*pages, token).get()->page.objects.front().key,
            third.get()->page.objects.back().key);
}

/// A server whose pages are in order until the test says otherwise.
class LosesItsOrder final : public s3::ObjectStore {
 public:
  explicit LosesItsOrder(s3::ObjectStore& store) : store_(store) {}
  void head(std::string key, Deadline deadline, Done<s3::ObjectInfo> done) override {
    store_.head(std::move(key), deadline, std::move(done));
  }
  void list(s3::ListRequest request, Deadline deadline, Done<s3::ListPage> done) override {
    store_.list(std::move(request), deadline,
                [this, done = std::move(done)](Result<s3::ListPage> page) mutable {
                  if (page && is_lost) std::ranges::reverse(page->objects);
                  done(std::move(page));
                });
  }
  void get(s3::GetRequest request, Deadline deadline, s3::GetDone done) override {
    store_.get(std::move(request), deadline, std::move(done));
  }
  void shut_down() override {}

  bool is_lost = false;

 private:
  s3::ObjectStore& store_;
};

TEST_F(ListingPagesTest, AServerThatLosesItsOrderFailsOneListing) {
  put(20'000, [](int i) { return fmt::format("{:05}", i); });
  LosesItsOrder server(store_);
  const auto pages = std::make_shared<ListingPages>(server, clock_, servers_, "d/");
  std::string token;
  for (int page = 1; page <= 3; ++page) token = get(*pages, token).get()->page.next_token;
  server.is_lost = true;
  Answer<ListingPages::Page> answer = get(*pages, token);
  for (; answer.error().empty(); answer = get(*pages, token)) {
    token = answer.get()->page.next_token;
    ASSERT_FALSE(token.empty()) << "names are missing";
  }
  EXPECT_EQ(answer.error(), "Protocol");
  EXPECT_EQ(get(*pages, token).error(), "Protocol") << "it stays lost";
  EXPECT_FALSE(servers_->list_in_order);
  server.is_lost = false;
  EXPECT_EQ(all_of(*std::make_shared<ListingPages>(server, clock_, servers_, "d/")).size(),
            20'000U);
}

TEST_F(ListingPagesTest, AnAnswerIsAsOldAsItsQuestion) {
  put(20'000, [](int i) { return fmt::format("{:05}", i); });
  const auto pages = open("d/");
  std::string token;
  for (int page = 1; page <= 3; ++page) token = get(*pages, token).get()->page.next_token;
  const SeenAt asked = clock_.now();
  clock_.advance(std::chrono::seconds(5));
  EXPECT_EQ(get(*pages, token).get()->seen_at, asked) << "it was fetched beside the page before";
}

/// A server that takes no notice of start-after, or refuses it.
class IgnoresStartAfter final : public s3::ObjectStore {
 public:
  explicit IgnoresStartAfter(s3::ObjectStore& store, std::optional<ErrorCode> refusal = {})
      : store_(store), refusal_(refusal) {}
  void head(std::string key, Deadline deadline, Done<s3::ObjectInfo> done) override {
    store_.head(std::move(key), deadline, std::move(done));
  }
  void list(s3::ListRequest request, Deadline deadline, Done<s3::ListPage> done) override {
    if (refusal_ && !request.start_after.empty()) {
      return done(fail(*refusal_, "refused by the test"));
    }
    request.start_after.clear();
    store_.list(std::move(request), deadline, std::move(done));
  }
  void get(s3::GetRequest request, Deadline deadline, s3::GetDone done) override {
    store_.get(std::move(request), deadline, std::move(done));
  }
  void shut_down() override {}

 private:
  s3::ObjectStore& store_;
  const std::optional<ErrorCode> refusal_;
};

TEST_F(ListingPagesTest, AServerThatRefusesStartAfterIsListedSerially) {
  put(20'000, [](int i) { return fmt::format("{:05}", i); });
  for (const ErrorCode refusal : {ErrorCode::kInvalidArgument, ErrorCode::kUnsupported}) {
    servers_->list_in_order = true;
    IgnoresStartAfter server(store_, refusal);
    EXPECT_EQ(all_of(*std::make_shared<ListingPages>(server, clock_, servers_, "d/")).size(),
              20'000U);
    EXPECT_FALSE(servers_->list_in_order);
  }
}

TEST_F(ListingPagesTest, AServerThatIgnoresStartAfterIsFoundOut) {
  put(20'000, [](int i) { return fmt::format("{:05}", i); });
  IgnoresStartAfter server(store_);
  const auto list = [&] {
    const auto pages = std::make_shared<ListingPages>(server, clock_, servers_, "d/");
    std::vector<std::string> keys;
    std::string token;
    std::string error;
    do {
      const auto answer = get(*pages, token);
      error = answer.error();
      if (!error.empty()) break;
      token = answer.get()->page.next_token;
      for (const auto& object : answer.get()->page.objects) keys.push_back(object.key);
    } while (!token.empty());
    return std::pair(keys.size(), error);
  };
  EXPECT_EQ(list(), std::pair(std::size_t{20'000}, std::string())) << "before it did harm";
  EXPECT_FALSE(servers_->list_in_order);
  store_.forget_calls();
  EXPECT_EQ(list(), std::pair(std::size_t{20'000}, std::string()));
  EXPECT_EQ(lists(), 20U) << "one page after another from then on";
}

std::string random_name(std::mt19937& random, int kind) {
  const auto any = [&](std::string_view of, std::size_t length_max) {
    std::string name;
    for (std::size_t i = 1 + random() % length_max; i > 0; --i) name += of[random() % of.size()];
    return name;
  };
  static const std::string bytes = [] {
    std::string all;
    for (int each = 1; each < 256; ++each) all += static_cast<char>(each);
    return all;
  }();
  switch (kind) {
    case 0:
      return fmt::format("{:07}", random() % 100'000);
    case 1:
      return any(bytes, 12);
    case 2:
      return any("ab", 20);
    case 3:
      return fmt::format("{}", random() % 100'000);
    case 4:
      return any("\x01\xff", 30);
    case 5:
      return any("abcdef0123456789", 16) + "/" + any("xy", 3);
    default:
      return std::string(random() % 200, 'z') + any("/z\xff", 4);
  }
}

TEST_F(ListingPagesTest, EqualsTheSerialListingForAnyKeysAndPages) {
  std::mt19937 random(20'13);
  int rounds_side_by_side = 0;
  for (int round = 0; round < 60; ++round) {
    fakes::FakeObjectStore store(clock_);
    const int kinds = 1 + static_cast<int>(random() % 3);
    const int first_kind = static_cast<int>(random() % 7);
    for (std::size_t i = random() % 1500; i > 0; --i) {
      const int kind = (first_kind + static_cast<int>(random()) % kinds + 7) % 7;
      store.put("d/" + random_name(random, kind), "");
    }
    store.set_page_keys_max(1 + random() % (random() % 2 == 0 ? 8 : 200));
    if (random() % 8 == 0) store.ignore_delimiters();
    const auto serial_servers = std::make_shared<ListingPages::Servers>();
    serial_servers->list_in_order = false;
    const auto serial =
        all_of(*std::make_shared<ListingPages>(store, clock_, serial_servers, "d/"));
    const std::size_t serial_lists = store.count(Operation::kList);
    const auto servers = std::make_shared<ListingPages::Servers>();
    servers->page_keys_min = 1;
    const auto parallel = all_of(*std::make_shared<ListingPages>(store, clock_, servers, "d/"));
    EXPECT_EQ(parallel, serial) << "round " << round;
    EXPECT_TRUE(servers->list_in_order) << "round " << round;
    rounds_side_by_side += store.count(Operation::kList) > 2 * serial_lists ? 1 : 0;
  }
  EXPECT_GT(rounds_side_by_side, 3) << "the control: guesses cost requests";
}

}  // namespace
}  // namespace s3rdmafs::vfs
