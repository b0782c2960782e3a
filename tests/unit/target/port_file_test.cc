// SPDX-License-Identifier: Apache-2.0
#include "target/port_file.h"

#include "target_fixture.h"

namespace s3rdmafs::target {
namespace {

class PortFileTest : public testing::Test {
 protected:
  PortFileTest() { write_file(victim_, "precious"); }

  TemporaryFolder folder_;
  const std::filesystem::path victim_ = folder_.path() / "victim";
  const std::filesystem::path port_ = folder_.path() / "port";
};

TEST_F(PortFileTest, HasTheNumberAndALineEnd) {
  ASSERT_TRUE(write_port_file(port_, 9000));
  EXPECT_EQ(read_file(port_), "9000\n");
  ASSERT_TRUE(write_port_file(port_, 80)) << "a second run takes its place";
  EXPECT_EQ(read_file(port_), "80\n");
}

TEST_F(PortFileTest, IsNotWrittenThroughALinkLaidWhereItIsPrepared) {
  std::filesystem::create_symlink(victim_, port_.string() + ".tmp");
  ASSERT_TRUE(write_port_file(port_, 9000));
  EXPECT_EQ(read_file(victim_), "precious");
  EXPECT_EQ(read_file(port_), "9000\n");
  EXPECT_FALSE(std::filesystem::is_symlink(port_));
}

TEST_F(PortFileTest, TakesThePlaceOfALinkOfItsName) {
  std::filesystem::create_symlink(victim_, port_);
  ASSERT_TRUE(write_port_file(port_, 9000));
  EXPECT_EQ(read_file(victim_), "precious");
  EXPECT_EQ(read_file(port_), "9000\n");
}

TEST_F(PortFileTest, IsAnErrorThatNamesTheFileWhereItCannotBeMade) {
  const auto written = write_port_file(folder_.path() / "none" / "port", 9000);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().detail.find("none/port"), std::string::npos);
}

}  // namespace
}  // namespace s3rdmafs::target
