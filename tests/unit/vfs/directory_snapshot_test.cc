// SPDX-License-Identifier: Apache-2.0
#include "vfs/directories/directory_snapshot.h"

#include <gtest/gtest.h>

#include "answer.h"
#include "snapshot_rig.h"

namespace s3rdmafs::vfs {
namespace {

using ListedNames = std::vector<ListedName>;

class DirectorySnapshotTest : public testing::Test {
 protected:
  std::shared_ptr<DirectorySnapshot> open(std::string prefix) {
    return std::make_shared<DirectorySnapshot>(rig_.context(), std::move(prefix), "");
  }
  // The names "1" to `count`, two keys a page.
  std::shared_ptr<DirectorySnapshot> open_in_pages_of_two(int count) {
    store_.set_page_keys_max(2);
    for (int i = 1; i <= count; ++i) store_.put(std::to_string(i), "");
    return open("");
  }
  // After a first read, a read further on waits for the page that is held.
  Answer<ListedNames> read_on(DirectorySnapshot& handle) {
    (void)read(handle, 0);
    store_.hold();
    return read(handle, 3);
  }
  static Answer<ListedNames> read(DirectorySnapshot& handle, std::uint64_t offset,
                                  std::size_t max = 100) {
    Answer<ListedNames> answer;
    handle.read(offset, max, {}, answer.done());
    return answer;
  }
  static std::string text(const Answer<ListedNames>& answer) {
    if (!answer.error().empty()) return std::string(answer.error());
    std::string text;
    for (const ListedName& listed : *answer.get()) text += listed.name + " ";
    return text;
  }
  std::size_t lists() const { return store_.count(Operation::kList); }

