// SPDX-License-Identifier: Apache-2.0
#include "config/print.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/value.h"
#include "mount_file.h"

namespace s3rdmafs::config {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(PrintConfig, ShowsEachValueWithItsSource) {
  const auto loaded =
      load_with("[cache]\nsize = 134217728\n", {.variables = {{"S3RDMAFS_LOG_LEVEL", "debug"}}});
  ASSERT_TRUE(loaded) << error_of(loaded);

  const std::string text = print_config(*loaded);

  EXPECT_THAT(text, ContainsRegex("\nsize = \"128MiB\" +# train.toml:7\n"));
  EXPECT_THAT(text, ContainsRegex("\nlevel = \"debug\" +# environment S3RDMAFS_LOG_LEVEL\n"));
  EXPECT_THAT(text, ContainsRegex("\nfile_mode = \"0444\" +# default\n"));
}

TEST(PrintConfig, IsAMountFileThatLoadsToTheSameValues) {
  const auto loaded = load_with("[bucket2]\n");
  ASSERT_FALSE(loaded) << "the control: an unknown section does not load";
  auto first = load_with(
      "[metadata]\nttl = \"0s\"\n[mount]\npoint = \"/mnt/\\\"odd\\\" name\"\n"
      "[[resident]]\nglob = \"a/\\\"b\\\"/*\"\n");
  ASSERT_TRUE(first) << error_of(first);

  auto second = load_mount_config_text(print_config(*first), "printed.toml", {});

  ASSERT_TRUE(second) << error_of(second);
  for (const Key& key : schema()) {
    EXPECT_EQ(toml_value(key, first->config), toml_value(key, second->config)) << key.full_name();
  }
  ASSERT_EQ(second->config.resident.size(), 1U);
  EXPECT_EQ(second->config.resident[0].glob, "a/\"b\"/*");
}

TEST(PrintConfig, HidesSecretsThatAreSet) {
  const auto loaded =
      load_with("[credentials]\naccess_key_id = \"AKID\"\nsecret_access_key = \"hunter2\"\n");
  ASSERT_TRUE(loaded) << error_of(loaded);

  const std::string text = print_config(*loaded);

  EXPECT_THAT(text, HasSubstr("secret_access_key = \"********\""));
  EXPECT_THAT(text, HasSubstr("access_key_id = \"AKID\"")) << "not a secret: it names the key";
  EXPECT_THAT(text, HasSubstr("session_token = \"\"")) << "nothing there to hide";
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
}

TEST(PrintConfig, HidesADcKeyOfOnesOwnButNotTheOneThatAllKnow) {
  const auto standard = load_with("");
  ASSERT_TRUE(standard) << error_of(standard);
  EXPECT_THAT(print_config(*standard), HasSubstr("dc_key = \"0xffeeddcc\""));

  const auto own = load_with("[rdma]\ndc_key = \"0x5ec7e7\"\n");
  ASSERT_TRUE(own) << error_of(own);
  EXPECT_THAT(print_config(*own), HasSubstr("dc_key = \"********\""));
}

}  // namespace
}  // namespace s3rdmafs::config
