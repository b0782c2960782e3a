// SPDX-License-Identifier: Apache-2.0
// Tables [[bucket]]: what each takes from the mount's own settings, and what is refused.
#include "config/tables/bucket_tables.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "config/print.h"
#include "mount_file.h"

namespace s3rdmafs::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr std::string_view kTwo = R"(
[[bucket]]
directory = "train"
name = "train-2026"
prefix = "images/"
endpoint.url = "http://127.0.0.1:9001"
credentials.file = "/etc/keys"
write.mode = "staged"
[bucket.metadata]
ttl = "5s"

[[bucket]]
directory = "val"
name = "val"

[endpoint]
url = "http://127.0.0.1:9000"
region = "eu-1"
[credentials]
access_key_id = "key"
secret_access_key = "secret"
)";

Result<LoadedConfig> load(std::string_view text, const Environment& environment = {}) {
  return load_mount_config_text(text, "m.toml", environment);
}
/// A table that loads but for the lines given.
std::string error_of_table(const std::string& lines) {
  return error_of(load("[[bucket]]\n" + lines + "\n[endpoint]\nurl = \"http://127.0.0.1:9000\"\n"));
}

TEST(BucketTables, HaveTheirOwnKeysAndTheMountsOtherwise) {
  const auto loaded = load(kTwo);
  ASSERT_TRUE(loaded) << error_of(loaded);
  const auto& directories = loaded->config.directories;
  ASSERT_THAT(directories, SizeIs(2));
  const MountConfig& train = *directories[0].config;
  EXPECT_EQ(directories[0].name, "train");
  EXPECT_EQ(train.bucket.name, "train-2026");
  EXPECT_EQ(train.bucket.prefix, "images/");
  EXPECT_EQ(train.endpoint.url, "http://127.0.0.1:9001");
  EXPECT_EQ(train.endpoint.region, "eu-1") << "of the mount";
  EXPECT_EQ(train.write.mode, WriteMode::kStaged);
  EXPECT_EQ(train.metadata.ttl, std::chrono::seconds(5));
  const MountConfig& val = *directories[1].config;
  EXPECT_EQ(directories[1].name, "val");
  EXPECT_EQ(val.endpoint.url, "http://127.0.0.1:9000");
  EXPECT_EQ(val.credentials.access_key_id, "key");
  EXPECT_EQ(val.write.mode, WriteMode::kOff);
  EXPECT_EQ(val.metadata.ttl, loaded->config.metadata.ttl);
  EXPECT_EQ(loaded->config.mount.file_mode, 0644U) << "one bucket can be written";
}

// Else a file of keys would be mixed with a key of another place.
TEST(BucketTables, TakeCredentialsFromOnePlaceOnly) {
  const auto loaded = load(kTwo);
  ASSERT_TRUE(loaded) << error_of(loaded);
  const MountConfig::Credentials& keys = loaded->config.directories[0].config->credentials;
  EXPECT_EQ(keys.file, "/etc/keys");
  EXPECT_EQ(keys.access_key_id, "");
}

TEST(BucketTables, AreNotThereInAFileOfOneBucket) {
  const auto loaded = load_with("");
  ASSERT_TRUE(loaded) << error_of(loaded);
  EXPECT_THAT(loaded->config.directories, SizeIs(0));
}

TEST(BucketTables, DirectoriesAreNames) {
  EXPECT_EQ(error_of_table("directory = \"a\"\nname = \"abc\""), "") << "the control";
  EXPECT_THAT(error_of_table("directory = \"a/b\"\nname = \"abc\""), HasSubstr("has a '/'"));
  EXPECT_THAT(error_of_table("directory = \"\"\nname = \"abc\""), HasSubstr("is empty"));
  EXPECT_THAT(error_of_table("directory = \".\"\nname = \"abc\""), HasSubstr("is '.'"));
  EXPECT_THAT(error_of_table("directory = \"..\"\nname = \"abc\""), HasSubstr("is '..'"));
  EXPECT_THAT(error_of_table("directory = \"a\\u0000\"\nname = \"abc\""), HasSubstr("NUL"));
  EXPECT_THAT(error_of_table("directory = 7\nname = \"abc\""), HasSubstr("type integer"));
}

