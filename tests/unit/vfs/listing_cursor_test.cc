// SPDX-License-Identifier: Apache-2.0
#include "vfs/directories/listing_cursor.h"

#include <gtest/gtest.h>

namespace s3rdmafs::vfs {
namespace {

s3::ListPage page_with(std::string next_token, bool is_empty = false) {
  s3::ListPage page{.objects = {}, .common_prefixes = {}, .next_token = std::move(next_token)};
  if (!is_empty) page.common_prefixes.emplace_back("d/");
  return page;
}

TEST(ListingCursorTest, GoesFromTokenToTokenUntilThePageWithoutOne) {
  ListingCursor cursor;
  EXPECT_EQ(cursor.token(), "");
  ASSERT_TRUE(cursor.pass(page_with("a")));
  EXPECT_EQ(cursor.token(), "a");
  ASSERT_TRUE(cursor.pass(page_with("b")));
  EXPECT_EQ(cursor.token(), "b");
  EXPECT_FALSE(cursor.is_at_end());
  ASSERT_TRUE(cursor.pass(page_with("")));
  EXPECT_TRUE(cursor.is_at_end());
}

TEST(ListingCursorTest, APageThatLeadsToItselfIsAProtocolError) {
  ListingCursor cursor;
  ASSERT_TRUE(cursor.pass(page_with("a")));
  const auto passed = cursor.pass(page_with("a"));
  ASSERT_FALSE(passed);
  EXPECT_EQ(passed.error().code, ErrorCode::kProtocol);
  EXPECT_EQ(cursor.token(), "a") << "the same page may be asked for again";
  EXPECT_TRUE(cursor.pass(page_with("b"))) << "the control: and may be answered properly";
}

TEST(ListingCursorTest, PagesThatLeadInACircleAreAProtocolErrorInTheEnd) {
  for (const std::size_t before : {0U, 1U, 7U, 100U}) {
    for (const std::size_t length : {2U, 3U, 64U, 1000U}) {
      ListingCursor cursor;
      std::size_t pages = 0;
      const std::size_t pages_max = 4 * (before + length) + 4;
      const auto token_of = [&](std::size_t page) {
        return std::to_string(page < before ? page : before + (page - before) % length);
      };
      while (pages < pages_max && cursor.pass(page_with(token_of(pages)))) ++pages;
      EXPECT_LT(pages, pages_max) << before << " pages before a circle of " << length;
      EXPECT_GE(pages, before + length) << "no page is refused that was not answered before";
    }
  }
}

TEST(ListingCursorTest, AHundredThousandPagesPassWhereEachTokenIsNew) {
  ListingCursor cursor;
  for (int page = 0; page < 100'000; ++page) {
    ASSERT_TRUE(cursor.pass(page_with(std::to_string(page)))) << page;
  }
}

TEST(ListingCursorTest, EmptyPagesPassUnlessTheyNeverEnd) {
  ListingCursor cursor;
  std::uint32_t pages = 0;
  const auto pass_empty = [&] {
    return cursor.pass(page_with(std::to_string(++pages), /*is_empty=*/true)).has_value();
  };
  for (std::uint32_t i = 0; i < ListingCursor::kEmptyPagesMax; ++i) ASSERT_TRUE(pass_empty());
  ASSERT_TRUE(cursor.pass(page_with("entries"))) << "a page with entries starts the count again";
  for (std::uint32_t i = 0; i < ListingCursor::kEmptyPagesMax; ++i) ASSERT_TRUE(pass_empty());
  EXPECT_FALSE(pass_empty());
}

}  // namespace
}  // namespace s3rdmafs::vfs
