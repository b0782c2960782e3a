// SPDX-License-Identifier: Apache-2.0
#include "config/mount_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<MountOptions> parse(const std::vector<std::string>& lists, const OptionRules& rules = {}) {
  return parse_mount_options(lists, rules);
}

std::string refusal_of(const std::string& list, const OptionRules& rules = {}) {
  const auto parsed = parse({list}, rules);
  return parsed ? "" : parsed.error().detail;
}

// Overrides as "key=text (source)".
std::vector<std::string> overrides_of(const MountOptions& options) {
  std::vector<std::string> result;
  for (const Override& entry : options.overrides) {
    result.push_back(entry.key->full_name() + "=" + entry.text + " (" + entry.source + ")");
  }
  return result;
}

TEST(MountOptions, PassesFlagsOfAnyFileSystemToTheKernel) {
  const auto parsed = parse({"ro,nosuid,nodev", "noexec,noatime,sync"});

  EXPECT_THAT(parsed->kernel_options,
              ElementsAre("ro", "nosuid", "nodev", "noexec", "noatime", "sync"));
  EXPECT_THAT(parsed->overrides, IsEmpty());
}

TEST(MountOptions, OverlooksWhatIsMeantForOthers) {
  const auto parsed =
      parse({"defaults,auto,noauto,nofail,_netdev,user=joe,users,relatime,"
             "x-systemd.automount,x-initrd.mount,comment=hello"});

  ASSERT_TRUE(parsed) << parsed.error().detail;
  EXPECT_THAT(parsed->kernel_options, IsEmpty());
  EXPECT_THAT(parsed->overrides, IsEmpty());
}

TEST(MountOptions, SetsKeysOfTheMountFile) {
  const auto parsed = parse({"cache.size=4GiB,uid=1000", "gid=100,allow_other,bucket.prefix=a=b"});

  EXPECT_THAT(
      overrides_of(*parsed),
      ElementsAre("cache.size=4GiB (option -o cache.size)", "mount.uid=1000 (option -o uid)",
                  "mount.gid=100 (option -o gid)", "mount.allow_other=true (option -o allow_other)",
                  "bucket.prefix=a=b (option -o bucket.prefix)"));
}

TEST(MountOptions, KeepsCommasInDoubleQuotes) {
  EXPECT_THAT(
      overrides_of(*parse({"bucket.prefix=\"a,b\",uid=1"})),
      ElementsAre("bucket.prefix=a,b (option -o bucket.prefix)", "mount.uid=1 (option -o uid)"));
  EXPECT_THAT(refusal_of("bucket.prefix=\"a,uid=1"), HasSubstr("not closed"));
}

TEST(MountOptions, NamesTheOptionThatIsUnknown) {
  EXPECT_EQ(refusal_of("ro,cache.sise=1GiB"),
            "option -o cache.sise: no such option; did you mean cache.size?");
  EXPECT_EQ(refusal_of("noatme"), "option -o noatme: no such option; did you mean noatime?");
  EXPECT_EQ(refusal_of("elephant"), "option -o elephant: no such option");
}

TEST(MountOptions, OverlooksUnknownOptionsWhenSloppy) {
  EXPECT_EQ(refusal_of("elephant,cache.sise=1", {.ignore_unknown = true}), "");
  EXPECT_NE(refusal_of("uid", {.ignore_unknown = true}), "") << "known, but without a value";
}

TEST(MountOptions, RefusesWritingUnlessMountItselfAskedForIt) {
  EXPECT_THAT(refusal_of("rw"), HasSubstr("read-only for now"));
  EXPECT_EQ(refusal_of("rw", {.ignore_rw = true}), "");
  EXPECT_THAT(refusal_of("remount,ro"), HasSubstr("unmount it"));
}

TEST(MountOptions, WantsAValueForAllButBooleans) {
  EXPECT_THAT(refusal_of("uid"), HasSubstr("write it like uid=VALUE"));
  EXPECT_EQ(refusal_of("allow_other=false,credentials.anonymous"), "");
}

TEST(MountOptions, TakesNoSecretFromACommandLine) {
  EXPECT_THAT(refusal_of("credentials.secret_access_key=hunter2"),
              AllOf(HasSubstr("use credentials.file"), testing::Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refusal_of("credentials.secret_access_key=\"hunter2"),
              AllOf(HasSubstr("not closed"), testing::Not(HasSubstr("hunter2"))));
  EXPECT_EQ(refusal_of("credentials.access_key_id=A"), "") << "the control: not a secret";
}

}  // namespace
}  // namespace s3rdmafs::config
