// SPDX-License-Identifier: Apache-2.0
#include "vfs/names/inode_table.h"

#include <gtest/gtest.h>

namespace s3rdmafs::vfs {
namespace {

constexpr SeenAt kNow{std::chrono::hours(1)};

Node file(std::string key, std::string etag = "\"1\"") {
  return Node::file({std::move(key), std::move(etag), 7, {}});
}

class InodeTableTest : public testing::Test {
 protected:
  metrics::Gauge inodes_;
  InodeTable table_{"", inodes_};
};

TEST_F(InodeTableTest, TheRootIsThereAndStaysThroughForgets) {
  table_.forget(kRootIno, 100);
  ASSERT_TRUE(table_.find(kRootIno));
  EXPECT_TRUE(table_.find(kRootIno)->node.is_directory);
  EXPECT_EQ(table_.number_of(Node::directory("")), kRootIno);
  EXPECT_EQ(inodes_.value(), 1);
}

TEST_F(InodeTableTest, TheLastForgetErasesAndNoneBefore) {
  const Ino ino = table_.add_lookup(file("a"), kNow);
  EXPECT_EQ(table_.add_lookup(file("a"), kNow), ino);
  EXPECT_EQ(table_.add_lookup(file("a"), kNow), ino);
  EXPECT_EQ(inodes_.value(), 2);
  table_.forget(ino, 2);
  EXPECT_TRUE(table_.find(ino));
  table_.forget(ino, 1);
  EXPECT_FALSE(table_.find(ino));
  EXPECT_EQ(inodes_.value(), 1);
  table_.forget(ino, 1);
  EXPECT_EQ(inodes_.value(), 1) << "a forget too many does nothing";
}

TEST_F(InodeTableTest, AnInodeIsOpenedFirstOnceAsLongAsTheKernelKnowsIt) {
  const Ino ino = table_.add_lookup(file("a"), kNow);
  EXPECT_TRUE(table_.mark_opened(ino));
  EXPECT_FALSE(table_.mark_opened(ino));
  EXPECT_EQ(table_.add_lookup(file("a"), kNow), ino);
  EXPECT_FALSE(table_.mark_opened(ino)) << "looked up again, not forgotten";
  table_.forget(ino, 2);
  EXPECT_FALSE(table_.mark_opened(ino)) << "unknown";
  EXPECT_EQ(table_.add_lookup(file("a"), kNow), ino);
  EXPECT_TRUE(table_.mark_opened(ino));
}

TEST_F(InodeTableTest, KindKeyAndVersionEachMakeAnotherNumber) {
  const Ino ino = table_.add_lookup(file("a", "\"1\""), kNow);
  EXPECT_NE(table_.add_lookup(file("a", "\"2\""), kNow), ino);
  EXPECT_NE(table_.add_lookup(file("b", "\"1\""), kNow), ino);
  EXPECT_NE(table_.add_lookup(Node::directory("a"), kNow), ino);
  EXPECT_EQ(table_.find(ino)->node.object.etag, "\"1\"");
}

TEST_F(InodeTableTest, TheNumberToldBeforeIsTheNumberGiven) {
  const Ino told = table_.number_of(file("a"));
  EXPECT_FALSE(table_.find(told)) << "telling a number is not giving it";
  EXPECT_EQ(table_.add_lookup(file("a"), kNow), told);
}

TEST_F(InodeTableTest, AReboundInodeKeepsItsNumberAndIsFoundByItsNewNode) {
  const Ino ino = table_.add_lookup(file("a", "\"1\""), kNow);
  table_.rebind(ino, file("b", "\"2\""), kNow);
  EXPECT_EQ(table_.number_of(file("b", "\"2\"")), ino);
  EXPECT_EQ(table_.add_lookup(file("b", "\"2\""), kNow), ino);
  EXPECT_EQ(table_.find(ino)->node.object.key, "b");
  EXPECT_NE(table_.number_of(file("a", "\"1\"")), ino) << "its former node is another inode now";
}

TEST_F(InodeTableTest, ANodeThatARebindingGaveANumberLosesItWithTheNextOne) {
  const Ino ino = table_.add_lookup(file("a", "\"1\""), kNow);
  table_.rebind(ino, file("a", "\"2\""), kNow);
  table_.rebind(ino, file("a", "\"3\""), kNow);
  EXPECT_NE(table_.number_of(file("a", "\"2\"")), ino);
  EXPECT_EQ(table_.number_of(file("a", "\"3\"")), ino);
}

TEST_F(InodeTableTest, AForgottenInodesNodeHasTheNumberOfItsHashAgain) {
  const Ino hashed = table_.number_of(file("a", "\"2\""));
  const Ino ino = table_.add_lookup(file("a", "\"1\""), kNow);
  table_.rebind(ino, file("a", "\"2\""), kNow);
  table_.forget(ino, 1);
  EXPECT_EQ(table_.number_of(file("a", "\"2\"")), hashed);
  table_.rebind(ino, file("a", "\"3\""), kNow);
  EXPECT_FALSE(table_.find(ino)) << "an inode that the kernel does not know is not made";
}

// mv d e; mkdir d; rmdir e: the kernel goes on with the number of the new d.
TEST_F(InodeTableTest, ANodeWhoseHashWasTakenKeepsItsNumberWhenTheHashIsFree) {
  const Ino renamed = table_.add_lookup(Node::directory("d/"), kNow);
  table_.rebind_directories("d/", "e/");
  const Ino made = table_.add_lookup(Node::directory("d/"), kNow);
  ASSERT_NE(made, renamed);
  table_.forget(renamed, 1);
  EXPECT_EQ(table_.number_of(Node::directory("d/")), made);
  EXPECT_EQ(table_.add_lookup(Node::directory("d/"), kNow), made);
  table_.forget(made, 2);
  EXPECT_FALSE(table_.find(made));
  EXPECT_EQ(table_.number_of(Node::directory("d/")), renamed) << "its hash, as in every mount";
}

// The kernel refuses all names in an inode that it saw removed.
TEST_F(InodeTableTest, ADirectoryThatIsMadeAgainHasAnotherNumberWhileTheKernelHasTheFormerOne) {
  const Ino removed = table_.add_lookup(Node::directory("d/"), kNow);
  table_.retire_directory("d/");
  const Ino made = table_.add_lookup(Node::directory("d/"), kNow);
  EXPECT_NE(made, removed);
  table_.retire_directory("d/");
  const Ino again = table_.add_lookup(Node::directory("d/"), kNow);
  EXPECT_NE(again, made);
  EXPECT_NE(again, removed);
  EXPECT_EQ(table_.find(removed)->node.object.key, "d/");
  for (const Ino ino : {removed, made, again}) table_.forget(ino, 1);
  EXPECT_EQ(table_.number_of(Node::directory("d/")), removed) << "its hash, as in every mount";
  table_.retire_directory("d/");
  EXPECT_FALSE(table_.find(removed)) << "an inode that the kernel does not know is not made";
}

TEST(InodeTable, NodesThatHashAlikeGetDifferentNumbersAndNeverOneThatIsReserved) {
  metrics::Gauge inodes;
  InodeTable table("", inodes, [](const Node&) noexcept { return ~Ino{0}; });
  const Ino a = table.add_lookup(file("a"), kNow);
  const Ino b = table.add_lookup(file("b"), kNow);
  const Ino c = table.add_lookup(file("c"), kNow);
  EXPECT_EQ(a, ~Ino{0});
  EXPECT_EQ(b, kFirstObjectIno) << "where the numbers wrap";
  EXPECT_EQ(c, kFirstObjectIno + 1);
  EXPECT_EQ(table.number_of(file("b")), b);
  EXPECT_EQ(table.find(b)->node.object.key, "b");
  table.forget(a, 1);
  EXPECT_EQ(table.number_of(file("b")), b) << "as long as the kernel has it";
  EXPECT_EQ(table.number_of(file("c")), c);
}

TEST(InodeTable, NumbersOfAVolumeTellWhoseTheyAre) {
  metrics::Gauge inodes;
  InodeTable table("a/", inodes, hash_node, {.volume = 3});
  const Ino root = number_in(3, kRootIno);
  EXPECT_EQ(table.number_of(Node::directory("a/")), root);
  EXPECT_TRUE(table.find(root));
  table.forget(root, 100);
  EXPECT_TRUE(table.find(root)) << "the root stays";
  const Ino ino = table.add_lookup(file("a/b"), kNow);
  EXPECT_EQ(volume_of(ino), 3);
  EXPECT_EQ(table.number_of(file("a/b")), ino);
  table.rebind(ino, file("a/c"), kNow);
  EXPECT_EQ(table.number_of(file("a/c")), ino);
  table.forget(ino, 1);
  EXPECT_NE(table.number_of(file("a/c")), ino);
}

TEST(InodeTable, NodesOfAVolumeThatHashAlikeStayInIt) {
  metrics::Gauge inodes;
  InodeTable table("", inodes, [](const Node&) noexcept { return ~Ino{0}; }, {.volume = 255});
  const Ino a = table.add_lookup(file("a"), kNow);
  const Ino b = table.add_lookup(file("b"), kNow);
  EXPECT_EQ(a, ~Ino{0});
  EXPECT_EQ(volume_of(b), 255);
  EXPECT_NE(b, number_in(255, kRootIno));
  EXPECT_EQ(table.number_of(file("b")), b);
}

TEST(InodeTable, ADirectoryCanStandForTheRootOfAVolume) {
  metrics::Gauge inodes;
  InodeTable table("", inodes, hash_node, {.roots = {{"a/", 1}, {"b/", 2}}});
  EXPECT_EQ(table.add_lookup(Node::directory("b/"), kNow), number_in(2, kRootIno));
  EXPECT_EQ(table.number_of(Node::directory("a/")), number_in(1, kRootIno));
  EXPECT_EQ(table.number_of(Node::directory("")), kRootIno);
  EXPECT_EQ(table.number_of(Node::directory("c/")), hash_node(Node::directory("c/")))
      << "the control";
}

TEST_F(InodeTableTest, NewerNewsReplaceOlderAndNotTheOtherWayRound) {
  const Ino ino = table_.add_lookup(file("a"), kNow);
  table_.add_lookup(file("a"), kNow - std::chrono::seconds(1));
  EXPECT_EQ(table_.find(ino)->seen_at, kNow);
  table_.confirm(ino, kNow + std::chrono::seconds(1));
  EXPECT_EQ(table_.find(ino)->seen_at, kNow + std::chrono::seconds(1));
  table_.invalidate(ino);
  EXPECT_EQ(table_.find(ino)->seen_at, SeenAt::min());
}

}  // namespace
}  // namespace s3rdmafs::vfs
