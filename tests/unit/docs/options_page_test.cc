// SPDX-License-Identifier: Apache-2.0
// The options in the man pages and in completions against those of --help: the same set, for each
// verb.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/cli/grammar/command_line.h"
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

/// The words of letters and dashes that follow a mark.
std::set<std::string> words_after(const std::string& text, std::string_view mark) {
  std::set<std::string> words;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    at += mark.size();
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
    if (const std::string word = text.substr(at, end - at); !word.empty()) words.insert(word);
  }
  return words;
}

/// The same, with the mark.
std::set<std::string> words_with(const std::string& text, std::string_view mark) {
  std::set<std::string> words;
  for (const std::string& word : words_after(text, mark)) words.insert(std::string(mark) + word);
  return words;
}

TEST(OptionsPage, OfS3rdmafsHasTheOptionsOfEachVerbAndNoOthers) {
  auto documented = documented_options(read_source("man/s3rdmafs.1.scd"));

  EXPECT_EQ(documented["OPTIONS"], help_of({"s3rdmafs", "--help"}));
  EXPECT_EQ(documented["MOUNT"], help_of({"s3rdmafs", "mount", "--help"}));
  EXPECT_EQ(documented["UMOUNT"], help_of({"s3rdmafs", "umount", "--help"}));
  EXPECT_EQ(documented["STATS"], help_of({"s3rdmafs", "stats", "--help"}));
  EXPECT_EQ(documented["TOP"], help_of({"s3rdmafs", "top", "--help"}));
  EXPECT_EQ(documented["EXPLAIN"], help_of({"s3rdmafs", "explain", "--help"}));
  EXPECT_EQ(documented["WARM"], help_of({"s3rdmafs", "warm", "--help"}));
  EXPECT_EQ(documented["RELOAD"], help_of({"s3rdmafs", "reload", "--help"}));
  EXPECT_EQ(documented["RUN"], help_of({"s3rdmafs", "run", "--help"}));
  EXPECT_EQ(documented["RECOVER"], help_of({"s3rdmafs", "recover", "--help"}));
  EXPECT_EQ(documented["DOCTOR"], help_of({"s3rdmafs", "doctor", "--help"}));
  EXPECT_EQ(documented["MANIFEST"], help_of({"s3rdmafs", "manifest", "--help"}));
  EXPECT_EQ(documented["CONFIG"], help_of({"s3rdmafs", "config", "--help"}));
  EXPECT_EQ(documented.size(), 13U) << "a verb that the program does not have, or this test";
}

TEST(OptionsPage, OfTheHelperHasItsOptionsAndNoOthers) {
  auto documented = documented_options(read_source("man/mount.s3rdma.8.scd"));

  EXPECT_EQ(documented["OPTIONS"], help_of({"mount.s3rdma", "--help"}));
}

// The files that shells read. Each file names the verb in its own way, so options are compared as
// one set.
std::set<std::string> long_options_of_help() {
  std::set<std::string> all = help_of({"s3rdmafs", "--help"});
  for (const char* verb : {"mount", "umount", "stats", "top", "explain", "warm", "reload", "run",
                           "recover", "doctor", "manifest", "config"}) {
    all.merge(help_of({"s3rdmafs", verb, "--help"}));
  }
  std::erase_if(all, [](const std::string& option) { return !option.starts_with("--"); });
  return all;
}

TEST(Completions, OfferTheOptionsOfHelpAndNoOthers) {
  const std::set<std::string> all = long_options_of_help();
  EXPECT_EQ(words_with(read_source("packaging/completions/s3rdmafs.bash"), "--"), all);
  EXPECT_EQ(words_with(read_source("packaging/completions/_s3rdmafs"), "--"), all);
  std::set<std::string> fish;
  for (const std::string& name :
       words_after(read_source("packaging/completions/s3rdmafs.fish"), " -l ")) {
    fish.insert("--" + name);
  }
  EXPECT_EQ(fish, all);
}

TEST(Completions, AreReadWordByWord) {
  EXPECT_THAT(words_with("a) x=\"--json --report\" ;; '(--send)--discard[x]'", "--"),
              UnorderedElementsAre("--json", "--report", "--send", "--discard"));
  EXPECT_THAT(words_after("-s o -l output -r\n-l json", "-l "),
              UnorderedElementsAre("output", "json"));
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
