// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/endpoint_set.h"

#include <set>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"

namespace s3rdmafs::s3 {
namespace {

using Answer = EndpointSet::Outcome;
using namespace std::chrono_literals;

constexpr std::uint64_t kMiBytes = 1024ULL * 1024;

class EndpointSetTest : public ::testing::Test {
 protected:
  std::size_t ask(Answer outcome = Answer::kAnswered, EndpointSet::Preference preference = {}) {
    const std::size_t chosen = set_.begin(0, preference);
    set_.end(chosen, 0, outcome);
    return chosen;
  }
  void kill(std::size_t endpoint) {
    const std::size_t chosen = set_.begin(0, {.preferred = endpoint});
    ASSERT_EQ(chosen, endpoint);
    set_.end(endpoint, 0, Answer::kNotReached);
    ASSERT_EQ(set_.state(endpoint), EndpointSet::State::kDead);
  }
  std::set<std::size_t> chosen_in(unsigned requests) {
    std::set<std::size_t> chosen;
    for (unsigned i = 0; i < requests; ++i) chosen.insert(ask());
    return chosen;
  }

  fakes::FakeClock clock_;
  EndpointSet set_{3, clock_};
};

TEST_F(EndpointSetTest, ChoosesTheOneWithTheFewestBytesOutstanding) {
  const std::size_t first = set_.begin(8 * kMiBytes, {});
  const std::size_t second = set_.begin(4 * kMiBytes, {});
  const std::size_t third = set_.begin(kMiBytes, {});
  EXPECT_EQ((std::set{first, second, third}), (std::set<std::size_t>{0, 1, 2}));
  EXPECT_EQ(set_.begin(2 * kMiBytes, {}), third);
  EXPECT_EQ(set_.begin(kMiBytes, {}), third) << "which has 4 MiB now, less than 4.5 and 8.5";
  set_.end(first, 8 * kMiBytes, Answer::kAnswered);
  EXPECT_EQ(set_.begin(0, {}), first) << "the control: what has ended does not count";
}

TEST_F(EndpointSetTest, CountsRequestsWithoutBytesToo) {
  std::set<std::size_t> chosen;
  for (int i = 0; i < 3; ++i) chosen.insert(set_.begin(0, {}));
  EXPECT_EQ(chosen.size(), 3U);
}

TEST_F(EndpointSetTest, NeverTakesWhatIsLeftOut) {
  const std::size_t excluded[] = {0, 2};
  const EndpointSet::Preference preference{.preferred = 0, .avoided = 1, .excluded = excluded};
  EXPECT_EQ(ask(Answer::kAnswered, preference), 1U) << "however much it is avoided";
  EXPECT_FALSE(set_.has_other_alive(1, excluded));
  EXPECT_TRUE(set_.has_other_alive(0, excluded));
  kill(1);
  EXPECT_FALSE(set_.has_other_alive(0, excluded));
  EXPECT_EQ(ask(Answer::kNothing, preference), 1U) << "and though it is dead";
}

TEST_F(EndpointSetTest, TakesTurnsWhereAllAreIdle) { EXPECT_EQ(chosen_in(3).size(), 3U); }

TEST_F(EndpointSetTest, GoesWhereItIsAskedToIfThatOneIsAlive) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(Answer::kAnswered, {.preferred = 1}), 1U);
  kill(1);
  EXPECT_NE(ask(Answer::kAnswered, {.preferred = 1}), 1U);
}

TEST_F(EndpointSetTest, AvoidsTheOneThatFailedARequestUnlessItIsTheLast) {
  for (int i = 0; i < 6; ++i) EXPECT_NE(ask(Answer::kAnswered, {.avoided = 2}), 2U);
  kill(0);
  kill(1);
  EXPECT_EQ(ask(Answer::kAnswered, {.avoided = 2}), 2U);
}

TEST_F(EndpointSetTest, LeavesADeadOneOut) {
  kill(0);
  EXPECT_FALSE(chosen_in(12).contains(0));
  EXPECT_TRUE(set_.has_other_alive(1));
}

TEST_F(EndpointSetTest, ProbesADeadOneWithOneRequestAfterAPause) {
  kill(0);
  clock_.advance(EndpointSet::kPauseFirst);
  EXPECT_EQ(set_.begin(0, {}), 0U) << "the probe";
  EXPECT_EQ(set_.state(0), EndpointSet::State::kProbing);
  EXPECT_FALSE(chosen_in(12).contains(0)) << "while the probe is under way";
  EXPECT_EQ(set_.end(0, 0, Answer::kAnswered), EndpointSet::State::kAlive);
  EXPECT_TRUE(chosen_in(6).contains(0));
}

