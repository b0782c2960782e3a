// SPDX-License-Identifier: Apache-2.0
#include "rdma/mlx5/dc_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::rdma::mlx5 {
namespace {

using testing::HasSubstr;

// The two published examples (s3rdmafs-protocol(7)).
constexpr std::string_view kFormatExample =
    "0102030405060708:01020304:01020304:0102:010203:1:0102030405060708090a0b0c0d0e0f10";
constexpr std::string_view kRealExample =
    "00007fffc3200000:00100000:00004d16:0000:00133f:1:fe80000000000000000000000012ab34";
// `printf %s "$kRealExample" | base64 -w0`
constexpr std::string_view kRealExampleInBase64 =
    "MDAwMDdmZmZjMzIwMDAwMDowMDEwMDAwMDowMDAwNGQxNjowMDAwOjAwMTMzZjoxOmZlODAwMDAwMDAwMDAwMDAwMDAw"
    "MDAwMDAwMTJhYjM0";

const DcToken kFormatToken{
    .window_address = 0x0102030405060708,
    .window_bytes = 0x01020304,
    .rkey = 0x01020304,
    .target = {.lid = 0x0102,
               .dct_number = 0x010203,
               .has_gid = true,
               .gid = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}};
const DcToken kRealToken{
    .window_address = 0x7fffc3200000,
    .window_bytes = 0x100000,
    .rkey = 0x4d16,
    .target = {.lid = 0,
               .dct_number = 0x133f,
               .has_gid = true,
               .gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0xab, 0x34}}};

std::string refusal(std::string_view text, DcTokenForm form = DcTokenForm::k81) {
  const auto token = DcToken::parse(text, form);
  return token ? "" : token.error().detail;
}

TEST(DcToken, IsThePublishedExamplesToTheCharacter) {
  EXPECT_EQ(kFormatToken.to_text(DcTokenForm::k81), kFormatExample);
  EXPECT_EQ(kRealToken.to_text(DcTokenForm::k81), kRealExample);
  EXPECT_EQ(kFormatExample.size(), 81U);
}

TEST(DcToken, HasTheWindowAgainInItsOlderForm) {
  const std::string text = kRealToken.to_text(DcTokenForm::k115);
  EXPECT_EQ(text, std::string(kRealExample) + ":00007fffc3200000:0000000000100000");
  EXPECT_EQ(text.size(), 115U);
}

TEST(DcToken, IsThe81CharactersInBase64) {
  EXPECT_EQ(kRealToken.to_text(DcTokenForm::kBase64), kRealExampleInBase64);
}

TEST(DcToken, NamesInfiniBandByLidAndGid) {
  const DcToken token{.window_address = 0x1000,
                      .window_bytes = 1,
                      .rkey = 2,
                      .target = {.lid = 0x2a,
                                 .dct_number = 3,
                                 .has_gid = true,
                                 .gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}}};
  EXPECT_EQ(token.to_text(DcTokenForm::k81),
            "0000000000001000:00000001:00000002:002a:000003:1:fe800000000000000000000000000007");
}

TEST(DcToken, NamesInfiniBandByItsLidAloneWhereThatIsWanted) {
  const DcToken token{.window_address = 0x1000,
                      .window_bytes = 1,
                      .rkey = 2,
                      .target = {.lid = 0x2a, .dct_number = 3, .has_gid = false, .gid = {}}};
  EXPECT_EQ(token.to_text(DcTokenForm::k81),
            "0000000000001000:00000001:00000002:002a:000003:0:00000000000000000000000000000000");
}

TEST(DcToken, ReadsBackWhatItWroteInEveryForm) {
  const DcToken extreme{.window_address = ~std::uint64_t{0},
                        .window_bytes = ~std::uint32_t{0},
                        .rkey = ~std::uint32_t{0},
                        .target = {.lid = 0xffff, .dct_number = 0xffffff, .has_gid = false}};
  for (const DcToken& token : {kFormatToken, kRealToken, extreme}) {
    for (const auto form : {DcTokenForm::k81, DcTokenForm::k115, DcTokenForm::kBase64}) {
      const auto read = DcToken::parse(token.to_text(form), form);
      ASSERT_TRUE(read) << read.error().detail;
      EXPECT_EQ(*read, token);
    }
  }
}

TEST(DcToken, IsReadAsStrictlyAsTheStrictestServerReadsIt) {
  const std::string good(kRealExample);
  ASSERT_EQ(refusal(good), "");
  EXPECT_THAT(refusal("not-a-valid-token"), HasSubstr("has 17 characters, not 81"));
  EXPECT_THAT(refusal(good + "0"), HasSubstr("has 82 characters"));
  const auto with = [&good](std::size_t at, char c) {
    std::string text = good;
    text[at] = c;
    return text;
  };
  EXPECT_THAT(refusal(with(0, 'x')), HasSubstr("address is malformed"));
  EXPECT_THAT(refusal(with(4, 'F')), HasSubstr("address is malformed")) << "upper case";
  EXPECT_THAT(refusal(with(16, '0')), HasSubstr("size is malformed")) << "no colon before it";
  EXPECT_THAT(refusal(with(17, '-')), HasSubstr("size is malformed"));
  EXPECT_THAT(refusal(with(26, ' ')), HasSubstr("rkey is malformed"));
  EXPECT_THAT(refusal(with(35, 'g')), HasSubstr("lid is malformed"));
  EXPECT_THAT(refusal(with(40, 'g')), HasSubstr("dct number is malformed"));
  EXPECT_THAT(refusal(with(47, '2')), HasSubstr("gid flag is malformed"));
  EXPECT_THAT(refusal(with(80, ':')), HasSubstr("gid is malformed"));
}

TEST(DcToken, IsRefusedInAFormThatWasNotAskedFor) {
  const std::string older = kRealToken.to_text(DcTokenForm::k115);
  EXPECT_THAT(refusal(older), HasSubstr("has 115 characters, not 81"));
  EXPECT_THAT(refusal(kRealExample, DcTokenForm::k115), HasSubstr("has 81 characters, not 115"));
  EXPECT_THAT(refusal(kRealExample, DcTokenForm::kBase64), HasSubstr("not base64"));
  std::string other_window = older;
  other_window.back() = '1';
  EXPECT_THAT(refusal(other_window, DcTokenForm::k115), HasSubstr("suffix is malformed"));
}

}  // namespace
}  // namespace s3rdmafs::rdma::mlx5
