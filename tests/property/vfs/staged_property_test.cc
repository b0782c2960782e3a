// SPDX-License-Identifier: Apache-2.0
// Staged files by several handles, with stores and removals that fail at times and other clients
// that put and remove objects, against a model that keeps every byte (staged_model.h).
#include <rapidcheck.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "../kinds.h"
#include "staged_model.h"

namespace s3rdmafs::vfs {
namespace {

constexpr std::uint64_t kMuchRoom = 4 * kMiB;
constexpr std::uint64_t kLittleRoom = 64 * kKiB;  // of two files and their sidecars
constexpr std::uint64_t kLeastRoom = 40 * kKiB;   // of four parts, and of sidecars

rc::Gen<std::vector<StagedCommand>> staged_command_lists() {
  using Kind = StagedCommand::Kind;
  const auto kind = kinds_by_weight<Kind>(
      {{6, {Kind::kWrite, Kind::kRead}},
       {4, {Kind::kOpen}},
       {3, {Kind::kAppend, Kind::kTruncate, Kind::kSync, Kind::kClose}},
       {2, {Kind::kAllSucceed, Kind::kOpenToRead, Kind::kRename, Kind::kSyncSlowly}},
       {1,
        {Kind::kOpenTruncated, Kind::kOpenExclusive, Kind::kTruncatePath, Kind::kZero,
         Kind::kExtend, Kind::kUnlink, Kind::kForget, Kind::kCrash, Kind::kStoresFail,
         Kind::kAnswersLost, Kind::kRemovalsFail, Kind::kOtherPuts, Kind::kOtherRemoves}}});
  return rc::gen::container<std::vector<StagedCommand>>(rc::gen::build<StagedCommand>(
      rc::gen::set(&StagedCommand::kind, kind),
      rc::gen::set(&StagedCommand::name, rc::gen::inRange(0U, 3U)),
      rc::gen::set(&StagedCommand::handle, rc::gen::inRange(0U, 5U)),
      rc::gen::set(&StagedCommand::offset,
                   rc::gen::oneOf(rc::gen::inRange(0U, 30'000U),
                                  rc::gen::element(0U, 1U, 4095U, 4096U, 8192U, 16'384U))),
      rc::gen::set(&StagedCommand::bytes, rc::gen::element(0U, 1U, 100U, 4096U, 9000U))));
}

/// Files grow at their ends, and are seldom closed.
rc::Gen<std::vector<StagedCommand>> growing_file_lists() {
  using Kind = StagedCommand::Kind;
  const auto kind = kinds_by_weight<Kind>(
      {{20, {Kind::kAppend}},
       {3, {Kind::kOpenTruncated, Kind::kOpenExclusive}},
       {1,
        {Kind::kWrite, Kind::kRead, Kind::kTruncate, Kind::kSync, Kind::kClose, Kind::kZero,
         Kind::kUnlink, Kind::kRename, Kind::kSyncSlowly, Kind::kStoresFail, Kind::kAllSucceed,
         Kind::kOtherPuts, Kind::kTruncatePath}}});
  return rc::gen::container<std::vector<StagedCommand>>(rc::gen::build<StagedCommand>(
      rc::gen::set(&StagedCommand::kind, kind),
      rc::gen::set(&StagedCommand::name, rc::gen::inRange(0U, 3U)),
      rc::gen::set(&StagedCommand::handle, rc::gen::inRange(0U, 2U)),
      rc::gen::set(&StagedCommand::offset, rc::gen::element(0U, 1U, 4096U, 20'000U, 30'000U)),
      rc::gen::set(&StagedCommand::bytes, rc::gen::element(1U, 4096U, 9000U))));
}

RC_GTEST_PROP(StagedProperty, ThatHoldsWhereAFileIsLargerThanTheRoom, ()) {
  const auto commands = *growing_file_lists();
  const std::string wrong = StagedModel(StagedMistake::kNone, kLeastRoom).run(commands);
  if (!wrong.empty()) RC_LOG() << wrong;
  RC_ASSERT(wrong.empty());
}

RC_GTEST_PROP(StagedProperty, NothingAcknowledgedIsLostAndNoVersionOfAnotherClientIsReplaced, ()) {
  const auto commands = *staged_command_lists();
  const std::string wrong = StagedModel(StagedMistake::kNone, kMuchRoom).run(commands);
  if (!wrong.empty()) RC_LOG() << wrong;
  RC_ASSERT(wrong.empty());
}

RC_GTEST_PROP(StagedProperty, ThatHoldsWhereThereIsNotRoomForAllFiles, ()) {
  const auto commands = *staged_command_lists();
  const std::string wrong = StagedModel(StagedMistake::kNone, kLittleRoom).run(commands);
  if (!wrong.empty()) RC_LOG() << wrong;
  RC_ASSERT(wrong.empty());
}

// The control.
TEST(StagedProperty, FindsEachPlantedFault) {
  for (const auto mistake : {StagedMistake::kDropsConditions, StagedMistake::kForgetsAWrite,
                             StagedMistake::kBelievesAFailedStore, StagedMistake::kMixesBases}) {
    int found = 0;
    for (std::uint64_t seed = 0; seed < 1000 && found == 0; ++seed) {
      const auto commands = staged_command_lists()(rc::Random(seed), 100).value();
      if (!StagedModel(mistake, kMuchRoom).run(commands).empty()) ++found;
    }
    EXPECT_GT(found, 0) << static_cast<int>(mistake);
  }
}

}  // namespace
}  // namespace s3rdmafs::vfs
