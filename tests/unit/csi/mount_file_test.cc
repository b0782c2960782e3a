// SPDX-License-Identifier: Apache-2.0
#include "csi/volume/mount_file.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "config/toml_document.h"

namespace s3rdmafs::csi {
namespace {

using ::testing::HasSubstr;

const MountPlaces kPlaces{.folder = "/run/csi/mounts/0", .journal = "/var/lib/csi/journal/0"};

VolumeSettings settings_with(Texts keys) {
  VolumeSettings settings;
  settings.keys = {{"bucket.name", "train"}, {"endpoint.url", "http://127.0.0.1:1"}};
  for (const auto& [name, value] : keys) settings.keys[name] = value;
  return settings;
}

config::MountConfig load(const MountFile& file) {
  const config::Environment root{.variables = {}, .home = {}, .uid = 0, .gid = 0, .is_root = true};
  auto loaded = config::load_mount_config_text(file.text, "test", root);
  if (!loaded) throw std::runtime_error(loaded.error().detail);
  return loaded->config;
}

TEST(MountFile, SaysWhatTheVolumeSays) {
  const auto file = make_mount_file(
      settings_with({{"bucket.prefix", "a \"b\"\\c/"},
                     {"cache.size", "64MiB"},
                     {"bucket.requester_pays", "true"},
                     {"mount.uid", "5"},
                     {"write.mode", "staged"}}),
      {.name = {},
       .keys = {{"credentials.access_key_id", "A"}, {"credentials.secret_access_key", "S\"="}},
       .files = {},
       .file_keys = {{"endpoint.ca_file", "ca.crt"}}},
      kPlaces);
  ASSERT_TRUE(file) << file.error().detail;
  EXPECT_TRUE(file->may_write);
  const config::MountConfig config = load(*file);
  EXPECT_EQ(config.bucket.prefix, "a \"b\"\\c/");
  EXPECT_EQ(config.credentials.secret_access_key, "S\"=");
  EXPECT_TRUE(config.bucket.requester_pays);
  EXPECT_EQ(config.mount.uid, 5U);
  EXPECT_EQ(config.log.file, kPlaces.folder + "/log");
  EXPECT_EQ(config.write.state_dir, kPlaces.journal);
}

TEST(MountFile, TakesSeveralEndpointsFromOneText) {
  VolumeSettings settings =
      settings_with({{"endpoint.urls", "http://127.0.0.1:1,http://127.0.0.1:2"}});
  settings.keys.erase("endpoint.url");
  const auto file = make_mount_file(settings, {}, kPlaces);
  ASSERT_TRUE(file) << file.error().detail;
  EXPECT_EQ(load(*file).endpoint.urls.size(), 2U);
}

TEST(MountFile, NamesTheKeyThatS3rdmafsWouldRefuse) {
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"cache.size", "lots"},
                                          {"mount.uid", "07"},
                                          {"bucket.requester_pays", "yes"},
                                          {"rdma.mode", "maybe"},
                                          {"write.part_size", "1MiB"}}) {
    const auto file = make_mount_file(settings_with({{name, value}}), {}, kPlaces);
    ASSERT_FALSE(file) << name;
    EXPECT_EQ(file.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(file.error().detail, HasSubstr(name));
  }
}

// Whatever a value is, it stays the value of its own key: the file has the keys of one with a plain
// value.
TEST(MountFile, HasNoKeyThatAValueBroughtAlong) {
  const auto plain = make_mount_file(settings_with({{"bucket.prefix", "x"}}), {}, kPlaces);
  ASSERT_TRUE(plain);
  const auto keys_of = [](const MountFile& file) {
    std::string keys;
    const auto document = config::parse_toml(file.text, "test");
    for (const auto& entry : document->entries) keys += entry.section + "." + entry.name + "\n";
    return keys;
  };
  for (const char* const value : {"\"", "\\", "\"\n[log]\nfile = \"/x", "'''", "\"\"\"", "x\" #",
                                  "\\u0022", "]", "\x7f", "\t", "[[resident]]"}) {
    const auto file = make_mount_file(settings_with({{"bucket.prefix", value}}), {}, kPlaces);
    if (!file) continue;
    EXPECT_EQ(keys_of(*file), keys_of(*plain)) << value;
    EXPECT_EQ(load(*file).bucket.prefix, std::string(value) + "/") << value;
  }
}

}  // namespace
}  // namespace s3rdmafs::csi
