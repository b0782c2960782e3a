// SPDX-License-Identifier: Apache-2.0
// User metadata comes from other clients: whatever it is, the attributes are such as can be.
#include <chrono>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "vfs/metadata/posix_metadata.h"

namespace s3rdmafs::vfs {
namespace {

using Time = PosixAttributes::Time;

constexpr const char* kNames[] = {"mode", "uid", "gid", "mtime", "ctime", "atime", "other"};

rc::Gen<std::string> any_value() {
  const auto numeric =
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789.-+ x")));
  return rc::gen::oneOf(rc::gen::arbitrary<std::string>(), numeric,
                        rc::gen::map(rc::gen::arbitrary<std::int64_t>(),
                                     [](std::int64_t n) { return std::to_string(n); }));
}

s3::UserMetadata any_metadata() {
  s3::UserMetadata metadata;
  for (const char* name : kNames) {
    if (*rc::gen::arbitrary<bool>()) metadata.emplace_back(name, *any_value());
  }
  return metadata;
}

PosixAttributes any_attributes() {
  const auto time = rc::gen::map(
      rc::gen::inRange<std::int64_t>(-9'000'000'000'000'000'000, 9'000'000'000'000'000'000),
      [](std::int64_t n) { return Time(std::chrono::nanoseconds(n)); });
  return {.is_symlink = *rc::gen::arbitrary<bool>(),
          .mode = *rc::gen::inRange<std::uint32_t>(0, 010000),
          .uid = *rc::gen::inRange<std::uint32_t>(0, 0xFFFF'FFFF),
          .gid = *rc::gen::inRange<std::uint32_t>(0, 0xFFFF'FFFF),
          .modified = *time,
          .changed = *time,
          .accessed = *time};
}

RC_GTEST_PROP(PosixMetadata, OfAnyBytesGivesOnlyWhatCanBe, ()) {
  const PosixAttributes found = posix_attributes(any_metadata());
  if (found.mode) RC_ASSERT(*found.mode <= 07777U);
  RC_ASSERT(!found.is_symlink || found.mode);
  if (found.uid) RC_ASSERT(*found.uid < 0xFFFF'FFFF);
  if (found.gid) RC_ASSERT(*found.gid < 0xFFFF'FFFF);
  for (const auto& time : {found.modified, found.changed, found.accessed}) {
    if (time)
      RC_ASSERT(std::chrono::abs(time->time_since_epoch()) <= std::chrono::seconds(9'000'000'001));
  }
}

RC_GTEST_PROP(PosixMetadata, ThatIsSetIsReadBackAndLeavesEverythingElse, ()) {
  const PosixAttributes set = any_attributes();
  const std::string other = *any_value();
  s3::UserMetadata metadata = {{"other", other}, {"mtime", *any_value()}};
  set_posix_attributes(metadata, set);
  RC_ASSERT(metadata.front() == std::make_pair(std::string("other"), other));
  const PosixAttributes found = posix_attributes(metadata);
  RC_ASSERT(found.is_symlink == set.is_symlink);
  RC_ASSERT(found.mode == set.mode);
  RC_ASSERT(found.uid == set.uid);
  RC_ASSERT(found.gid == set.gid);
  RC_ASSERT(found.modified == set.modified);
  RC_ASSERT(found.changed == set.changed);
  RC_ASSERT(found.accessed == set.accessed);
  s3::UserMetadata again = metadata;
  set_posix_attributes(again, set);
  RC_ASSERT(again == metadata);
}

}  // namespace
}  // namespace s3rdmafs::vfs
