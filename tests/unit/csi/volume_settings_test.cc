// SPDX-License-Identifier: Apache-2.0
#include "csi/volume/volume_settings.h"

#include <sys/mount.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "csi/volume/checks.h"
#include "csi/volume/identity.h"
#include "csi/volume/volume_keys.h"

namespace s3rdmafs::csi {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

VolumeUse use_with(Texts context) {
  VolumeUse use{.volume = "v"};
  use.context = std::move(context);
  use.capability = {.is_mount = true, .mode = AccessMode::kMultiNodeMultiWriter};
  return use;
}

VolumeSettings settings_of(Authentication authentication) {
  VolumeSettings settings;
  settings.authentication = authentication;
  settings.role_arn = "r";
  return settings;
}

TEST(VolumeKeys, DecideOnEachKeyOfTheMountFile) {
  for (const std::string& name : config::all_full_names()) {
    EXPECT_TRUE(is_decided(name))
        << name << ": may the author of a volume set it? Add it to volume_keys.cc";
  }
  EXPECT_EQ(setter_of("no.such"), KeySetter::kDriver);
}

TEST(VolumeKeys, GiveNoSecretToAnAttribute) {
  for (const config::Key& key : config::schema()) {
    if (!key.is_secret) continue;
    EXPECT_NE(setter_of(key.full_name()), KeySetter::kVolume) << key.full_name();
  }
}

TEST(VolumeSettings, TakeAttributesOptionsAndGroup) {
  VolumeUse use = use_with(
      {{"bucket.name", "train"}, {"write.mode", "staged"}, {"csi.storage.k8s.io/pod.name", "p"}});
  use.capability.mount_flags = {"noexec", "uid=5", "cache.size=1GiB"};
  use.capability.mount_group = "77";
  const auto settings = read_settings(use);
  ASSERT_TRUE(settings) << settings.error().detail;
  EXPECT_THAT(settings->keys, Contains(Pair("mount.uid", "5")));
  EXPECT_THAT(settings->keys, Contains(Pair("mount.gid", "77")));
  EXPECT_THAT(settings->keys, Contains(Pair("mount.file_mode", "0664")));
  EXPECT_THAT(settings->keys, Contains(Pair("cache.size", "1GiB")));
  EXPECT_FALSE(settings->read_only);
  EXPECT_EQ(settings->mount_attributes, static_cast<std::uint64_t>(MOUNT_ATTR_NOEXEC));
}

TEST(VolumeSettings, AreReadOnlyByRequestByModeAndByOption) {
  VolumeUse asked = use_with({});
  asked.read_only = true;
  VolumeUse by_mode = use_with({});
  by_mode.capability.mode = AccessMode::kMultiNodeReaderOnly;
  VolumeUse by_option = use_with({});
  by_option.capability.mount_flags = {"ro"};
  for (const VolumeUse& use : {asked, by_mode, by_option}) {
    const auto settings = read_settings(use);
    ASSERT_TRUE(settings);
    EXPECT_TRUE(settings->read_only);
    EXPECT_NE(settings->mount_attributes & MOUNT_ATTR_RDONLY, 0U);
  }
  EXPECT_FALSE(read_settings(use_with({}))->read_only) << "the control";
}

TEST(VolumeSettings, RefuseWhatIsNotTheVolumesToSet) {
  for (const auto& [name, said] :
       std::map<std::string, std::string>{{"log.file", "driver's own"},
                                          {"credentials.secret_access_key", "Secret"},
                                          {"bucket.nam", "did you mean bucket.name"},
                                          {"csi.storage.k8s.io", "no such key"}}) {
    const auto settings = read_settings(use_with({{name, "/x"}}));
    ASSERT_FALSE(settings) << name;
    EXPECT_THAT(settings.error().detail, HasSubstr(said));
  }
}

TEST(Identity, OfASecretIsItsKeys) {
  const VolumeSettings settings;
  const Texts secret{{"access_key_id", "A"}, {"secret_access_key", "S"}};
  const auto first = make_identity(settings, secret, {});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->digest_text(), make_identity(settings, secret, {})->digest_text());
  Texts other = secret;
  other["secret_access_key"] = "T";
  EXPECT_NE(first->digest_text(), make_identity(settings, other, {})->digest_text());
  EXPECT_FALSE(make_identity(settings, {}, {}));
  EXPECT_FALSE(make_identity(settings, {{"access_key_id", "A"}}, {}));
  EXPECT_FALSE(make_identity(settings_of(Authentication::kNode), secret, {}));
}

Texts pod(const std::string& account, const std::string& tokens) {
  return {{"csi.storage.k8s.io/pod.namespace", "ml"},
          {"csi.storage.k8s.io/serviceAccount.name", account},
          {"csi.storage.k8s.io/serviceAccount.tokens", tokens}};
}

TEST(Identity, OfAPodIsItsServiceAccountWhateverItsToken) {
  const VolumeSettings settings = settings_of(Authentication::kPod);
  const auto first = make_identity(settings, {}, pod("trainer", R"({"a":{"token":"t1"}})"));
  const auto later = make_identity(settings, {}, pod("trainer", R"({"a":{"token":"t2"}})"));
  const auto other = make_identity(settings, {}, pod("server", R"({"a":{"token":"t1"}})"));
  ASSERT_TRUE(first && later && other);
  EXPECT_EQ(first->digest_text(), later->digest_text());
  EXPECT_NE(first->digest_text(), other->digest_text());
  EXPECT_EQ(later->files.at(kTokenFile), "t2");
}

TEST(Identity, OfAPodNeedsAWellFormedTokenOfTheAudience) {
  VolumeSettings settings = settings_of(Authentication::kPod);
  for (const char* const tokens :
       {"", "[]", "{}", "{", R"({"a":1})", R"({"a":{"token":1}})", R"({"a":{"token":"x\ny"}})",
        R"({"a":{"token":"t"},"b":{"token":"u"}})"}) {
    EXPECT_FALSE(make_identity(settings, {}, pod("trainer", tokens))) << tokens;
  }
  settings.audience = "b";
  const auto chosen =
      make_identity(settings, {}, pod("trainer", R"({"a":{"token":"t"},"b":{"token":"u"}})"));
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->files.at(kTokenFile), "u");
}

TEST(Checks, TakePathsInTheirShortestFormAlone) {
  EXPECT_TRUE(check_path("p", "/a/b c"));
  for (const char* const path :
       {"", "a", "/", "/a/", "//a", "/a//b", "/a/./b", "/a/../b", "/..", "/a\nb"}) {
    EXPECT_FALSE(check_path("p", path)) << path;
  }
  EXPECT_FALSE(check_path("p", "/" + std::string(300, 'x')));
}

TEST(Checks, HideSecretsInAProgramsWords) {
  EXPECT_EQ(without_secrets("key topsecret is topsecret", {{"k", "topsecret"}}),
            "key ******** is ********");
}

}  // namespace
}  // namespace s3rdmafs::csi
