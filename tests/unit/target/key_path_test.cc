// SPDX-License-Identifier: Apache-2.0
#include "target/store/key_path.h"

#include <fcntl.h>

#include "target_fixture.h"

namespace s3rdmafs::target {
namespace {

TEST(KeyPath, TakesKeysThatCanBePaths) {
  for (const char* key : {"a", "a/b", "a/", ".hidden", "...", "a b", "ä/ö", "a/.b/c.", "%2e%2e"}) {
    EXPECT_TRUE(is_storable_key(key)) << key;
  }
}

TEST(KeyPath, RefusesKeysThatCannotBePaths) {
  for (const std::string key :
       {"", "/", "/a", "//", "a//b", "a//", ".", "..", "../a", "a/../b", "a/..", "a/.", "./a"}) {
    EXPECT_FALSE(is_storable_key(key)) << key;
  }
  EXPECT_FALSE(is_storable_key(std::string_view("a\0b", 3)));
  EXPECT_TRUE(is_storable_key(std::string(255, 'a')));
  EXPECT_FALSE(is_storable_key(std::string(256, 'a')));
  EXPECT_EQ(check_new_key(std::string(1025, 'a')).error().code.name, "KeyTooLongError");
}

class KeySafetyTest : public TargetTest {};

TEST_F(KeySafetyTest, NoSymbolicLinkLeadsOutOfTheBucket) {
  write_file(folder("outside/secret"), "secret");
  std::filesystem::create_directories(folder("bucket"));
  std::filesystem::create_symlink(folder("outside"), folder("bucket/folder"));
  std::filesystem::create_symlink(folder("outside/secret"), folder("bucket/file"));
  EXPECT_EQ(send({.method = "GET", .target = "/outside/secret"}).status, 200);  // the control
  EXPECT_EQ(send({.method = "GET", .target = "/bucket/folder/secret"}).status, 404);
  EXPECT_EQ(send({.method = "GET", .target = "/bucket/file"}).status, 404);
  EXPECT_GE(send({.method = "PUT", .target = "/bucket/folder/new", .body = "x"}).status, 400);
  EXPECT_FALSE(std::filesystem::exists(folder("outside/new")));
  send({.method = "DELETE", .target = "/bucket/folder/secret"});
  EXPECT_EQ(read_file(folder("outside/secret")), "secret");
}

TEST_F(KeySafetyTest, DotsLeadNowhere) {
  write_file(folder("other/file"), "x");
  std::filesystem::create_directories(folder("bucket"));
  for (const char* target :
       {"/bucket/../other/file", "/bucket/%2e%2e/other/file", "/bucket/a/../../other/file"}) {
    EXPECT_EQ(send({.method = "GET", .target = target}).status, 404) << target;
    EXPECT_EQ(send({.method = "PUT", .target = target, .body = "y"}).status, 400) << target;
    send({.method = "DELETE", .target = target});
  }
  EXPECT_EQ(read_file(folder("other/file")), "x");
}

TEST_F(KeySafetyTest, TheServersOwnFolderIsNotABucket) {
  EXPECT_EQ(send({.method = "GET", .target = "/.s3rdma-target?list-type=2"}).status, 404);
  EXPECT_EQ(send({.method = "PUT", .target = "/.s3rdma-target/uploads/x", .body = "y"}).status,
            404);
  EXPECT_EQ(body(send({.method = "GET", .target = "/"})).find("s3rdma-target</Name>"),
            std::string::npos);
}

}  // namespace
}  // namespace s3rdmafs::target
