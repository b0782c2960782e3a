// SPDX-License-Identifier: Apache-2.0
// The options in the man pages against those of --help: the same set, for each verb.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/cli/command_line.h"
#include "man_page.h"

namespace s3rdmafs::docs {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

std::set<std::string> help_of(const std::vector<std::string>& arguments) {
  const auto command = daemon::parse_command_line(arguments, "0");
  return options_of_help(std::get<daemon::ShowText>(command.value()).text);
}

TEST(OptionsPage, OfS3rdmafsHasTheOptionsOfEachVerbAndNoOthers) {
  auto documented = documented_options(read_source("man/s3rdmafs.1.scd"));

  EXPECT_EQ(documented["OPTIONS"], help_of({"s3rdmafs", "--help"}));
  EXPECT_EQ(documented["MOUNT"], help_of({"s3rdmafs", "mount", "--help"}));
  EXPECT_EQ(documented["UMOUNT"], help_of({"s3rdmafs", "umount", "--help"}));
  EXPECT_EQ(documented["STATS"], help_of({"s3rdmafs", "stats", "--help"}));
  EXPECT_EQ(documented["WARM"], help_of({"s3rdmafs", "warm", "--help"}));
  EXPECT_EQ(documented["RECOVER"], help_of({"s3rdmafs", "recover", "--help"}));
  EXPECT_EQ(documented["DOCTOR"], help_of({"s3rdmafs", "doctor", "--help"}));
  EXPECT_EQ(documented["MANIFEST"], help_of({"s3rdmafs", "manifest", "--help"}));
  EXPECT_EQ(documented["CONFIG"], help_of({"s3rdmafs", "config", "--help"}));
  EXPECT_EQ(documented.size(), 9U) << "a verb that the program does not have, or this test";
}

TEST(OptionsPage, OfTheHelperHasItsOptionsAndNoOthers) {
  auto documented = documented_options(read_source("man/mount.s3rdma.8.scd"));

  EXPECT_EQ(documented["OPTIONS"], help_of({"mount.s3rdma", "--help"}));
}

// The controls: both readers see what is there, and only that.
TEST(OptionsPage, IsReadTermByTerm) {
  EXPECT_THAT(documented_options("# SYNOPSIS\n\n*-x*\n# OPTIONS\n\n*-o, --options* _LIST-A_\n"
                                 "\tText with *-y* in it.\n*--lazy*\n"),
              ElementsAre(Pair("OPTIONS", UnorderedElementsAre("-o", "--options", "--lazy"))));
}

TEST(OptionsOfHelp, AreTheNamesInItsFirstColumn) {
  EXPECT_THAT(
      options_of_help("Usage: x [OPTIONS]\n  FILE   Text\n  -o,--options LIST-A    See --not\n"
                      "  --lazy   Text\n"),
      UnorderedElementsAre("-o", "--options", "--lazy"));
}

}  // namespace
}  // namespace s3rdmafs::docs