TEST(BucketTables, DirectoriesDiffer) {
  EXPECT_THAT(
      error_of(load(std::string(kTwo) + "[[bucket]]\ndirectory = \"val\"\nname = \"abc\"\n")),
      AllOf(HasSubstr("m.toml:"), HasSubstr("'val' is that of line 13 too")));
}

TEST(BucketTables, NeedADirectoryANameAndAnEndpoint) {
  EXPECT_THAT(error_of_table("name = \"abc\""), HasSubstr("has no key directory"));
  EXPECT_THAT(error_of_table("directory = \"a\""), HasSubstr("has no key name"));
  EXPECT_THAT(error_of(load("[[bucket]]\ndirectory = \"a\"\nname = \"abc\"\n")),
              HasSubstr("has no endpoint"));
}

TEST(BucketTables, AreBounded) {
  std::string text;
  for (std::size_t i = 0; i <= kBucketTablesMax; ++i) {
    text += "[[bucket]]\ndirectory = \"d" + std::to_string(i) + "\"\nname = \"abc\"\n";
  }
  text += "[endpoint]\nurl = \"http://127.0.0.1:9000\"\n";
  EXPECT_THAT(error_of(load(text)), HasSubstr("expected at most 64"));
  EXPECT_TRUE(load(text.substr(text.find("[[", 1)))) << "the control: one less";
}

TEST(BucketTables, RefuseAMixOfBothForms) {
  EXPECT_THAT(error_of(load(kTwo, {.variables = {{"S3RDMAFS_BUCKET_NAME", "other"}}})),
              HasSubstr("bucket.name: is set together with [[bucket]]"));
  EXPECT_NE(error_of(load("[bucket]\nname = \"abc\"\n" + std::string(kTwo))), "");
}

TEST(BucketTables, RefuseKeysOfTheWholeMountAndUnknownOnes) {
  const std::string good = "directory = \"a\"\nname = \"abc\"\n";
  EXPECT_THAT(error_of_table(good + "cache.size = \"1GiB\""),
              HasSubstr("[[bucket]] cache.size: is of the whole mount; write it under [cache]"));
  EXPECT_THAT(error_of_table(good + "write.part_size = \"8MiB\""), HasSubstr("of the whole mount"));
  EXPECT_THAT(error_of_table(good + "directry = \"a\""), HasSubstr("did you mean directory?"));
  EXPECT_THAT(error_of_table(good + "endpoint.ur = \"a\""), HasSubstr("no such key"));
  EXPECT_THAT(error_of_table(good + "metadata.ttl = \"soon\""), HasSubstr("metadata.ttl"));
}

TEST(BucketTables, KeepTheRelationsBetweenKeys) {
  EXPECT_THAT(error_of_table("directory = \"a\"\nname = \"abc\"\nencryption.kms_key = \"k\""),
              HasSubstr("[[bucket]] encryption.kms_key: needs encryption.mode"));
}

TEST(BucketTables, ShowWhatDiffersWithoutSecrets) {
  std::string text(kTwo);
  text +=
      "[[bucket]]\ndirectory = \"own\"\nname = \"own\"\n"
      "credentials = { access_key_id = \"id\", secret_access_key = \"hidden\" }\n";
  const auto loaded = load(text);
  ASSERT_TRUE(loaded) << error_of(loaded);
  EXPECT_THAT(print_config(*loaded),
              AllOf(HasSubstr("[[bucket]]\ndirectory = \"train\"\nname = \"train-2026\""),
                    HasSubstr("endpoint.url = \"http://127.0.0.1:9001\""),
                    HasSubstr("credentials.access_key_id = \"id\""), Not(HasSubstr("hidden"))));
  EXPECT_TRUE(loaded->tables_hold_secret);
}

}  // namespace
}  // namespace s3rdmafs::config
