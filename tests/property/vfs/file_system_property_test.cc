// SPDX-License-Identifier: Apache-2.0
// The file system against the reference model: random changes by other clients, with names from an
// alphabet so small that files and directories of one name, empty components, "." and "..", and
// names that sort between "a" and "a/" come up often.
#include <rapidcheck.h>

#include <ostream>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "../kinds.h"
#include "checked_mount.h"

namespace s3rdmafs::vfs {

std::ostream& operator<<(std::ostream& out, const Command& command) {
  constexpr const char* kNames[] = {"put",  "remove", "lookup", "list",
                                    "open", "read",   "forget", "wait"};
  return out << kNames[static_cast<int>(command.kind)] << " '" << command.key << "' "
             << command.number;
}

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNoTtl{0};
constexpr milliseconds kTtl{6};  // of about so many commands

/// 1..5 bytes: enough for two components and a slash at either end.
rc::Gen<std::string> keys() {
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(1, 6), [](std::size_t length) {
    return rc::gen::container<std::string>(length, rc::gen::element('a', '-', '.', '/', '\x01'));
  });
}

rc::Gen<std::vector<Command>> command_lists() {
  using Kind = Command::Kind;
  const auto kind =
      kinds_by_weight<Kind>({{6, {Kind::kPut}},
                             {4, {Kind::kLookup}},
                             {3, {Kind::kRemove, Kind::kList, Kind::kOpen, Kind::kRead}},
                             {1, {Kind::kForget, Kind::kWait}}});
  const auto command = rc::gen::build<Command>(
      rc::gen::set(&Command::kind, kind), rc::gen::set(&Command::key, keys()),
      rc::gen::set(&Command::number, rc::gen::inRange(0U, Command::kNumberEnd)));
  return rc::gen::container<std::vector<Command>>(command);
}

RC_GTEST_PROP(FileSystemProperty, WithoutCachingEveryAnswerIsTheBucketAsItIs, ()) {
  const auto commands = *command_lists();
  RC_ASSERT(CheckedMount(kNoTtl).run(commands) == "");
}

RC_GTEST_PROP(FileSystemProperty, WithCachingEveryAnswerIsTheBucketAsItWasWithinTheTtl, ()) {
  const auto commands = *command_lists();
  RC_ASSERT(CheckedMount(kTtl).run(commands) == "");
}

// RapidCheck found it once in some 20,000 lists: "a/" was listed ahead, with "-/", before "a/a"
// came.
TEST(FileSystemProperty, AListingAheadOfItsOpeningMayBeAsOldAsTheTtl) {
  using enum Command::Kind;
  std::vector<Command> commands;
  for (const char* key : {"a/", "-", "-/", ".", ".-", "./", ""}) {
    commands.push_back({.kind = kPut, .key = key, .number = 0});
  }
  commands.insert(commands.begin() + 4, {.kind = kList, .key = "", .number = 0});
  commands.push_back({.kind = kList, .key = "/", .number = 5});
  commands.push_back({.kind = kPut, .key = "a/a", .number = 0});
  commands.push_back({.kind = kList, .key = "", .number = 15});
  EXPECT_EQ(CheckedMount(kTtl).run(commands), "");
}

RC_GTEST_PROP(FileSystemProperty, AServerThatIgnoresDelimitersMakesNoDifference, ()) {
  const auto commands = *command_lists();
  CheckedMount mount(kNoTtl);
  mount.ignore_delimiters();
  RC_ASSERT(mount.run(commands) == "");
}

// The controls: the same commands find each mistake that is planted.
class PlantedBugTest : public testing::TestWithParam<PlantedBug> {
 protected:
  static int mistakes_found(milliseconds ttl, PlantedBug bug) {
    constexpr int kSeeds = 300;
    constexpr int kSize = 100;  // RapidCheck's own largest
    int found = 0;
    for (int seed = 0; seed < kSeeds; ++seed) {
      const auto commands = command_lists()(rc::Random(static_cast<std::uint64_t>(seed)), kSize);
      if (!CheckedMount(ttl, bug).run(commands.value()).empty()) ++found;
    }
    return found;
  }
};

TEST_P(PlantedBugTest, IsFoundByTheModel) {
  EXPECT_EQ(mistakes_found(kNoTtl, PlantedBug::kNone), 0);
  EXPECT_GT(mistakes_found(kNoTtl, GetParam()), 0);
  EXPECT_GT(mistakes_found(kTtl, GetParam()), 0);
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedBugTest,
                         testing::Values(PlantedBug::kLookupMissesDirectories,
                                         PlantedBug::kListingForgetsAKey,
                                         PlantedBug::kReadMixesVersions));

}  // namespace
}  // namespace s3rdmafs::vfs
