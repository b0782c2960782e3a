// SPDX-License-Identifier: Apache-2.0
#include "upload/staged/upload_plan.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace s3rdmafs::upload {
namespace {

using How = PlannedPart::How;

constexpr PlanLimits kLimits{.part_bytes = 8 * kMiB, .part_bytes_max = 64 * kMiB};

std::uint64_t sent_bytes(const std::vector<PlannedPart>& plan) {
  std::uint64_t sum = 0;
  for (const PlannedPart& part : plan) sum += part.how == How::kSend ? part.bytes.size() : 0;
  return sum;
}

TEST(UploadPlan, SendsAnObjectWithoutBaseInParts) {
  const auto plan = plan_upload(20 * kMiB, std::nullopt, {}, kLimits).value();
  EXPECT_EQ(plan, (std::vector<PlannedPart>{
                      {.how = How::kSend, .bytes = {0, 8 * kMiB}},
                      {.how = How::kSend, .bytes = {8 * kMiB, 16 * kMiB}},
                      {.how = How::kSend, .bytes = {16 * kMiB, 20 * kMiB}},
                  }));
  EXPECT_TRUE(plan_upload(0, std::nullopt, {}, kLimits).value().empty());
}

TEST(UploadPlan, SendsOneMebibyteThatWasAppendedToAHundredGibibytes) {
  const std::uint64_t base = 100 * kGiB;
  for (const std::uint64_t extra : {std::uint64_t{0}, 3 * kMiB + 1}) {
    const ByteRanges changed{{.begin = base + extra, .end = base + extra + kMiB}};
    const auto plan = plan_upload(base + extra + kMiB, base + extra, changed, kLimits).value();
    EXPECT_GE(sent_bytes(plan), kMiB);
    EXPECT_LE(sent_bytes(plan), 13 * kMiB);
    EXPECT_LE(plan.size(), 102U);
  }
}

TEST(UploadPlan, SendsAtMostThePartsThatRandomWritesTouched) {
  std::minstd_rand random(7);
  const std::uint64_t size = 4 * kGiB;
  ByteRanges changed;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t at = random() % (size / 4096) * 4096;
    changed.add({.begin = at, .end = at + 4096});
  }
  const auto plan = plan_upload(size, size, changed, kLimits).value();
  EXPECT_LE(sent_bytes(plan), changed.widened(8 * kMiB).bytes());

  const auto few = plan_upload(size, size, ByteRanges{{.begin = 1, .end = 2}}, kLimits).value();
  EXPECT_EQ(sent_bytes(few), 8 * kMiB);
}

TEST(UploadPlan, TakesLargerPartsWhereTheyWouldBeTooMany) {
  const auto plan = plan_upload(200 * kGiB, std::nullopt, {}, kLimits).value();
  EXPECT_LE(plan.size(), kPartsMax);
  EXPECT_EQ(plan.front().bytes.size(), 32 * kMiB);
  const auto too_large = plan_upload(kTiB, std::nullopt, {}, kLimits);
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(too_large.error().advice.find("write.buffer_size"), std::string::npos);
}

TEST(UploadPlan, CopiesWhatACutLeaves) {
  const auto plan = plan_upload(20 * kMiB, 50 * kMiB, {}, kLimits).value();
  EXPECT_EQ(plan, (std::vector<PlannedPart>{{.how = How::kCopy, .bytes = {0, 20 * kMiB}}}));
}

/// The bytes of all parts of the smallest size that have a changed byte: less cannot be sent.
std::uint64_t least_bytes(const ByteRanges& changed, std::uint64_t size) {
  return changed.widened(kLimits.part_bytes).intersect({.begin = 0, .end = size}).bytes();
}

