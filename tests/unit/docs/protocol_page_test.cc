// SPDX-License-Identifier: Apache-2.0
// s3rdmafs-protocol(7) shows tokens as this code writes them, so that servers can be built by it.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/mount_config.h"
#include "man_page.h"
#ifdef S3RDMAFS_TEST_DC
#include "rdma/mlx5/dc_token.h"
#endif
#include "s3rdmafs/rdma/rc_wire.h"
#include "s3rdmafs/rdma/shm_wire.h"

namespace s3rdmafs::docs {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string protocol_page() { return read_source("man/s3rdmafs-protocol.7.scd"); }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

/// The lines of a page that `reads` takes.
std::vector<std::string> lines_read_by(const std::string& text, auto reads) {
  std::vector<std::string> lines = lines_of(text);
  std::erase_if(lines, [&](const std::string& line) { return !reads(line); });
  return lines;
}

TEST(ProtocolPage, ShowsAnRcTokenAndAnEndpointAsTheyAreWritten) {
  const auto tokens = lines_read_by(protocol_page(), [](const std::string& line) {
    const auto token = rdma::rc::parse_object_token(line);
    return token && rdma::rc::format_object_token(*token) == line;
  });
  EXPECT_EQ(tokens.size(), 1U);

  const auto endpoints = lines_read_by(protocol_page(), [](const std::string& line) {
    const auto endpoint = rdma::rc::parse_endpoint(line);
    return endpoint && rdma::rc::format_endpoint(*endpoint) == line;
  });
  ASSERT_EQ(endpoints.size(), 1U);
  EXPECT_EQ(rdma::rc::parse_endpoint(endpoints.front())->queue_pair_number, 0x14U);
}

// The control: a page that had one digit less in them shows neither.
TEST(ProtocolPage, WouldNotPassWithADigitMissing) {
  const auto parses = [](const std::string& line) {
    return rdma::rc::parse_object_token(line).has_value() ||
           rdma::rc::parse_endpoint(line).has_value();
  };
  std::vector<std::string> lines = lines_read_by(protocol_page(), parses);
  ASSERT_EQ(lines.size(), 2U);
  for (std::string& line : lines) line.erase(line.find(':') == std::string::npos ? 0 : 3, 1);
  EXPECT_TRUE(std::ranges::none_of(lines, parses));
}

TEST(ProtocolPage, SaysHowLongTokensAre) {
  const std::string rc = rdma::rc::format_object_token({.session_id = std::string(32, '0')});
  const std::string shm = rdma::shm::Token{}.to_string();
  EXPECT_THAT(protocol_page(), HasSubstr("*rc: " + std::to_string(rc.size()) + " characters*"));
  EXPECT_THAT(protocol_page(), HasSubstr("*shm: " + std::to_string(shm.size()) + " characters*"));
}

#ifdef S3RDMAFS_TEST_DC
TEST(ProtocolPage, ShowsADcTokenAsItIsWritten) {
  using rdma::mlx5::DcToken;
  constexpr auto kForm = rdma::mlx5::DcTokenForm::k81;
  const auto tokens = lines_read_by(protocol_page(), [](const std::string& line) {
    const auto token = DcToken::parse(line, kForm);
    return token && token->to_text(kForm) == line;
  });
  EXPECT_EQ(tokens.size(), 1U);
  EXPECT_THAT(protocol_page(), HasSubstr("*dc: " + std::to_string(DcToken{}.to_text(kForm).size()) +
                                         " characters*"));
}
#endif

TEST(ProtocolPage, NamesTheHeadersThatAreSentUnlessTheMountFileSaysOtherwise) {
  const config::MountConfig config;
  const auto names = std::to_array<std::string>(
      {config.rdma.token_header, config.rdma.reply_header, config.rdma.bytes_header});
  EXPECT_THAT(protocol_page(), HasSubstr("\n" + names[0] + ": "));
  EXPECT_THAT(lines_of(protocol_page()), Contains("*" + names[1] + "*"));
  EXPECT_THAT(lines_of(protocol_page()), Contains("*" + names[2] + "*"));
}

}  // namespace
}  // namespace s3rdmafs::docs
