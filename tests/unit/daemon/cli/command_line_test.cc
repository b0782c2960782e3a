// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/grammar/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

Result<Command> parse(const std::vector<std::string>& arguments) {
  return parse_command_line(arguments, "1.2.3");
}

// The parsed command, which must be of this kind: any other fails the test by exception.
template <class T>
T parse_as(const std::vector<std::string>& arguments) {
  return std::get<T>(parse(arguments).value());
}

std::string refusal(const std::vector<std::string>& arguments) {
  const auto parsed = parse(arguments);
  return parsed ? "" : parsed.error().detail;
}

TEST(CommandLine, MountsWithEveryOption) {
  const auto command = parse_as<MountCommand>({"/usr/bin/s3rdmafs", "mount", "a.toml", "/mnt", "-f",
                                               "-o", "ro,noatime", "-o", "cache.size=1GiB,uid=5"});

  EXPECT_EQ(command.file, "a.toml");
  EXPECT_EQ(command.mountpoint, "/mnt");
  EXPECT_TRUE(command.foreground);
  EXPECT_FALSE(command.fake);
  EXPECT_THAT(command.kernel_options, ElementsAre("ro", "noatime"));
  ASSERT_THAT(command.overrides, SizeIs(2));
  EXPECT_EQ(command.overrides[0].key, config::find_key("cache", "size"));
  EXPECT_EQ(command.overrides[0].text, "1GiB");
  EXPECT_EQ(command.overrides[0].source, "option -o cache.size");
}

TEST(CommandLine, MountsWithNothingButAFile) {
  const auto command = parse_as<MountCommand>({"s3rdmafs", "mount", "a.toml"});

  EXPECT_EQ(command.mountpoint, "");
  EXPECT_FALSE(command.foreground);
}

TEST(CommandLine, TakesOptionsInFrontOfTheFile) {
  const auto command = parse_as<MountCommand>({"s3rdmafs", "mount", "-o", "ro", "a.toml", "/mnt"});

  EXPECT_EQ(command.file, "a.toml");
  EXPECT_EQ(command.mountpoint, "/mnt");
}

TEST(CommandLine, KnowsTheOtherVerbs) {
  EXPECT_EQ(parse_as<UmountCommand>({"s3rdmafs", "umount", "/mnt"}).mountpoint, "/mnt");
  EXPECT_FALSE(parse_as<UmountCommand>({"s3rdmafs", "umount", "/mnt"}).lazy);
  EXPECT_TRUE(parse_as<UmountCommand>({"s3rdmafs", "umount", "/mnt", "--lazy"}).lazy);
  EXPECT_EQ(parse_as<StatsCommand>({"s3rdmafs", "stats", "/mnt"}).mountpoint, "/mnt");
  EXPECT_EQ(parse_as<ConfigCommand>({"s3rdmafs", "config", "a.toml"}).file, "a.toml");
  EXPECT_THAT(
      parse_as<ConfigCommand>({"s3rdmafs", "config", "a.toml", "-o", "log.level=warn"}).overrides,
      SizeIs(1));
}

TEST(CommandLine, DoctorTakesAFileAndWhereToReport) {
  const auto machine = parse_as<DoctorCommand>({"s3rdmafs", "doctor"});
  EXPECT_EQ(machine.file, "");
  EXPECT_EQ(machine.report, "");
  EXPECT_FALSE(machine.measure);
  const auto command = parse_as<DoctorCommand>(
      {"s3rdmafs", "doctor", "a.toml", "--report", "r.json", "--measure", "--json"});
  EXPECT_EQ(command.file, "a.toml");
  EXPECT_EQ(command.report, "r.json");
  EXPECT_TRUE(command.measure);
  EXPECT_TRUE(command.json);
  EXPECT_THAT(refusal({"s3rdmafs", "doctor", "a.toml", "--report"}), HasSubstr("--report"));
}

TEST(CommandLine, RecoverTakesAFileAMountPointAndWhatToDo) {
  const auto recover =
      parse_as<RecoverCommand>({"s3rdmafs", "recover", "a.toml", "/mnt", "--send", "--json"});
  EXPECT_EQ(recover.file, "a.toml");
  EXPECT_EQ(recover.mountpoint, "/mnt");
  EXPECT_TRUE(recover.send);
  EXPECT_FALSE(recover.discard);
  EXPECT_TRUE(recover.json);
}