TEST(UploadPlan, SendsLittleMoreThanThePartsThatRandomWritesTouched) {
  constexpr std::uint64_t kObject = 4 * kGiB;
  constexpr std::uint64_t kPage = 4 * kKiB;
  std::mt19937_64 random(13);
  for (const int writes : {10, 100, 1000, 10'000}) {
    SCOPED_TRACE(writes);
    ByteRanges changed;
    for (int i = 0; i < writes; ++i) {
      const std::uint64_t at = random() % (kObject / kPage) * kPage;
      changed.add({.begin = at, .end = at + kPage});
    }
    const auto plan = plan_upload(kObject, kObject, changed, kLimits).value();
    const std::uint64_t least = least_bytes(changed, kObject);
    EXPECT_LE(10 * sent_bytes(plan), 11 * least);
    if (writes == 10) {
      EXPECT_LT(least, kObject / 50) << "few writes touch few parts";
    }
  }
}

TEST(UploadPlan, AppendingToALargeObjectSendsTheEndAlone) {
  constexpr PlanLimits kSmallestParts{.part_bytes = 5 * kMiB, .part_bytes_max = 80 * kMiB};
  for (const std::uint64_t base : {100 * kGiB, 100 * kGiB + 3 * kMiB, 100 * kGiB + 12'345}) {
    const std::uint64_t size = base + kMiB;
    const ByteRanges changed{{.begin = base, .end = size}};
    const auto plan = plan_upload(size, base, changed, kSmallestParts).value();
    EXPECT_LE(sent_bytes(plan), kMiB + 5 * kMiB);
    const auto larger = plan_upload(size, base, changed, kLimits).value();
    EXPECT_LE(sent_bytes(larger), kMiB + kLimits.part_bytes) << "parts of 8 MiB: one more at most";
  }
}

// Sizes small enough to hold every byte: its value says where it comes from.
struct SmallCase {
  std::uint64_t size = 0;
  std::optional<std::uint64_t> base;
  ByteRanges changed;
  PlanLimits limits;
};

SmallCase random_case(std::minstd_rand& random) {
  SmallCase made;
  made.size = random() % 3000;
  if (random() % 4 != 0) made.base = random() % 3000;
  for (unsigned i = random() % 10; i > 0; --i) {
    const std::uint64_t at = random() % 3000;
    made.changed.add({.begin = at, .end = at + random() % (i == 1 ? 900 : 20)});
  }
  const std::uint64_t kept = std::min(made.base.value_or(0), made.size);
  made.changed.add({.begin = kept, .end = made.size});
  made.changed.subtract({.begin = made.size, .end = 10'000});
  made.limits = {.part_bytes = 16,
                 .part_bytes_max = 128,
                 .copy_bytes_max = 200,
                 .parts_max = 20 + static_cast<unsigned>(random() % 30)};
  return made;
}

void check(const SmallCase& given, const std::vector<PlannedPart>& plan) {
  ASSERT_LE(plan.size(), given.limits.parts_max);
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const PlannedPart& part = plan[i];
    const bool is_copy = part.how == How::kCopy;
    ASSERT_EQ(part.bytes.begin, at) << "parts are in order and leave nothing out";
    ASSERT_FALSE(part.bytes.empty());
    at = part.bytes.end;
    if (i + 1 < plan.size()) {
      EXPECT_GE(part.bytes.size(), given.limits.part_bytes);
    }
    EXPECT_LE(part.bytes.size(),
              is_copy ? given.limits.copy_bytes_max : given.limits.part_bytes_max);
    if (is_copy) {
      EXPECT_FALSE(given.changed.intersects(part.bytes)) << "the base lacks changed bytes";
      EXPECT_LE(part.bytes.end, given.base.value_or(0));
    }
  }
  EXPECT_EQ(at, given.size);
}

TEST(UploadPlan, CoversEachByteOnceFromWhereItIsWithinAllLimits) {
  std::minstd_rand random(11);
  std::size_t planned = 0;
  std::size_t refused = 0;
  for (int i = 0; i < 5000; ++i) {
    SCOPED_TRACE(i);
    const SmallCase given = random_case(random);
    const auto plan = plan_upload(given.size, given.base, given.changed, given.limits);
    ++(plan ? planned : refused);
    if (plan) check(given, *plan);
    if (!plan) {
      EXPECT_GT(given.size, given.limits.parts_max * 32) << "no reason to refuse";
    }
  }
  EXPECT_GT(planned, 4000U);
}

TEST(UploadPlan, OfAnObjectThatWasBegunBeforeItsSizeWasKnownHasGrowingParts) {
  const PartSizes sizes{.first_bytes = 16, .max_bytes = 32};
  const auto plan = plan_in_order(500 * 16 + 40, sizes);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->size(), 502U);
  EXPECT_EQ((*plan)[499].bytes, (ByteRange{.begin = 499 * 16, .end = 500 * 16}));
  EXPECT_EQ((*plan)[500].bytes, (ByteRange{.begin = 8000, .end = 8032}));
  EXPECT_EQ((*plan)[501].bytes, (ByteRange{.begin = 8032, .end = 8040}));
  EXPECT_TRUE(plan_in_order(500 * 16 + 9500 * 32, sizes));
  EXPECT_FALSE(plan_in_order(500 * 16 + 9500 * 32 + 1, sizes));
}

}  // namespace
}  // namespace s3rdmafs::upload
