// SPDX-License-Identifier: Apache-2.0
#include "daemon/reload/reloader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mount_file_text.h"

namespace s3rdmafs::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kTell = Reloader::Extent::kTell;
constexpr auto kApply = Reloader::Extent::kApply;

class ReloaderTest : public testing::Test {
 protected:
  /// Each difference as "KEY BEFORE AFTER", with "!" after it where it takes a new mount.
  std::vector<std::string> reload(Reloader::Extent extent) {
    const auto changes = reloader_.reload(extent);
    if (!changes) return {"error " + changes.error().detail};
    std::vector<std::string> lines;
    for (const SettingChange& change : *changes) {
      lines.push_back(change.key + " " + change.before + " " + change.after +
                      (change.is_live ? "" : " !"));
    }
    return lines;
  }

  std::string file_;  // the lines of the mount file
  std::vector<std::string> applied_;
  Reloader reloader_{load_with("").value().config,
                     [this] { return load_with(file_); },
                     {{"log.level",
                       [this](const config::MountConfig& config) {
                         applied_.push_back("log.level " + config.log.level);
                       }},
                      {"resident", [this](const config::MountConfig& config) {
                         applied_.push_back("resident " + std::to_string(config.resident.size()));
                       }}}};
};

TEST_F(ReloaderTest, AppliesALiveSettingOnce) {
  EXPECT_THAT(reload(kApply), IsEmpty()) << "the control";
  file_ = "[log]\nlevel = \"debug\"\n";
  EXPECT_THAT(reload(kApply), ElementsAre("log.level \"info\" \"debug\""));
  EXPECT_THAT(applied_, ElementsAre("log.level debug"));
  EXPECT_THAT(reload(kApply), IsEmpty());
  file_ = "";
  EXPECT_THAT(reload(kApply), ElementsAre("log.level \"debug\" \"info\""));
  EXPECT_THAT(applied_, ElementsAre("log.level debug", "log.level info"));
}

TEST_F(ReloaderTest, TellsAndChangesNothing) {
  file_ = "[log]\nlevel = \"debug\"\n";
  EXPECT_THAT(reload(kTell), ElementsAre("log.level \"info\" \"debug\""));
  EXPECT_THAT(reload(kTell), ElementsAre("log.level \"info\" \"debug\"")) << "it still differs";
  EXPECT_THAT(applied_, IsEmpty());
}

TEST_F(ReloaderTest, LeavesOtherSettingsToTheNextMountAndSaysSoEachTime) {
  file_ = "[cache]\nsize = \"2GiB\"\n[log]\nlevel = \"warn\"\n";
  EXPECT_THAT(reload(kApply),
              ElementsAre("cache.size \"1GiB\" \"2GiB\" !", "log.level \"info\" \"warn\""));
  EXPECT_THAT(reload(kApply), ElementsAre("cache.size \"1GiB\" \"2GiB\" !"));
}

TEST_F(ReloaderTest, ComparesTheTablesOfResident) {
  file_ = "[[resident]]\nglob = \"weights/*\"\n";
  EXPECT_THAT(reload(kApply), ElementsAre("resident [] [\"weights/*\"]"));
  EXPECT_THAT(applied_, ElementsAre("resident 1"));
}

TEST(ReloaderOfTables, NamesTheTableThatIsNewGoneOrOther) {
  const auto load = [](const std::string& tables) {
    return config::load_mount_config_text(tables + "[endpoint]\nurl = \"http://127.0.0.1:9000\"\n",
                                          "train.toml", {});
  };
  const std::string train = "[[bucket]]\ndirectory = \"train\"\nname = \"train\"\n";
  std::string now = train;
  const auto mounted = load(train + "[[bucket]]\ndirectory = \"val\"\nname = \"val\"\n");
  ASSERT_TRUE(mounted) << mounted.error().detail;
  Reloader reloader(mounted->config, [&] { return load(now); }, {});
  EXPECT_THAT(reloader.settings_text(), HasSubstr("# [[bucket]] val: bucket.name = \"val\""));
  now =
      "[[bucket]]\ndirectory = \"train\"\nname = \"train\"\nprefix = \"a/\"\n"
      "[[bucket]]\ndirectory = \"test\"\nname = \"test\"\n";
  const auto changes = reloader.reload(kApply);
  ASSERT_TRUE(changes) << changes.error().detail;
  std::vector<std::string> keys;
  for (const SettingChange& change : *changes) {
    keys.push_back(change.key);
    EXPECT_FALSE(change.is_live) << "it takes a new mount";
  }
  EXPECT_THAT(keys, ElementsAre("[[bucket]] train", "[[bucket]] test", "[[bucket]] val"));
}

TEST_F(ReloaderTest, ChangesNothingWhereTheMountFileIsWrong) {
  file_ = "[log]\nlevel = \"debug\"\n[cache]\nsize = \"lots\"\n";
  EXPECT_THAT(reload(kApply), ElementsAre(HasSubstr("cache.size")));
  EXPECT_THAT(applied_, IsEmpty());
  file_ = "[log]\nlevel = \"debug\"\n";
  EXPECT_THAT(reload(kApply), ElementsAre("log.level \"info\" \"debug\"")) << "the next one works";
}

TEST_F(ReloaderTest, KeepsSecretsToItself) {
  file_ = "[credentials]\naccess_key_id = \"me\"\nsecret_access_key = \"hidden\"\n";
  EXPECT_THAT(reload(kTell), ElementsAre("credentials.access_key_id \"\" \"me\" !",
                                         "credentials.secret_access_key \"\" \"********\" !"));
}

TEST_F(ReloaderTest, TellsTheSettingsInEffect) {
  EXPECT_THAT(reloader_.settings_text(), HasSubstr("\nlevel = \"info\"\n"));
  file_ = "[log]\nlevel = \"debug\"\n[[resident]]\nglob = \"a/*\"\n[cache]\nsize = \"2GiB\"\n";
  ASSERT_TRUE(reloader_.reload(kApply));
  EXPECT_THAT(reloader_.settings_text(), HasSubstr("\nlevel = \"debug\"\n"));
  EXPECT_THAT(reloader_.settings_text(), HasSubstr("\nsize = \"1GiB\"\n")) << "still in effect";
  EXPECT_THAT(reloader_.settings_text(), HasSubstr("[[resident]] [\"a/*\"]"));
}

TEST_F(ReloaderTest, NamesTheDefaultsThatAProfileChangesInPlaceOfTheProfile) {
  file_ = "[read]\nmode = \"direct\"\n";
  ASSERT_THAT(reload(kTell), ElementsAre("read.mode \"auto\" \"direct\" !"));
  file_.clear();
  const auto with_profile = config::load_mount_config_text(
      "profile = \"training\"\n[bucket]\nname = \"train\"\n[endpoint]\nurl = "
      "\"http://127.0.0.1:9000\"\n",
      "train.toml", {});
  ASSERT_TRUE(with_profile) << with_profile.error().detail;
  Reloader reloader(load_with("").value().config, [&] { return with_profile; }, {});
  const auto changes = reloader.reload(kTell);
  ASSERT_TRUE(changes);
  EXPECT_FALSE(changes->empty()) << "the control";
  for (const SettingChange& change : *changes) EXPECT_NE(change.key, "profile");
}

}  // namespace
}  // namespace s3rdmafs::daemon
