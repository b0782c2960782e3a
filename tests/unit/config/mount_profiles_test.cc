// SPDX-License-Identifier: Apache-2.0
#include "config/keys/mount_profiles.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/print.h"
#include "config/value.h"
#include "mount_file.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::config {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;

std::string chosen(Profile profile) {
  return fmt::format("profile = \"{}\"\n", profile_name(profile));
}

Result<LoadedConfig> load_profile(Profile profile, std::string_view more = "",
                                  const Environment& environment = {},
                                  std::span<const Override> overrides = {}) {
  return load_mount_config_text(chosen(profile) + std::string(kRequiredKeys) + std::string(more),
                                "train.toml", environment, overrides);
}

std::string value_of(LoadedConfig& loaded, const ProfileLine& line) {
  return toml_value(*find_key(line.section, line.name), loaded.config);
}

std::string source_of(const LoadedConfig& loaded, const ProfileLine& line) {
  return loaded.sources.at(find_key(line.section, line.name));
}

// The line of the printed section that sets the key.
std::string printed_line(const LoadedConfig& loaded, const ProfileLine& line) {
  const std::string text = print_config(loaded);
  const std::size_t section = text.find(fmt::format("[{}]\n", line.section));
  const std::size_t at = text.find(fmt::format("\n{} = ", line.name), section) + 1;
  return text.substr(at, text.find('\n', at) - at);
}

TEST(MountProfile, ShowsEachOfItsLinesInWhatConfigPrints) {
  for (const ProfileLine& line : profile_lines()) {
    auto loaded = load_profile(line.profile);
    ASSERT_TRUE(loaded) << error_of(loaded);
    EXPECT_THAT(loaded->warnings, IsEmpty()) << profile_name(line.profile);

    MountConfig wanted;
    ASSERT_TRUE(set_value(*find_key(line.section, line.name), line.text, wanted)) << line.name;
    const std::string value = toml_value(*find_key(line.section, line.name), wanted);
    const std::string printed = printed_line(*loaded, line);
    EXPECT_THAT(printed, HasSubstr(fmt::format("{} = {} ", line.name, value)));
    EXPECT_THAT(printed, HasSubstr(fmt::format("# from profile {}", profile_name(line.profile))));

    auto without = load_with("");
    EXPECT_NE(value_of(*without, line), value) << "the control: " << line.name;
  }
}

TEST(MountProfile, YieldsToTheFileTheEnvironmentAndOptionsInEachOfItsLines) {
  auto defaults = load_with("");
  for (const ProfileLine& line : profile_lines()) {
    const Key& key = *find_key(line.section, line.name);
    const std::string value = value_of(*defaults, line);
    std::string text = value;
    std::erase(text, '"');
    const Override option{.key = &key, .text = text, .source = "option"};

    const std::string in_file = fmt::format("[{}]\n{} = {}\n", line.section, line.name, value);
    for (auto& loaded :
         {load_profile(line.profile, in_file),
          load_profile(line.profile, "", {.variables = {{key.variable_name(), text}}}),
          load_profile(line.profile, "", {}, {&option, 1})}) {
      ASSERT_TRUE(loaded) << error_of(loaded);
      auto copy = *loaded;
      EXPECT_EQ(value_of(copy, line), value) << line.name;
      EXPECT_EQ(source_of(copy, line).find("profile"), std::string::npos) << line.name;
    }
  }
}

TEST(MountProfile, IsChosenByTheEnvironmentAndByAnOptionToo) {
  const Environment environment{.variables = {{"S3RDMAFS_PROFILE", "serving"}}};
  EXPECT_EQ(load_profile(Profile::kTraining, "", environment)->config.profile, Profile::kServing);
  const Override option{
      .key = find_key("", "profile"), .text = "checkpoint", .source = "option -o profile"};
  const auto loaded = load_with("", environment, {&option, 1});
  ASSERT_TRUE(loaded) << error_of(loaded);
  EXPECT_EQ(loaded->config.write.mode, WriteMode::kSequential);
  EXPECT_EQ(loaded->config.mount.file_mode, 0644U) << "defaults that follow from a line follow";
}

TEST(MountProfile, IsRefusedUnlessItIsAKnownOneAboveAllSections) {
  const auto unknown = load_mount_config_text("profile = \"train\"\n", "a.toml", {});
  EXPECT_THAT(error_of(unknown), ContainsRegex("a.toml:1:11: profile: .*\"training\""));
  EXPECT_THAT(error_of(load_with("[cache]\nprofile = \"training\"\n")),
              HasSubstr("cache.profile: no such key"));
  EXPECT_THAT(error_of(load_mount_config_text("profil = \"training\"\n", "a.toml", {})),
              HasSubstr("did you mean profile?"));
}

}  // namespace
}  // namespace s3rdmafs::config
