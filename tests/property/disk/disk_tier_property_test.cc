// SPDX-License-Identifier: Apache-2.0
// The disk tier against its model, which is the bucket itself: whatever is read, overwritten,
// damaged and restarted in whatever order, a read gives the bytes of the version that was asked
// for, and the files never take more than they may.
#include <rapidcheck.h>

#include <filesystem>
#include <map>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unit/disk/disk_rig.h"

namespace s3rdmafs::disk {

/// One step of a run; what the numbers choose depends on what there is.
struct DiskStep {
  enum class Kind { kRead, kOverwrite, kRestart, kFlip, kTruncate, kRemove, kShrink };
  Kind kind = Kind::kRead;
  std::size_t which = 0;
  std::size_t begin = 0;
  std::size_t length = 1;
};

std::ostream& operator<<(std::ostream& out, const DiskStep& step) {
  constexpr const char* kNames[] = {"read",     "overwrite", "restart", "flip",
                                    "truncate", "remove",    "shrink"};
  return out << kNames[static_cast<int>(step.kind)] << ' ' << step.which << ' ' << step.begin << '+'
             << step.length;
}

namespace {

constexpr std::uint64_t kSegment = 512 * kKiB;
constexpr std::size_t kObjects = 6;
// Up to six units, and none a whole number of them.
constexpr std::size_t kObjectBytes = 6 * kUnitBytes - 1000;

class CheckedTier {
 public:
  CheckedTier() {
    RC_ASSERT(rig_.start().has_value());
    for (std::size_t i = 0; i < kObjects; ++i) overwrite(i);
  }

  void step(const DiskStep& step) {
    switch (step.kind) {
      case DiskStep::Kind::kRead:
        return read(step.which % kObjects, step.begin % kObjectBytes, step.length);
      case DiskStep::Kind::kOverwrite:
        return overwrite(step.which % kObjects);
      case DiskStep::Kind::kRestart:
        RC_ASSERT(rig_.restart().has_value());
        return;
      case DiskStep::Kind::kFlip:
        return damage(step, [&](const std::filesystem::path& file, std::uint64_t size) {
          flip_byte(file, step.begin % size);
        });
      case DiskStep::Kind::kTruncate:
        return damage(step, [&](const std::filesystem::path& file, std::uint64_t size) {
          std::filesystem::resize_file(file, step.begin % size);
        });
      case DiskStep::Kind::kRemove:
        return damage(step, [](const std::filesystem::path& file, std::uint64_t) {
          std::filesystem::remove(file);
        });
      case DiskStep::Kind::kShrink:
        rig_.options.size_bytes = (2 + step.which % 3) * (kSegment + kSegment / 1024);
        RC_ASSERT(rig_.restart().has_value());
        return;
    }
  }

  void check_size() {
    RC_ASSERT(rig_.wait());
    RC_ASSERT(rig_.bytes_on_disk() <= rig_.options.size_bytes);
  }
  [[nodiscard]] std::uint64_t hits() { return rig_.hits(); }

 private:
  void overwrite(std::size_t which) {
    const std::string bytes = content(++versions_, kObjectBytes);
    objects_[which] = {.etag = rig_.store.put(std::to_string(which), bytes), .bytes = bytes};
  }

  void read(std::size_t which, std::size_t begin, std::size_t length) {
    const Object& object = objects_.at(which);
    length = std::min(length, kObjectBytes - begin);
    const std::string got = rig_.read(std::to_string(which), object.etag, begin, length, begin % 3);
    RC_ASSERT(got == object.bytes.substr(begin, length));
  }

  template <class Damage>
  void damage(const DiskStep& step, Damage harm) {
    RC_ASSERT(rig_.wait());
    std::vector<std::filesystem::path> files = rig_.files(".data");
    for (const auto& index : rig_.files(".index")) files.push_back(index);
    if (files.empty()) return;
    const std::filesystem::path& file = files.at(step.which % files.size());
    if (const std::uint64_t size = std::filesystem::file_size(file); size > 0) harm(file, size);
  }

  struct Object {
    std::string etag;
    std::string bytes;
  };
  DiskRig rig_{4 * (kSegment + kSegment / 1024), kSegment};
  std::map<std::size_t, Object> objects_;
  std::uint64_t versions_ = 0;
};

rc::Gen<std::vector<DiskStep>> steps() {
  using Kind = DiskStep::Kind;
  return rc::gen::container<std::vector<DiskStep>>(rc::gen::build<DiskStep>(
      rc::gen::set(&DiskStep::kind, rc::gen::weightedElement<Kind>({{20, Kind::kRead},
                                                                    {2, Kind::kOverwrite},
                                                                    {2, Kind::kRestart},
                                                                    {2, Kind::kFlip},
                                                                    {1, Kind::kTruncate},
                                                                    {1, Kind::kRemove},
                                                                    {1, Kind::kShrink}})),
      rc::gen::set(&DiskStep::which, rc::gen::inRange<std::size_t>(0, 64)),
      // Mostly at units, as the caches ask.
      rc::gen::set(&DiskStep::begin,
                   rc::gen::oneOf(rc::gen::map(rc::gen::inRange<std::size_t>(0, 6),
                                               [](std::size_t unit) { return unit * kUnitBytes; }),
                                  rc::gen::inRange<std::size_t>(0, kSegment))),
      rc::gen::set(&DiskStep::length,
                   rc::gen::oneOf(rc::gen::just(kObjectBytes),
                                  rc::gen::inRange<std::size_t>(1, 2 * kUnitBytes)))));
}

RC_GTEST_PROP(DiskTierProperty, EveryReadGivesTheBytesOfItsVersionAndTheSizeIsKept, ()) {
  CheckedTier tier;
  for (const DiskStep& step : *steps()) {
    tier.step(step);
    tier.check_size();
  }
}

// The control: such runs do find things on the disk.
TEST(DiskTierProperty, ReadsAreServedFromTheDisk) {
  CheckedTier tier;
  for (int i = 0; i < 2; ++i) {
    tier.step({.kind = DiskStep::Kind::kRead, .length = kObjectBytes});
    tier.check_size();
  }
  EXPECT_EQ(tier.hits(), 1U);
}

}  // namespace
}  // namespace s3rdmafs::disk