TEST(CommandLine, WarmTakesPathsAndWhetherToReleaseThem) {
  const auto warm = parse_as<WarmCommand>({"s3rdmafs", "warm", "/mnt", "a", "b/*"});
  EXPECT_EQ(warm.mountpoint, "/mnt");
  EXPECT_EQ(warm.paths, (std::vector<std::string>{"a", "b/*"}));
  EXPECT_FALSE(warm.release);
  EXPECT_TRUE(parse_as<WarmCommand>({"s3rdmafs", "warm", "/mnt", "a", "--release"}).release);
  EXPECT_FALSE(parse({"s3rdmafs", "warm", "/mnt"})) << "no path";

  const auto traced = parse_as<WarmCommand>({"s3rdmafs", "warm", "/mnt", "--from-trace", "t",
                                             "--cached", "--rate", "2MiB", "--requests", "5"});
  EXPECT_EQ(traced.trace, "t");
  EXPECT_TRUE(traced.cached && traced.paths.empty());
  EXPECT_EQ(traced.bytes_per_second, 2U << 20U);
  EXPECT_EQ(traced.requests_per_second, 5U);
  EXPECT_EQ(parse_as<RecordCommand>({"s3rdmafs", "warm", "/mnt", "--record", "t"}).file, "t");
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"a", "--from-trace", "t"},
                                                {"--from-trace", "t", "--from-manifest", "m"},
                                                {"--record", "t", "--cached"},
                                                {"a", "--release", "--cached"},
                                                {"a", "--rate", "0"},
                                                {"a", "--rate", "fast"},
                                                {"a", "--requests", "0"}}) {
    std::vector<std::string> words{"s3rdmafs", "warm", "/mnt"};
    words.insert(words.end(), wrong.begin(), wrong.end());
    EXPECT_FALSE(parse(words)) << wrong.back();
  }
}

TEST(CommandLine, ShowsHelpOfTheProgramAndOfEachVerb) {
  EXPECT_THAT(parse_as<ShowText>({"s3rdmafs", "--help"}).text, HasSubstr("umount"));
  EXPECT_THAT(parse_as<ShowText>({"s3rdmafs", "mount", "--help"}).text, HasSubstr("--foreground"));
  EXPECT_THAT(parse_as<ShowText>({"s3rdmafs", "umount", "-h"}).text, HasSubstr("--lazy"));
  EXPECT_THAT(parse_as<ShowText>({"mount.s3rdma", "-h"}).text, StartsWith("Mounts the bucket"));
}

TEST(CommandLine, WritesAManifest) {
  const auto command =
      parse_as<ManifestCommand>({"s3rdmafs", "manifest", "a.toml", "images/", "-o", "m", "--jobs",
                                 "3", "--from-inventory", "manifest.json", "1.csv"});

  EXPECT_EQ(command.action, ManifestCommand::Action::kWrite);
  EXPECT_EQ(command.file, "a.toml");
  EXPECT_EQ(command.prefix, "images/");
  EXPECT_EQ(command.manifest, "m");
  EXPECT_EQ(command.jobs, 3U);
  EXPECT_THAT(command.inventory, ElementsAre("manifest.json", "1.csv"));
  const auto plain = parse_as<ManifestCommand>({"s3rdmafs", "manifest", "a.toml", "-o", "m"});
  EXPECT_EQ(plain.prefix, std::nullopt);
  EXPECT_EQ(plain.jobs, 16U);
  EXPECT_EQ(parse_as<ManifestCommand>({"s3rdmafs", "manifest", "a.toml", "", "-o", "m"}).prefix, "")
      << "the whole bucket, whatever bucket.prefix says";
}

TEST(CommandLine, VerifiesAndShowsAManifest) {
  const auto verify = parse_as<ManifestCommand>({"s3rdmafs", "manifest", "--verify", "m"});
  EXPECT_EQ(verify.action, ManifestCommand::Action::kVerify);
  EXPECT_EQ(verify.manifest, "m");
  const auto show = parse_as<ManifestCommand>({"s3rdmafs", "manifest", "--show", "m", "a/key"});
  EXPECT_EQ(show.action, ManifestCommand::Action::kShow);
  EXPECT_EQ(show.key, "a/key");
}

TEST(CommandLine, RefusesAManifestCommandThatDoesNotSayWhatToDo) {
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{},
                                                {"a.toml"},
                                                {"-o", "m"},
                                                {"a.toml", "--verify", "m"},
                                                {"--verify", "m", "--show", "m"},
                                                {"--show", "m", "a", "b"},
                                                {"--show", "m", "-o", "n"},
                                                {"a.toml", "-o", "m", "--jobs", "0"},
                                                {"a.toml", "-o", "m", "--jobs", "65"}}) {
    std::vector<std::string> arguments{"s3rdmafs", "manifest"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    EXPECT_THAT(refusal(arguments), HasSubstr("Try: s3rdmafs manifest --help")) << wrong.size();
  }
}

