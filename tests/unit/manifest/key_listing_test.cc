// SPDX-License-Identifier: Apache-2.0
// A listing by many threads finds what a listing by one finds.
#include "manifest/key_listing.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "fakes/eventually.h"
#include "fakes/fake_clock.h"
#include "fakes/s3/fake_object_store.h"
#include "manifest_rig.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::manifest {
namespace {

/// Hands listings on, changed as a test needs it.
class ListingServer : public s3::ObjectStore {
 public:
  explicit ListingServer(s3::ObjectStore& store) : store_(store) {}

  void head(std::string key, Deadline deadline, Done<s3::ObjectInfo> done) override {
    store_.head(std::move(key), deadline, std::move(done));
  }
  void list(s3::ListRequest request, Deadline deadline, Done<s3::ListPage> done) override {
    ++lists;
    if (ignores_start_after) request.start_after.clear();
    const bool meets = ++in_flight_ > 1;
    if (meets) have_met = true;
    // The first page and the first split have to be asked for by one thread.
    if (waits_for_another && lists > 2) {
      EXPECT_TRUE(fakes::eventually([this] { return have_met.load(); }));
    }
    store_.list(std::move(request), deadline, [this, &done](Result<s3::ListPage> page) {
      if (page && reverses) std::ranges::reverse(page->objects);
      --in_flight_;
      done(std::move(page));
    });
  }
  void get(s3::GetRequest request, Deadline deadline, s3::GetDone done) override {
    store_.get(std::move(request), deadline, std::move(done));
  }
  void shut_down() override { store_.shut_down(); }

  bool ignores_start_after = false;
  bool reverses = false;
  bool waits_for_another = false;
  std::atomic<bool> have_met = false;
  std::atomic<std::size_t> lists = 0;

 private:
  s3::ObjectStore& store_;
  std::atomic<int> in_flight_ = 0;
};

class KeyListingTest : public testing::Test {
 protected:
  Result<ListingProgress> list(unsigned jobs, const std::string& prefix = "") {
    {
      const MutexLock lock(mutex_);
      listed_.clear();
      found_ = 0;
    }
    return list_keys(
        server_, clock_, {.prefix = prefix, .jobs = jobs},
        [this](std::vector<s3::ObjectInfo> objects) -> Result<void> {
          const MutexLock lock(mutex_);
          for (s3::ObjectInfo& object : objects) listed_.insert(std::move(object.key));
          found_ += objects.size();
          return {};
        },
        [](const ListingProgress&) {});
  }
  std::set<std::string> listed() {
    const MutexLock lock(mutex_);
    return listed_;
  }
  std::size_t found() {
    const MutexLock lock(mutex_);
    return found_;
  }
  std::set<std::string> fill(unsigned seed, std::size_t count, const std::string& prefix) {
    RandomKeys random(seed);
    std::set<std::string> below;
    for (std::size_t n = 0; n < count; ++n) {
      const std::string key = random.key() + random.text(random.below(6));
      store_.put(key, "x");
      if (key.starts_with(prefix)) below.insert(key);
    }
    return below;
  }

  fakes::FakeClock clock_;
  fakes::FakeObjectStore store_{clock_};
  ListingServer server_{store_};

 private:
  Mutex mutex_;  // leaf
  std::set<std::string> listed_ GUARDED_BY(mutex_);
  std::size_t found_ GUARDED_BY(mutex_) = 0;
};

TEST_F(KeyListingTest, FindsEveryKeyOnceWhateverTheTreeAndTheNumberOfThreads) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const std::string prefix = seed % 3 == 0 ? "a" : "";
    const auto model = fill(seed, 150 * (seed % 4), prefix);
    std::set<std::string> all = model;
    store_.set_page_keys_max(1 + seed % 5);
    for (const unsigned jobs : {1U, 2U, 7U}) {
      const auto progress = list(jobs, prefix);
      ASSERT_TRUE(progress) << progress.error().detail;
      // Keys of the seeds before are there too.
      EXPECT_TRUE(std::ranges::includes(listed(), model)) << "seed " << seed << ", jobs " << jobs;
      EXPECT_EQ(found(), listed().size()) << "a key came twice";
      EXPECT_EQ(progress->keys, found());
      if (jobs == 1) all = listed();
      EXPECT_EQ(listed(), all) << "seed " << seed << ", jobs " << jobs;
    }
  }
}

TEST_F(KeyListingTest, ThreadsListSideBySideAtFewRequestsMore) {
  for (int directory = 0; directory < 40; ++directory) {
    for (int file = 0; file < 50; ++file) {
      store_.put("d" + std::to_string(directory) + "/" + std::to_string(file), "x");
    }
  }
  store_.set_page_keys_max(20);
  ASSERT_TRUE(list(1));
  const std::size_t alone = server_.lists.exchange(0);
  EXPECT_FALSE(server_.have_met) << "the control";
  server_.waits_for_another = true;
  ASSERT_TRUE(list(4));
  EXPECT_TRUE(server_.have_met);
  EXPECT_EQ(found(), 2000U);
  EXPECT_LT(server_.lists, 2 * alone);
}

TEST_F(KeyListingTest, AFlatDirectoryCostsHardlyMoreThanOneListing) {
  for (int file = 0; file < 1000; ++file) store_.put("d/" + std::to_string(file), "x");
  store_.set_page_keys_max(10);
  ASSERT_TRUE(list(8));
  EXPECT_EQ(found(), 1000U);
  EXPECT_LE(server_.lists, 100U + 20U) << "pages, and fewer and fewer trials";
}

TEST_F(KeyListingTest, AServerThatIgnoresStartAfterIsListedAllTheSame) {
  const auto model = fill(3, 400, "");
  store_.set_page_keys_max(5);
  server_.ignores_start_after = true;
  const auto progress = list(4);
  ASSERT_TRUE(progress) << progress.error().detail;
  EXPECT_EQ(listed(), model);
  EXPECT_EQ(progress->keys, model.size()) << "of the listing that counts";
}

TEST_F(KeyListingTest, AServerWithoutOrderIsRefused) {
  fill(4, 100, "");
  server_.reverses = true;
  EXPECT_EQ(error_of(list(4)), "Protocol");
}

TEST_F(KeyListingTest, TheFirstErrorEndsAllThreads) {
  fill(5, 400, "");
  store_.set_page_keys_max(5);
  std::atomic<int> lists = 0;
  store_.fail_if([&lists](const auto&) -> std::optional<s3::GetFailure> {
    if (++lists < 20) return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kAccessDenied, "no"}};
  });
  EXPECT_EQ(error_of(list(4)), "AccessDenied");
  const auto refused = list_keys(
      server_, clock_, {.prefix = "", .jobs = 2},
      [](const auto&) -> Result<void> { return fail(ErrorCode::kSystem, "disk full"); },
      [](const auto&) {});
  EXPECT_FALSE(refused);
}

}  // namespace
}  // namespace s3rdmafs::manifest
