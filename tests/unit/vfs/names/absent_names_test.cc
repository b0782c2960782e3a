// SPDX-License-Identifier: Apache-2.0
// The lookup of a system call that creates a name is the only question to the store, and each
// creation has a lookup of its own.
#include <gtest/gtest.h>

#include "writable_bucket.h"

namespace s3rdmafs::vfs {
namespace {

using std::chrono::milliseconds;
using Operation = fakes::FakeObjectStore::Operation;

constexpr Creation kExclusive{.is_exclusive = true};

class AbsentNamesOfABucket : public testing::Test {
 protected:
  std::size_t questions() const {
    return store_.count(Operation::kHead) + store_.count(Operation::kList);
  }
  void look_up_and_forget_calls(std::string_view name) {
    ASSERT_EQ(error_of(bucket_.lookup(kRootIno, name)), "NotFound");
    store_.forget_calls();
  }

  WritableBucket bucket_{milliseconds(0)};
  fakes::FakeObjectStore& store_ = bucket_.store;
};

TEST_F(AbsentNamesOfABucket, ACreationBelievesTheLookupOfItsSystemCall) {
  look_up_and_forget_calls("file");
  ASSERT_TRUE(bucket_.create(kRootIno, "file", kExclusive));
  EXPECT_EQ(questions(), 0U);
}

TEST_F(AbsentNamesOfABucket, ACreationWithoutALookupAsksTheStore) {
  store_.put("file", "theirs");
  EXPECT_EQ(error_of(bucket_.create(kRootIno, "file", kExclusive)), "Exists");
}

TEST_F(AbsentNamesOfABucket, ACreationLongAfterTheLookupAsksTheStore) {
  look_up_and_forget_calls("file");
  store_.put("file", "theirs");
  bucket_.clock.advance(milliseconds(251));
  EXPECT_EQ(error_of(bucket_.create(kRootIno, "file", kExclusive)), "Exists");
}

TEST_F(AbsentNamesOfABucket, OneCreationAloneBelievesTheLookup) {
  look_up_and_forget_calls("dir");
  ASSERT_TRUE(bucket_.mkdir(kRootIno, "dir"));
  EXPECT_EQ(questions(), 0U);
  EXPECT_EQ(error_of(bucket_.mkdir(kRootIno, "dir")), "Exists");
}

TEST_F(AbsentNamesOfABucket, ANameThatThisMountMadeMeanwhileIsFound) {
  store_.put("from", "x");
  ASSERT_EQ(error_of(bucket_.lookup(kRootIno, "to")), "NotFound");
  ASSERT_TRUE(bucket_.rename("from", "to"));
  EXPECT_EQ(error_of(bucket_.create(kRootIno, "to", kExclusive)), "Exists");
}

TEST_F(AbsentNamesOfABucket, ABlindCreationDoesNotReplaceWhatAnotherClientStoredMeanwhile) {
  look_up_and_forget_calls("file");
  store_.put("file", "theirs");
  const auto created = bucket_.create(kRootIno, "file", kExclusive);
  ASSERT_TRUE(created) << "the store was not asked";
  ASSERT_TRUE(bucket_.write(created->file.handle, 0, "ours"));
  EXPECT_FALSE(bucket_.sync(created->file.handle)) << "the request says that there was none";
  EXPECT_EQ(store_.object("file"), "theirs");
}

TEST_F(AbsentNamesOfABucket, ARenameBelievesTheLookupOfItsNewName) {
  store_.put("from", "x");
  ASSERT_TRUE(bucket_.lookup(kRootIno, "from"));
  look_up_and_forget_calls("to");
  ASSERT_TRUE(answer_of<void>([&](auto done) {
    bucket_.fs.rename(kRootIno, "from", kRootIno, "to", false, std::move(done));
  }));
  EXPECT_EQ(questions(), 2U) << "for the old name, which this bucket keeps for no time";
}

// readdir(3) gives the kernel names as well.
TEST_F(AbsentNamesOfABucket, ARenameDoesNotBelieveALookupThatAListingHasOvertaken) {
  store_.put("from", "x");
  ASSERT_EQ(error_of(bucket_.lookup(kRootIno, "to")), "NotFound");
  store_.put("to", "theirs");
  const std::uint64_t directory = bucket_.fs.open_directory(kRootIno).value();
  const auto listed = bucket_.read_directory(directory, 0, 100);
  ASSERT_TRUE(listed);
  for (const DirectoryEntry& entry : *listed) {
    ASSERT_NE(bucket_.fs.add_lookup(entry).attributes.ino, 0U) << entry.name;
  }
  store_.forget_calls();
  ASSERT_TRUE(answer_of<void>([&](auto done) {
    bucket_.fs.rename(kRootIno, "from", kRootIno, "to", false, std::move(done));
  }));
  EXPECT_EQ(questions(), 4U) << "for both names, which this bucket keeps for no time";
  bucket_.fs.release_directory(directory);
}

TEST_F(AbsentNamesOfABucket, MoreLookupsThanSystemCallsCostNothingButQuestions) {
  for (int i = 0; i < 3000; ++i) look_up_and_forget_calls("absent" + std::to_string(i));
  ASSERT_TRUE(bucket_.create(kRootIno, "absent2999", kExclusive));
  EXPECT_EQ(questions(), 0U);
  store_.put("absent0", "theirs");
  EXPECT_EQ(error_of(bucket_.create(kRootIno, "absent0", kExclusive)), "Exists");
}

}  // namespace
}  // namespace s3rdmafs::vfs
