// SPDX-License-Identifier: Apache-2.0
#include "vfs/metadata/posix_metadata.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "vfs/metadata/user_metadata.h"

namespace s3rdmafs::vfs {
namespace {

constexpr std::string_view kMode = "mode";
constexpr std::string_view kUid = "uid";
constexpr std::string_view kGid = "gid";
constexpr std::string_view kModified = "mtime";
constexpr std::string_view kChanged = "ctime";
constexpr std::string_view kAccessed = "atime";

constexpr std::uint32_t kModeMax = S_IFMT | 07777;
// (uid_t)-1 means "no change" to chown(2), so no user has it.
constexpr std::uint64_t kOwnerMax = std::numeric_limits<std::uint32_t>::max() - 1;
// The year 2255: what system_clock can hold, in nanoseconds.
constexpr std::uint64_t kSecondsMax = 9'000'000'000;

std::optional<std::uint64_t> number_in(std::string_view text, int base, std::uint64_t max) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || number > max) return std::nullopt;
  return number;
}

// Decimal modes of files and links have five digits, octal ones six, or three or four without the
// type. Fewer digits are another program's "mode".
std::optional<std::uint32_t> mode_in(std::string_view text) {
  constexpr std::size_t kOctalDigitsMin = 3;
  constexpr std::size_t kOctalDigitsMax = 4;
  if (text.size() < kOctalDigitsMin) return std::nullopt;
  const bool is_octal = text.starts_with('0') || text.size() <= kOctalDigitsMax;
  auto mode = is_octal ? std::nullopt : number_in(text, 10, kModeMax);
  if (!mode) mode = number_in(text, 8, kModeMax);
  if (!mode) return std::nullopt;
  const std::uint64_t type = *mode & S_IFMT;
  if (type != S_IFREG && type != S_IFLNK && type != 0) return std::nullopt;
  return static_cast<std::uint32_t>(*mode);
}

std::optional<std::uint32_t> owner_in(std::string_view text) {
  const auto owner = number_in(text, 10, kOwnerMax);
  if (!owner) return std::nullopt;
  return static_cast<std::uint32_t>(*owner);
}

/// Digits after the point, as nanoseconds; those after the ninth do not count.
std::optional<std::uint64_t> nanoseconds_in(std::string_view digits) {
  constexpr std::size_t kDigits = 9;
  if (!std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  std::string nine(digits.substr(0, kDigits));
  nine.resize(kDigits, '0');
  return number_in(nine, 10, 999'999'999);
}

std::optional<PosixAttributes::Time> time_in(std::string_view text) {
  const bool is_before_1970 = text.starts_with('-');
  if (is_before_1970) text.remove_prefix(1);
  const std::size_t point = std::min(text.find('.'), text.size());
  const auto seconds = number_in(text.substr(0, point), 10, kSecondsMax);
  const auto fraction = nanoseconds_in(text.substr(std::min(point + 1, text.size())));
  if (!seconds || !fraction) return std::nullopt;
  const auto since = std::chrono::seconds(*seconds) + std::chrono::nanoseconds(*fraction);
  return PosixAttributes::Time(is_before_1970 ? -since : since);
}

std::string time_text(PosixAttributes::Time time) {
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch());
  const auto count =
      static_cast<std::uint64_t>(since < since.zero() ? -since.count() : since.count());
  constexpr std::uint64_t kNanoseconds = 1'000'000'000;
  std::string text = since < since.zero() ? "-" : "";
  text += std::to_string(count / kNanoseconds);
  if (count % kNanoseconds != 0) text += fmt::format(".{:09}", count % kNanoseconds);
  return text;
}

}  // namespace

PosixAttributes posix_attributes(const s3::UserMetadata& metadata) {
  PosixAttributes attributes;
  for (const auto& [name, value] : metadata) {
    if (name == kMode) {
      if (const auto mode = mode_in(value)) {
        attributes.mode = *mode & 07777;
        attributes.is_symlink = (*mode & S_IFMT) == S_IFLNK;
      }
    } else if (name == kUid) {
      attributes.uid = owner_in(value);
    } else if (name == kGid) {
      attributes.gid = owner_in(value);
    } else if (name == kModified) {
      attributes.modified = time_in(value);
    } else if (name == kChanged) {
      attributes.changed = time_in(value);
    } else if (name == kAccessed) {
      attributes.accessed = time_in(value);
    }
  }
  return attributes;
}

PosixAttributes posix_attributes(const s3::UserMetadata& metadata, std::uint64_t size_bytes) {
  PosixAttributes attributes = posix_attributes(metadata);
  attributes.is_symlink = attributes.is_symlink && may_have_target(size_bytes);
  return attributes;
}

void set_posix_attributes(s3::UserMetadata& metadata, const PosixAttributes& attributes) {
  if (attributes.mode) {
    const bool is_symlink = attributes.is_symlink || posix_attributes(metadata).is_symlink;
    set_entry(metadata, kMode, std::to_string((is_symlink ? S_IFLNK : S_IFREG) | *attributes.mode));
  }
  if (attributes.uid) set_entry(metadata, kUid, std::to_string(*attributes.uid));
  if (attributes.gid) set_entry(metadata, kGid, std::to_string(*attributes.gid));
  if (attributes.modified) set_entry(metadata, kModified, time_text(*attributes.modified));
  if (attributes.changed) set_entry(metadata, kChanged, time_text(*attributes.changed));
  if (attributes.accessed) set_entry(metadata, kAccessed, time_text(*attributes.accessed));
}

std::optional<s3::UserMetadata> without_set_id_bits(const s3::UserMetadata& metadata) {
  const auto found = std::ranges::find(metadata, kMode, &s3::UserMetadata::value_type::first);
  const auto mode = found == metadata.end() ? std::nullopt : mode_in(found->second);
  if (!mode) return std::nullopt;
  // Without the group's right to execute it, the bit has another meaning: mandatory locks.
  const bool is_set_gid = (*mode & S_ISGID) != 0 && (*mode & S_IXGRP) != 0;
  const std::uint32_t bits = (*mode & S_ISUID) | (is_set_gid ? S_ISGID : 0U);
  if (bits == 0) return std::nullopt;
  s3::UserMetadata without = metadata;
  set_entry(without, kMode, std::to_string(*mode & ~bits));
  return without;
}

s3::UserMetadata without_posix_times(s3::UserMetadata metadata) {
  std::erase_if(metadata, [](const auto& entry) {
    return entry.first == kModified || entry.first == kChanged;
  });
  return metadata;
}

s3::UserMetadata new_posix_metadata(PosixAttributes attributes, PosixAttributes::Time now) {
  attributes.modified = attributes.changed = now;
  s3::UserMetadata metadata;
  set_posix_attributes(metadata, attributes);
  return metadata;
}

}  // namespace s3rdmafs::vfs
