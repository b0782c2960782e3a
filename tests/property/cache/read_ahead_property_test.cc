// SPDX-License-Identifier: Apache-2.0
// Read-ahead against two models. One has readers that go forward, each through its own part of an
// object: nothing is asked for twice or outside of the object, and what is unread stays bounded.
// The other has readers that go nowhere: they must not pay for a guess.
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cache/readahead/read_ahead.h"

namespace s3rdmafs::cache {
namespace {

using Found = ReadAhead::Found;
constexpr ReadAhead::Time kNow{std::chrono::hours(1)};

// Forward.

struct Forward {
  static constexpr std::size_t kReaders = 8;
  static constexpr std::uint64_t kEachReads = 48 * kMiB;

  std::uint64_t seed = 0;
  ReadAhead::Limits limits;
  /// False is the planted fault: the policy is told kMissing of each read, nothing ever arrives.
  bool arrives = true;
  /// The budget that the model allows, if not the one that the policy was told.
  std::uint64_t budget_bytes = limits.budget_bytes;

  // At distances of which no two are equal, so that no two readers look like a stride.
  static std::uint64_t start_of(std::size_t reader) { return reader * reader * 128 * kMiB; }
  static std::uint64_t object_bytes() { return start_of(kReaders - 1) + kEachReads + 12'345; }

  /// Empty, or what was wrong.
  [[nodiscard]] std::string run() const {
    std::mt19937_64 random(seed);
    ReadAhead policy(object_bytes());
    std::array<std::uint64_t, kReaders> read_to{};
    std::array<std::uint64_t, kReaders> asked_to{};
    for (std::size_t i = 0; i < kReaders; ++i) read_to.at(i) = asked_to.at(i) = start_of(i);
    for (std::size_t left = kReaders; left > 0;) {
      const std::size_t reader = random() % kReaders;
      const std::uint64_t end = start_of(reader) + kEachReads;
      std::uint64_t& at = read_to.at(reader);
      if (at == end) continue;
      const std::uint64_t length = std::min(std::uint64_t{4096} << random() % 11, end - at);
      const ByteRange range{.begin = at, .end = at + length};
      at = range.end;
      left -= at == end ? 1 : 0;
      const Found found = !arrives            ? Found::kMissing
                          : random() % 3 == 0 ? Found::kOnTheirWay
                                              : Found::kAll;
      for (const ByteRange ahead :
           policy.on_read({.range = range, .found = found, .now = kNow}, limits)) {
        if (ahead.end > object_bytes()) return "asked past the end";
        if (ahead.begin < std::max(range.begin, asked_to.at(reader))) return "asked twice";
        asked_to.at(reader) = ahead.end;
      }
      std::uint64_t unread = 0;
      for (std::size_t i = 0; i < kReaders; ++i) {
        const std::uint64_t ahead = std::max(asked_to.at(i), read_to.at(i)) - read_to.at(i);
        if (ahead > limits.window_max_bytes) return "asked for more than a window";
        unread += ahead;
      }
      if (unread > budget_bytes + kReaders * limits.pace.first_bytes) return "over the budget";
    }
    for (std::size_t i = 0; i < kReaders; ++i) {
      if (asked_to.at(i) < start_of(i) + kEachReads / 2) return "a reader got nothing";
    }
    return "";
  }
};

RC_GTEST_PROP(ReadAheadProperty, AsksOnceWithinTheObjectAndItsBudget,
              (std::uint64_t seed, std::uint64_t object_seed)) {
  const auto size = [](std::uint64_t from, int doublings) {
    return from << *rc::gen::inRange(0, doublings);
  };
  const std::uint64_t part = size(kMiB, 4);
  const Forward forward{.seed = seed ^ object_seed,
                        .limits = {.window_max_bytes = size(2 * kMiB, 6),
                                   .budget_bytes = size(kMiB, 9),
                                   .pace = {.first_bytes = kMiB,
                                            .part_bytes = part,
                                            .window_bytes = part * *rc::gen::inRange(2, 9)}}};
  RC_ASSERT(forward.run() == "");
}

// The controls: each fault is seen.
TEST(ReadAheadModel, SeesWhatIsAskedTwiceOrIsTooMuch) {
  const ReadAhead::Limits limits{
      .window_max_bytes = 16 * kMiB, .budget_bytes = 64 * kMiB, .pace = {}};
  EXPECT_EQ((Forward{.limits = limits}.run()), "");
  EXPECT_EQ((Forward{.limits = limits, .arrives = false}.run()), "asked twice");
  EXPECT_EQ((Forward{.limits = limits, .budget_bytes = kMiB}.run()), "over the budget");
}

// Random.

/// Bytes fetched for each byte read, by 16 readers of 4 KiB anywhere in 1 GiB, through a cache that
/// keeps everything, in units of 64 KiB.
/// @param plan  what is to be fetched with a read of this range
double fetched_per_byte(std::uint64_t seed, const auto& plan) {
  constexpr std::uint64_t kUnit = 64 * kKiB;
  constexpr std::uint64_t kObject = kGiB;
  constexpr std::uint64_t kReads = 4000;
  std::mt19937_64 random(seed);
  std::set<std::uint64_t> there;
  const auto fetch = [&](ByteRange range) {
    for (std::uint64_t unit = range.begin / kUnit; unit * kUnit < range.end; ++unit) {
      there.insert(unit);
    }
  };
  for (std::uint64_t i = 0; i < kReads; ++i) {
    const std::uint64_t at = random() % (kObject / 4096) * 4096;
    const ByteRange range{.begin = at, .end = at + 4096};
    const bool is_there = there.contains(at / kUnit);
    fetch(range);
    for (const ByteRange ahead : plan(range, is_there ? Found::kAll : Found::kMissing)) {
      fetch(ahead);
    }
  }
  return static_cast<double>(there.size() * kUnit) / (kReads * 4096);
}

constexpr ReadAhead::Limits kWide{
    .window_max_bytes = 64 * kMiB,
    .budget_bytes = kGiB,
    .pace = {.first_bytes = kMiB, .part_bytes = 8 * kMiB, .window_bytes = 16 * kMiB}};

RC_GTEST_PROP(ReadAheadProperty, FetchesNothingMoreForRandomReaders, (std::uint64_t seed)) {
  ReadAhead policy(kGiB);
  const double fetched = fetched_per_byte(seed, [&](ByteRange range, Found found) {
    return policy.on_read({.range = range, .found = found, .now = kNow}, kWide);
  });
  const double needed = fetched_per_byte(seed, [](ByteRange, Found) { return ByteRanges{}; });
  RC_ASSERT(fetched <= 16);
  RC_ASSERT(fetched <= 1.01 * needed);
}

// The control: to take a second read within a MiB for the next step costs half as much again.
TEST(ReadAheadModel, SeesAPolicyThatGuesses) {
  std::array<std::uint64_t, 16> last{};
  std::size_t oldest = 0;
  const auto guess = [&](ByteRange range, Found) {
    ByteRanges asked;
    const auto near = std::ranges::find_if(
        last, [&](std::uint64_t at) { return range.begin + kMiB > at && at + kMiB > range.begin; });
    if (near != last.end()) asked.add({.begin = range.end, .end = range.end + kMiB});
    last.at(oldest++ % last.size()) = range.begin;
    return asked;
  };
  EXPECT_GT(fetched_per_byte(/*seed=*/1, guess), 18);
}

}  // namespace
}  // namespace s3rdmafs::cache