  SnapshotRig rig_;
  fakes::FakeClock& clock_ = rig_.clock;
  fakes::FakeObjectStore& store_ = rig_.store;
};

TEST_F(DirectorySnapshotTest, BeginsWithDotAndDotDotAndEndsWithNothing) {
  store_.put("d/x", "");
  store_.put("d/y", "");
  const auto handle = open("d/");
  EXPECT_EQ(text(read(*handle, 0)), ". .. x y ");
  EXPECT_EQ(text(read(*handle, 1, 2)), ".. x ");
  EXPECT_EQ(text(read(*handle, 4)), "");
  EXPECT_EQ(text(read(*handle, 1000)), "");
  EXPECT_EQ(handle->listed(0, 1).at(0).node.object.key, "d/");
  EXPECT_EQ(handle->listed(1, 1).at(0).node.object.key, "");
  EXPECT_TRUE(handle->listed(4, 1).empty());
}

TEST_F(DirectorySnapshotTest, ALookAtADirectoryListsOnePage) {
  const auto handle = open_in_pages_of_two(6);
  EXPECT_EQ(lists(), 0U);
  EXPECT_EQ(text(read(*handle, 0)), ". .. 1 ") << "2 is undecided until the next page";
  EXPECT_EQ(text(read(*handle, 1)), ".. 1 ");
  EXPECT_EQ(lists(), 1U);
}

TEST_F(DirectorySnapshotTest, AReaderThatGoesOnHasTheNextPageListedAhead) {
  const auto handle = open_in_pages_of_two(8);
  const auto on = read_on(*handle);
  EXPECT_EQ(lists(), 2U);
  store_.release();
  EXPECT_EQ(text(on), "2 3 ");
  EXPECT_EQ(lists(), 3U) << "before anybody asks for it";
  EXPECT_EQ(text(read(*handle, 4)), "3 ") << "what is there is not kept back";
  const auto next = read(*handle, 5);
  EXPECT_EQ(lists(), 3U) << "one page at a time, whoever wants it";
  store_.release();
  EXPECT_EQ(text(next), "4 5 ");
}

TEST_F(DirectorySnapshotTest, APageAheadThatFailedIsAskedForAgainByTheReaderThatNeedsIt) {
  const auto handle = open_in_pages_of_two(6);
  const auto on = read_on(*handle);
  store_.release();
  EXPECT_EQ(text(on), "2 3 ");
  store_.fail_held(0, {.error = {ErrorCode::kUnreachable, "failed by the test"}});
  const auto next = read(*handle, 5);
  store_.release();
  EXPECT_EQ(text(next), "4 5 6 ");
}

TEST_F(DirectorySnapshotTest, AReaderThatWaitsForAPageAheadThatFailsAsksOnceMore) {
  const auto handle = open_in_pages_of_two(6);
  (void)read_on(*handle);
  store_.release();
  const auto next = read(*handle, 5);
  store_.fail_held(0, {.error = {ErrorCode::kTimedOut, "failed by the test"}});
  EXPECT_EQ(text(next), "pending") << "the deadline was another read's";
  EXPECT_EQ(lists(), 4U);
  store_.fail_held(0, {.error = {ErrorCode::kTimedOut, "failed by the test"}});
  EXPECT_EQ(text(next), "TimedOut") << "the control: this one was its own";
}

TEST_F(DirectorySnapshotTest, APageThatIsNotAheadAndFailsIsNotAskedForTwice) {
  const auto handle = open_in_pages_of_two(6);
  const auto on = read_on(*handle);
  store_.fail_held(0, {.error = {ErrorCode::kUnreachable, "failed by the test"}});
  EXPECT_EQ(text(on), "Unreachable");
  EXPECT_EQ(lists(), 2U);
}

TEST_F(DirectorySnapshotTest, GoingBackGivesTheSameAlthoughTheBucketChanged) {
  const auto handle = open_in_pages_of_two(4);
  EXPECT_EQ(text(read(*handle, 0)), ". .. 1 ");
  store_.remove("1");
  store_.put("0", "");
  EXPECT_EQ(text(read(*handle, 3)), "2 3 4 ");
  EXPECT_EQ(text(read(*handle, 0)), ". .. 1 2 3 4 ");
  EXPECT_EQ(lists(), 2U);
  EXPECT_EQ(text(read(*open(""), 0)), ". .. 0 ") << "the control: a new handle sees the change";
}

// A page takes longer to be taken in than a reply to be written, and may be there already.
TEST_F(DirectorySnapshotTest, AReaderNeedNotWaitUntilThePageAfterItsOwnIsTakenIn) {
  for (const bool is_side_by_side : {true, false}) {
    rig_.servers->page_keys_min = is_side_by_side ? 1 : 1000;
    const auto handle = open_in_pages_of_two(9);
    std::size_t taken_in_later = 0;
    std::uint64_t offset = 0;
    for (std::size_t count = 1; count > 0; offset += count) {
      std::size_t listed = 0;
      handle->read(offset, 100, {}, [&](Result<ListedNames> names) {
        count = names->size();
        listed = handle->listed(0, 100).size();
      });
      taken_in_later += handle->listed(0, 100).size() - listed;
    }
    EXPECT_EQ(offset, 11U);
    EXPECT_EQ(taken_in_later > 0, is_side_by_side) << "the control: no page is there before";
  }
}

TEST_F(DirectorySnapshotTest, ConcurrentReadsShareTheListing) {
  const auto handle = open_in_pages_of_two(4);
  store_.hold();
  const auto first = read(*handle, 0);
  const auto same = read(*handle, 2);
  const auto further = read(*handle, 4);
  EXPECT_EQ(lists(), 1U);
  store_.release();
  EXPECT_EQ(text(first), ". .. 1 ");
  EXPECT_EQ(text(same), "1 ");
  EXPECT_EQ(text(further), "pending");
  EXPECT_EQ(lists(), 2U) << "who is left over asks for the next page";
  store_.release();
  EXPECT_EQ(text(further), "3 4 ");
}

TEST_F(DirectorySnapshotTest, AFailedPageFailsAllReadersThatWaitAndIsAskedForAgain) {
  store_.put("1", "");
  const auto handle = open("");
  store_.hold();
  const auto first = read(*handle, 0);
  const auto second = read(*handle, 0);
  store_.fail_held(0, {.error = {ErrorCode::kUnreachable, "failed by the test"}});
  EXPECT_EQ(text(first), "Unreachable");
  EXPECT_EQ(text(second), "Unreachable");
  store_.release_all();
  EXPECT_EQ(text(read(*handle, 0)), ". .. 1 ");
}

TEST_F(DirectorySnapshotTest, AServerThatRepeatsItsContinuationTokenEndsTheListing) {
  const auto handle = open_in_pages_of_two(8);
  store_.repeat_tokens();
  EXPECT_EQ(text(read(*handle, 0)), ". .. 1 ");
  EXPECT_EQ(text(read(*handle, 3)), "Protocol");
  EXPECT_EQ(lists(), 2U);
  EXPECT_EQ(text(read(*handle, 0)), ". .. 1 ") << "what came before stays readable";
}

TEST_F(DirectorySnapshotTest, PagesWithoutANameToShowAreReadThrough) {
  store_.set_page_keys_max(1);
  for (const char* key : {".", "..", "//x", "z"}) store_.put(key, "");
  EXPECT_EQ(text(read(*open(""), 0)), ". .. z ");
  EXPECT_EQ(rig_.hidden.value(), 3U);
}

TEST_F(DirectorySnapshotTest, FeedsTheNameCacheWithFilesAndDirectories) {
  store_.put("d/file", "");
  store_.put("d/sub/x", "");
  EXPECT_FALSE(rig_.names->find("d/file"));
  (void)read(*open("d/"), 0);
  ASSERT_TRUE(rig_.names->find("d/file"));
  EXPECT_FALSE(rig_.names->find("d/file")->node->is_directory);
  ASSERT_TRUE(rig_.names->find("d/sub"));
  EXPECT_TRUE(rig_.names->find("d/sub")->node->is_directory);
}

TEST_F(DirectorySnapshotTest, TenThousandNamesComePageByPageEachOnce) {
  for (int i = 0; i < 10'000; ++i) store_.put("d/" + std::to_string(i), "");
  const auto handle = open("d/");
  std::map<std::string, int> seen;
  std::uint64_t offset = 0;
  for (;;) {
    const auto answer = read(*handle, offset, 128);
    if (answer.get()->empty()) break;
    for (const ListedName& listed : *answer.get()) ++seen[listed.name];
    offset += answer.get()->size();
  }
  EXPECT_EQ(seen.size(), 10'002U);
  EXPECT_EQ(offset, 10'002U);
  EXPECT_LE(lists(), 14U) << "1000 keys a page, the later ones side by side";
}

TEST_F(DirectorySnapshotTest, ChargesTheBudgetForItsNamesAndGivesTheBytesBack) {
  const auto handle = open_in_pages_of_two(100);
  const std::int64_t dots = rig_.listing_bytes.value();
  std::uint64_t offset = 0;
  for (auto some = read(*handle, 0); !some.get()->empty(); some = read(*handle, offset)) {
    offset += some.get()->size();
  }
  EXPECT_EQ(offset, 102U);
  EXPECT_GT(rig_.listing_bytes.value(), dots + 100 * 24);
  EXPECT_LT(rig_.listing_bytes.value(), dots + 100 * 100) << "two names a page share its overhead";
}

TEST_F(DirectorySnapshotTest, GivesTheBudgetBackAllThatItTook) {
  (void)read(*open_in_pages_of_two(10), 5);
  EXPECT_EQ(rig_.listing_bytes.value(), 0);
}

TEST_F(DirectorySnapshotTest, BeyondTheBudgetAReadFailsUntilThereIsRoomAgain) {
  const auto handle = open_in_pages_of_two(8);
  EXPECT_EQ(text(read(*handle, 0)), ". .. 1 ");
  rig_.budget->take(SnapshotRig::kBudget);
  EXPECT_EQ(text(read(*handle, 3)), "NoMemory");
  EXPECT_EQ(text(read(*handle, 1)), ".. 1 ") << "what is there stays readable";
  EXPECT_EQ(lists(), 1U) << "nothing is fetched that there is no room for";
  rig_.budget->give_back(SnapshotRig::kBudget);
  EXPECT_EQ(text(read(*handle, 3)), "2 3 ") << "and nothing was lost";
}

TEST_F(DirectorySnapshotTest, APageAheadWithoutRoomFailsNoReader) {
  const auto handle = open_in_pages_of_two(8);
  (void)read(*handle, 0);
  store_.hold();
  const auto on = read(*handle, 3);
  rig_.budget->take(SnapshotRig::kBudget);
  store_.release_all();
  EXPECT_EQ(text(on), "2 3 ");
  EXPECT_EQ(lists(), 2U);
}

}  // namespace
}  // namespace s3rdmafs::vfs
