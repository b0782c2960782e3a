// SPDX-License-Identifier: Apache-2.0
#include "vfs/staged/turns.h"

#include <string>

#include <gtest/gtest.h>

namespace s3rdmafs::vfs {
namespace {

TEST(Turns, RunSharedWorkSideBySideAndOtherWorkAlone) {
  Turns turns;
  std::string order;
  turns.share([&] { order += "a"; });
  turns.share([&] { order += "b"; });
  turns.alone([&] { order += "C"; });
  EXPECT_EQ(order, "ab");
  turns.end();
  EXPECT_EQ(order, "ab") << "one still runs";
  turns.end();
  EXPECT_EQ(order, "abC");
}

TEST(Turns, KeepTheOrderOfArrival) {
  Turns turns;
  std::string order;
  turns.share([&] { order += "a"; });
  turns.alone([&] { order += "B"; });
  turns.share([&] { order += "c"; });
  EXPECT_FALSE(turns.try_share()) << "it would overtake";
  EXPECT_TRUE(turns.is_held());
  turns.end();
  EXPECT_EQ(order, "aB");
  turns.end();
  EXPECT_EQ(order, "aBc");
  turns.end();
  EXPECT_FALSE(turns.is_held());
  EXPECT_TRUE(turns.try_share());
}

TEST(Turns, RunWorkThatEndsAtOnceWithoutWaiting) {
  Turns turns;
  std::string order;
  turns.alone([&] { order += "A"; });
  for (int i = 0; i < 3; ++i) {
    turns.alone([&] {
      order += "B";
      turns.end();
    });
  }
  turns.end();
  EXPECT_EQ(order, "ABBB");
  EXPECT_TRUE(turns.try_share());
}

}  // namespace
}  // namespace s3rdmafs::vfs
