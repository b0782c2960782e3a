// SPDX-License-Identifier: Apache-2.0
#include "config/value.h"

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::config {
namespace {

using testing::HasSubstr;

// The error of setting section.name to text: empty if it was accepted.
std::string refusal(std::string_view section, std::string_view name, std::string_view text) {
  MountConfig config;
  const auto set = set_value(*find_key(section, name), text, config);
  return set ? "" : set.error().detail;
}

// The value as stored and printed again.
std::string stored(std::string_view section, std::string_view name, std::string_view text) {
  MountConfig config;
  const Key& key = *find_key(section, name);
  const auto set = set_value(key, text, config);
  return set ? toml_value(key, config) : set.error().detail;
}

// Pairs of a text and what comes of it.
using Outcomes = std::initializer_list<std::pair<std::string_view, std::string>>;

void expect_stored(std::string_view section, std::string_view name, Outcomes outcomes) {
  for (const auto& [text, value] : outcomes)
    EXPECT_EQ(stored(section, name, text), value) << name << " = " << text;
}
// Each is refused with an error that has these words.
void expect_refused(std::string_view section, std::string_view name, Outcomes outcomes) {
  for (const auto& [text, words] : outcomes) {
    EXPECT_THAT(refusal(section, name, text), HasSubstr(words)) << name << " = " << text;
  }
}

TEST(SizeValue, HasBoundsAndStepsAndNamesTheNearestOnes) {
  EXPECT_EQ(refusal("cache", "size", "64MiB"), "");
  expect_refused("cache", "size",
                 {{"56MiB", "too small; expected a size from 64MiB"},
                  {"17TiB", "too large"},
                  {"100MiB", "the nearest are 96MiB and 104MiB"}});
  expect_stored("rdma", "threshold", {{"0", "\"0\""}, {"65536", "\"64KiB\""}});
}

TEST(SizeOrAutoValue, IsTheWordOrASizeWithinItsBounds) {
  EXPECT_EQ(stored("rdma", "threshold", "auto"), "\"auto\"");
  EXPECT_THAT(refusal("rdma", "threshold", "9MiB"),
              HasSubstr("too large; expected \"auto\" or a size from 0 to 8MiB"));
  EXPECT_NE(refusal("rdma", "threshold", "automatic"), "");
}

TEST(HeaderNameValue, IsStoredInLowerCase) {
  EXPECT_EQ(stored("rdma", "token_header", "X-Rdma-Info"), "\"x-rdma-info\"");
  expect_refused("rdma", "token_header",
                 {{"x: y", "not the name of a header"}, {"", "not the name of a header"}});
}

TEST(ListenAddressValue, IsAnIpAddressWithAPortOrAUnixSocket) {
  expect_stored("metrics", "listen",
                {{"", "\"\""},
                 {"127.0.0.1:9464", "\"127.0.0.1:9464\""},
                 {"[::1]:9464", "\"[::1]:9464\""},
                 {"unix:/run/m/a.sock", "\"unix:/run/m/a.sock\""}});
  expect_refused("metrics", "listen",
                 {{"localhost:9464", "expected an IP address and a port"},
                  {"127.0.0.1", "expected an IP address and a port"},
                  {"::1:9464", "expected an IP address and a port"},
                  {"127.0.0.1:0", "expected an IP address and a port"},
                  {"unix:a.sock", "an absolute path"},
                  {"unix:/" + std::string(200, 'a'), "at most 107 bytes"}});
}

TEST(GidIndexValue, IsANumberOrOneOfTwoWords) {
  expect_stored("rdma", "gid_index",
                {{"auto", "\"auto\""}, {"none", "\"none\""}, {"255", "\"255\""}});
  expect_refused(
      "rdma", "gid_index",
      {{"256", "expected \"auto\", \"none\" or"}, {"any", "not an index in a GID table"}});
}

TEST(IntegerValue, IsAWholeNumberWithinItsBounds) {
  EXPECT_EQ(stored("http", "event_threads", "64"), "64");
  expect_refused("http", "event_threads",
                 {{"0", "too small"},
                  {"-1", "too small"},
                  {"65", "too large"},
                  {"2x", "not a whole number"},
                  {"99999999999999999999", "not a whole"}});
  EXPECT_EQ(stored("rdma", "traffic_class", "255"), "255");
  expect_refused("rdma", "traffic_class", {{"256", "too large"}});
  EXPECT_EQ(stored("rdma", "service_level", "15"), "15");
  expect_refused("rdma", "service_level", {{"16", "too large"}});
  EXPECT_THAT(refusal("mount", "uid", "4294967295"), HasSubstr("too large")) << "(uid_t)-1";
  EXPECT_EQ(refusal("mount", "uid", "4294967294"), "");
}

TEST(DurationValue, HasAUnitAndBounds) {
  EXPECT_EQ(stored("retry", "deadline", "1500ms"), "\"1500ms\"");
  expect_refused("retry", "deadline",
                 {{"30", "not a duration"}, {"99ms", "too short"}, {"2h", "too long"}});
  EXPECT_EQ(stored("metadata", "ttl", "0s"), "\"0s\"");
}

TEST(HexKeyValue, IsUpTo16DigitsWithOrWithoutA0x) {
  expect_stored("rdma", "dc_key",
                {{"0xffeeddcc", "\"0xffeeddcc\""},
                 {"FFEEDDCC", "\"0xffeeddcc\""},
                 {"0123456789abcdef", "\"0x123456789abcdef\""}});
  for (const char* wrong : {"", "0x", "-1", "0xg", "1123456789abcdef1"}) {
    expect_refused("rdma", "dc_key", {{wrong, "expected 1 to 16 hexadecimal digits"}});
  }
}

TEST(HexKeyValue, IsNotRepeatedInTheErrorForItMayBeASecret) {
  EXPECT_THAT(refusal("rdma", "dc_key", "hunter2"), testing::Not(HasSubstr("hunter2")));
}

TEST(RailsValue, IsAListOfDevicesPortsAndAddresses) {
  EXPECT_EQ(stored("rdma", "rails", "auto"), "\"auto\"");
  EXPECT_EQ(stored("rdma", "rails", "mlx5_0, mlx5_1:2,192.0.2.7"), "\"mlx5_0,mlx5_1:2,192.0.2.7\"");
  EXPECT_EQ(refusal("rdma", "rails", "2001:db8::1"), "");
  for (const char* wrong : {"", ",", "mlx5_0,,mlx5_1", "mlx5_0,", "mlx5/0"}) {
    EXPECT_THAT(refusal("rdma", "rails", wrong), HasSubstr("not a list of rails")) << wrong;
  }
}

TEST(ModeValue, IsOctalAndHasOnlyPermissionBits) {
  expect_stored("mount", "file_mode", {{"0440", "\"0440\""}, {"440", "\"0440\""}});
  expect_refused("mount", "file_mode",
                 {{"0448", "not an octal number"}, {"4755", "more than permission bits"}});
}

TEST(ChoiceValue, IsOneOfItsNames) {
  EXPECT_EQ(stored("rdma", "mode", "require"), "\"require\"");
  EXPECT_EQ(stored("endpoint", "addressing", "virtual-host"), "\"virtual-host\"");
  EXPECT_THAT(refusal("rdma", "mode", "on"),
              HasSubstr("expected one of \"prefer\", \"require\", \"off\""));
  EXPECT_THAT(refusal("log", "level", "loud"), HasSubstr("trace, debug, info, warn or error"));
}

TEST(BooleanValue, IsTrueOrFalse) {
  expect_stored("mount", "allow_other", {{"true", "true"}, {"false", "false"}});
  expect_refused("mount", "allow_other", {{"yes", "neither true nor false"}});
}

TEST(PrefixValue, EndsInASlashAndIsAPath) {
  expect_stored("bucket", "prefix", {{"", "\"\""}, {"a/b", "\"a/b/\""}, {"a/b/", "\"a/b/\""}});
  expect_refused("bucket", "prefix", {{"/a", "begins with"}});
  for (const std::string wrong : {"a//b", "..", "a/./b", "a/../b", "a//"}) {
    expect_refused("bucket", "prefix", {{wrong, "no path can have"}});
  }
  EXPECT_EQ(refusal("bucket", "prefix", "..."), "") << "three dots are a name";
}

TEST(EndpointValue, IsSchemeHostAndPort) {
  for (const std::string good : {"http://a", "https://s3.example.org:9000", "http://127.0.0.1:1",
                                 "http://[::1]:9000", "http://[fe80::1%eth0]", "http://a/"}) {
    EXPECT_EQ(refusal("endpoint", "url", good), "") << good;
  }
  for (const std::string bad :
       {"s3.example.org", "ftp://a", "http://", "http://a/bucket", "http://a?x",
        "http://a:", "http://a:0", "http://a:65536", "http://a:9x", "http://[::1", "http://a b",
        "HTTP://a", "http://user:secret@a", "http://[::1]x"}) {
    EXPECT_NE(refusal("endpoint", "url", bad), "") << bad;
  }
  EXPECT_EQ(stored("endpoint", "url", "http://a:9000/"), "\"http://a:9000\"");
  EXPECT_EQ(refusal("endpoint", "url", "http://user:secret@a").find("secret@"), std::string::npos);
}

TEST(EndpointsValue, IsAListOfUrls) {
  expect_stored("endpoint", "urls",
                {{"http://a:1/, https://b", "[\"http://a:1\", \"https://b\"]"}, {"", "[]"}});
  expect_refused("endpoint", "urls",
                 {{"http://a,b", "'b' does not begin with"},
                  {"http://a,,http://b", "does not begin with"},
                  {"http://a,http://a/", "appears twice"}});
}

TEST(BucketValue, IsANameAndNoAddress) {
  EXPECT_EQ(refusal("bucket", "name", "my.bucket-1"), "");
  for (const std::string bad :
       {"ab", "s3://bucket", "bucket/prefix", "-bucket", "buck et", "büch"}) {
    EXPECT_NE(refusal("bucket", "name", bad), "") << bad;
  }
}

TEST(PathValue, IsAbsolute) {
  EXPECT_EQ(refusal("mount", "point", "/mnt/x"), "");
  EXPECT_THAT(refusal("mount", "point", "mnt"), HasSubstr("not an absolute path"));
}

TEST(SocketValue, IsAutoOrAPathOrAnAbstractName) {
  for (const std::string good : {"auto", "/run/x", "@x"}) {
    EXPECT_EQ(refusal("rdma", "shm_socket", good), "") << good;
  }
  for (const std::string& bad : {std::string("x"), std::string("@"), std::string(108, '/')}) {
    EXPECT_NE(refusal("rdma", "shm_socket", bad), "") << bad;
  }
}

TEST(AnyValue, HasNoNulByte) {
  using namespace std::string_view_literals;
  EXPECT_THAT(refusal("credentials", "access_key_id", "a\0b"sv), HasSubstr("NUL"));
}

TEST(TomlString, EscapesWhatWouldEndIt) {
  EXPECT_EQ(toml_string("a\"b\\c\nd"), "\"a\\\"b\\\\c\\u000Ad\"");
}

}  // namespace
}  // namespace s3rdmafs::config
