// SPDX-License-Identifier: Apache-2.0
#include "rdma/mlx5/dc_token.h"

#include <array>
#include <cstdint>
#include <optional>

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

using GidBytes = std::array<std::uint8_t, 16>;

// The fields in the order of a token's text; without a GID, that of nothing.
DcToken token_of(std::uint64_t address, std::uint32_t bytes, std::uint32_t rkey, std::uint16_t lid,
                 std::uint32_t dct_number, std::optional<GidBytes> gid) {
  return {.window_address = address,
          .window_bytes = bytes,
          .rkey = rkey,
          .target = {.lid = lid,
                     .dct_number = dct_number,
                     .has_gid = gid.has_value(),
                     .gid = gid.value_or(GidBytes{})}};
}

const DcToken kFormatToken =
    token_of(0x0102030405060708, 0x01020304, 0x01020304, 0x0102, 0x010203,
             GidBytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
const DcToken kRealToken =
    token_of(0x7fffc3200000, 0x100000, 0x4d16, 0, 0x133f,
             GidBytes{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0xab, 0x34});

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
  const GidBytes gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7};
  EXPECT_EQ(token_of(0x1000, 1, 2, 0x2a, 3, gid).to_text(DcTokenForm::k81),
            "0000000000001000:00000001:00000002:002a:000003:1:fe800000000000000000000000000007");
}

TEST(DcToken, NamesInfiniBandByItsLidAloneWhereThatIsWanted) {
  EXPECT_EQ(token_of(0x1000, 1, 2, 0x2a, 3, std::nullopt).to_text(DcTokenForm::k81),
            "0000000000001000:00000001:00000002:002a:000003:0:00000000000000000000000000000000");
}

TEST(DcToken, ReadsBackWhatItWroteInEveryForm) {
  const DcToken extreme = token_of(~std::uint64_t{0}, ~std::uint32_t{0}, ~std::uint32_t{0}, 0xffff,
                                   0xffffff, std::nullopt);
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
