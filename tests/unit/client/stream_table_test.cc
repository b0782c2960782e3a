// SPDX-License-Identifier: Apache-2.0
#include "client/stream_table.h"

#include <gtest/gtest.h>

namespace s3rdmafs::client {
namespace {

TEST(StreamTable, AStreamHasTakenAsManyPartsAsFollowEachOther) {
  StreamTable streams;
  EXPECT_FALSE(streams.run_before(0));
  streams.note(0);
  EXPECT_EQ(streams.run_before(1), 1U);
  streams.note(1);
  EXPECT_EQ(streams.run_before(2), 2U);
  EXPECT_FALSE(streams.run_before(3)) << "a part is left out";
}

TEST(StreamTable, StreamsSideBySideAreToldApart) {
  StreamTable streams;
  for (std::uint64_t part = 0; part < 4; ++part) {
    streams.note(part);
    streams.note(100 + part);
  }
  EXPECT_EQ(streams.run_before(4), 4U);
  EXPECT_EQ(streams.run_before(104), 4U);
}

TEST(StreamTable, TheStreamThatHasRestedLongestMakesPlace) {
  StreamTable streams;
  for (std::uint64_t i = 0; i < 17; ++i) streams.note(i * 1000);
  EXPECT_FALSE(streams.run_before(1));
  EXPECT_EQ(streams.run_before(1001), 1U);
}

}  // namespace
}  // namespace s3rdmafs::client