TEST(CommandLine, ShowsTheVersion) {
  EXPECT_EQ(parse_as<ShowText>({"s3rdmafs", "--version"}).text, "s3rdmafs 1.2.3\n");
}

TEST(CommandLine, NamesTheMistakeAndTheHelpToRead) {
  EXPECT_THAT(refusal({"s3rdmafs"}), HasSubstr("Try: s3rdmafs --help"));
  EXPECT_THAT(refusal({}), HasSubstr("Try: s3rdmafs --help")) << "argv may be empty (execve(2))";
  EXPECT_EQ(refusal({"s3rdmafs", "mont", "a.toml"}),
            "unknown command 'mont'; did you mean mount?\nTry: s3rdmafs --help");
  EXPECT_THAT(refusal({"s3rdmafs", "mount"}), HasSubstr("FILE is required"));
  EXPECT_THAT(refusal({"s3rdmafs", "mount", "a", "b", "c"}), HasSubstr("c\nTry: s3rdmafs mount"));
  EXPECT_THAT(refusal({"s3rdmafs", "mount", "a", "--lazy"}), HasSubstr("--lazy"));
  EXPECT_THAT(refusal({"s3rdmafs", "mount", "a", "-o"}), HasSubstr("-o"));
  EXPECT_THAT(refusal({"s3rdmafs", "mount", "a", "-o", "rw"}), HasSubstr("read-only for now"));
  EXPECT_THAT(refusal({"s3rdmafs", "mount", "a", "-o", "cache.sise=1"}),
              HasSubstr("did you mean cache.size?"));
}

// As util-linux 2.38 calls it for: mount -s -f -n -v -o noatime -t s3rdma a.toml /mnt
TEST(MountHelper, AcceptsTheArgumentsOfMount8) {
  const auto command = parse_as<MountCommand>(
      {"/sbin/mount.s3rdma", "a.toml", "/mnt", "-s", "-f", "-n", "-v", "-o", "rw,noatime"});

  EXPECT_EQ(command.file, "a.toml");
  EXPECT_EQ(command.mountpoint, "/mnt");
  EXPECT_TRUE(command.fake);
  EXPECT_FALSE(command.foreground) << "-f means fake here";
  EXPECT_THAT(command.kernel_options, ElementsAre("noatime"));
  ASSERT_THAT(command.overrides, SizeIs(1));
  EXPECT_EQ(command.overrides[0].key, config::find_key("log", "level"));
  EXPECT_EQ(command.overrides[0].text, "debug");
}

TEST(MountHelper, TakesANamespace) {
  EXPECT_EQ(
      parse_as<MountCommand>({"mount.s3rdma", "a.toml", "/mnt", "-o", "rw", "-N", "/proc/1/fd/4"})
          .mount_namespace,
      "/proc/1/fd/4");
}

TEST(MountHelper, OverlooksUnknownOptionsOnlyWhenSloppy) {
  EXPECT_EQ(refusal({"mount.s3rdma", "a.toml", "/mnt", "-s", "-o", "elephant"}), "");
  EXPECT_THAT(refusal({"mount.s3rdma", "a.toml", "/mnt", "-o", "elephant"}),
              HasSubstr("option -o elephant: no such option"));
}

TEST(MountHelper, LetsALogLevelWinOverVerbose) {
  const auto command =
      parse_as<MountCommand>({"mount.s3rdma", "a.toml", "/mnt", "-v", "-o", "rw,log.level=trace"});

  ASSERT_THAT(command.overrides, SizeIs(2));
  EXPECT_EQ(command.overrides.back().text, "trace") << "the last one wins in load_mount_config";
}

TEST(MountHelper, MountsItsOwnTypeOnlyAndNeedsAMountPoint) {
  EXPECT_EQ(refusal({"mount.s3rdma", "a.toml", "/mnt", "-t", "s3rdma"}), "");
  EXPECT_THAT(refusal({"mount.s3rdma", "a.toml", "/mnt", "-t", "nfs"}),
              HasSubstr("only type s3rdma"));
  EXPECT_THAT(refusal({"mount.s3rdma", "a.toml"}), HasSubstr("DIR is required"));
}

}  // namespace
}  // namespace s3rdmafs::daemon
