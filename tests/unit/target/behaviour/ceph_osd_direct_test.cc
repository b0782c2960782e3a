// SPDX-License-Identifier: Apache-2.0
// Ceph, whose OSDs write into the client's memory themselves (s3rdmafs-protocol(7)).
#include "unit/target/behaviour/behaviour_fixture.h"

namespace s3rdmafs::target {
namespace {

class CephOsdDirectTest : public BehaviourTest {
 protected:
  static constexpr std::size_t kStripe = kMiB;

  CephOsdDirectTest() { behave_as("ceph-osd-direct"); }

  /// An object of so many bytes, of which every one is told from those a stripe away.
  std::string make_object(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>('a' + i / kStripe + i % 7);
    write_file(folder("bucket/key"), bytes);
    service_.windows[kToken] = std::string(size, '.');
    service_.transfers = 0;
    return bytes;
  }
};

TEST_F(CephOsdDirectTest, HasAWriterForEachStripeOfOneWindow) {
  const std::string object = make_object(3 * kStripe);
  const Response got = get(kToken);
  EXPECT_EQ(reply(got), "200");
  EXPECT_EQ(count(got), std::to_string(object.size()));
  EXPECT_EQ(got.body_bytes(), 0U);
  EXPECT_EQ(service_.transfers, 3);
  EXPECT_EQ(service_.windows[kToken], object);
}

TEST_F(CephOsdDirectTest, MovesAGetThatFitsIntoOneStripeAsOthersDo) {
  const std::string object = make_object(1000);
  const Response got = get(kToken, {{"range", "bytes=0-998"}});
  EXPECT_EQ(reply(got), "206");
  EXPECT_EQ(count(got), "999");
  EXPECT_EQ(got.body_bytes(), 0U);
  EXPECT_EQ(service_.windows[kToken], object.substr(0, 999) + ".");
}

TEST_F(CephOsdDirectTest, SendsWhatIsLeftOfTheLastStripeInTheBody) {
  const std::string object = make_object(2 * kStripe + 100);
  const Response got = get(kToken, {{"range", "bytes=10-"}});
  EXPECT_EQ(got.status, 206);
  EXPECT_EQ(reply(got), "206");
  EXPECT_EQ(count(got), std::to_string(2 * kStripe));
  EXPECT_EQ(body(got), object.substr(10 + 2 * kStripe));
  EXPECT_EQ(service_.windows[kToken].substr(0, 2 * kStripe), object.substr(10, 2 * kStripe));
}

TEST_F(CephOsdDirectTest, ReadsAPutInOnePiece) {
  make_object(2 * kStripe + 100);
  EXPECT_EQ(reply(put(kToken)), "200");
  EXPECT_EQ(service_.transfers, 1);
  EXPECT_EQ(read_file(folder("bucket/new")), std::string(2 * kStripe + 100, '.'));
}

}  // namespace
}  // namespace s3rdmafs::target