TEST_F(EndpointSetTest, WaitsLongerAfterEachProbeThatFailsUpToABound) {
  kill(0);
  auto pause = EndpointSet::kPauseFirst;
  for (int i = 0; i < 12; ++i) {
    clock_.advance(pause - 1ms);
    EXPECT_NE(ask(), 0U);
    clock_.advance(1ms);
    EXPECT_EQ(ask(Answer::kNotReached), 0U) << pause.count();
    pause = std::min(pause * 2, EndpointSet::kPauseMax);
  }
  EXPECT_EQ(pause, EndpointSet::kPauseMax);
}

TEST_F(EndpointSetTest, ProbesAgainAtOnceIfTheProbeToldNothing) {
  kill(0);
  clock_.advance(EndpointSet::kPauseFirst);
  EXPECT_EQ(ask(Answer::kNothing), 0U);
  EXPECT_EQ(ask(), 0U);
}

TEST_F(EndpointSetTest, TakesASlowProbeForAFailedOne) {
  kill(0);
  clock_.advance(EndpointSet::kPauseFirst);
  EXPECT_EQ(ask(Answer::kGivenUp), 0U);
  EXPECT_EQ(set_.state(0), EndpointSet::State::kDead);
  EXPECT_NE(ask(), 0U) << "not before the next pause is over";
}

TEST_F(EndpointSetTest, NeedsSeveralFailuresInARowIfARequestReachedTheServer) {
  for (const Answer outcome : {Answer::kServerError, Answer::kNoAnswer}) {
    for (unsigned i = 0; i + 1 < EndpointSet::kFailuresMax; ++i) ask(outcome, {.preferred = 1});
    ask(Answer::kAnswered, {.preferred = 1});
    for (unsigned i = 0; i + 1 < EndpointSet::kFailuresMax; ++i) ask(outcome, {.preferred = 1});
    EXPECT_EQ(set_.state(1), EndpointSet::State::kAlive) << "an answer came between";
    ask(outcome, {.preferred = 1});
    EXPECT_EQ(set_.state(1), EndpointSet::State::kDead);
    clock_.advance(EndpointSet::kPauseFirst);
    EXPECT_EQ(ask(), 1U);
  }
}

TEST_F(EndpointSetTest, LetsRequestsOfBeforeTheEndNotMakeThePauseLonger) {
  for (int i = 0; i < 10; ++i) static_cast<void>(set_.begin(0, {.preferred = 0}));
  for (int i = 0; i < 10; ++i) set_.end(0, 0, Answer::kNotReached);
  clock_.advance(EndpointSet::kPauseFirst);
  EXPECT_EQ(ask(), 0U);
}

TEST_F(EndpointSetTest, TriesTheLeastRecentlyFailedIfAllAreDead) {
  for (const std::size_t endpoint : {2U, 0U, 1U}) {
    kill(endpoint);
    clock_.advance(1ms);
  }
  EXPECT_FALSE(set_.has_other_alive(0));
  for (const std::size_t endpoint : {2U, 0U, 1U}) {
    EXPECT_EQ(ask(Answer::kNotReached), endpoint);
    clock_.advance(1ms);
  }
}

TEST_F(EndpointSetTest, CountsWhatWasGivenUpForAWhile) {
  const std::size_t slow = set_.begin(8 * kMiBytes, {});
  EXPECT_FALSE(set_.end(slow, 8 * kMiBytes, Answer::kGivenUp));
  EXPECT_EQ(set_.state(slow), EndpointSet::State::kAlive);
  EXPECT_FALSE(chosen_in(12).contains(slow));
  clock_.advance(EndpointSet::kGivenUpTime);
  EXPECT_TRUE(chosen_in(12).contains(slow)) << "the control";
}

TEST(OneEndpoint, IsAlwaysChosenAndItsStateKnown) {
  fakes::FakeClock clock;
  EndpointSet set(1, clock);
  EXPECT_EQ(set.begin(1, {.avoided = 0}), 0U);
  EXPECT_EQ(set.end(0, 1, Answer::kNotReached), EndpointSet::State::kDead);
  EXPECT_EQ(set.begin(1, {}), 0U);
  EXPECT_EQ(set.end(0, 1, Answer::kAnswered), EndpointSet::State::kAlive);
  EXPECT_FALSE(set.has_other_alive(0));
}

}  // namespace
}  // namespace s3rdmafs::s3
