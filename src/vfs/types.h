// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace s3rdmafs::vfs {

/// Inode number. A file's number stands for one *version* of one key (a hash of key and ETag), a
/// directory's for its prefix. So an overwritten object is a new inode, and nothing that an old
/// handle or the kernel's page cache holds can mix with it.
using Ino = std::uint64_t;
inline constexpr Ino kRootIno = 1;
/// Numbers between the root's and this one are never an object's: fuse/status has its own there.
inline constexpr Ino kFirstObjectIno = 64;

/// The number of a file system among those of one mount. 0: the only one, whose numbers of inodes
/// are hashes of 64 bits, or the one that has the others' directories. From 1 on it is in the high
/// bits of the file system's inodes and handles, which tell whose they are.
using Volume = std::uint8_t;
inline constexpr unsigned kVolumeShift = 56;
[[nodiscard]] constexpr Volume volume_of(Ino ino) {
  return static_cast<Volume>(ino >> kVolumeShift);
}
/// Such a number, of this volume: the rest of it is `number`.
[[nodiscard]] constexpr std::uint64_t number_in(Volume volume, std::uint64_t number) {
  if (volume == 0) return number;
  constexpr std::uint64_t kRest = (std::uint64_t{1} << kVolumeShift) - 1;
  return std::uint64_t{volume} << kVolumeShift | (number & kRest);
}

/// The use that a mount makes of POSIX attributes in user metadata (metadata.posix).
enum class PosixMetadata { kOff, kRead, kWrite };

/// The attributes that user metadata has (metadata/posix_metadata.h), or is to get. Plain value.
struct PosixAttributes {
  using Time = std::chrono::system_clock::time_point;
  bool is_symlink = false;
  std::optional<std::uint32_t> mode = {};  ///< permission bits: at most 07777
  std::optional<std::uint32_t> uid = {};
  std::optional<std::uint32_t> gid = {};
  std::optional<Time> modified = {};
  std::optional<Time> changed = {};
  std::optional<Time> accessed = {};
};

/// A change of one extended attribute.
struct ExtendedAttributeChange {
  enum class When { kAlways, kIsNew, kIsThere };  ///< setxattr(2): 0, XATTR_CREATE, XATTR_REPLACE
  std::string name;
  std::optional<std::string> value = {};  ///< nothing: it is removed
  When when = When::kAlways;
};

/// A change of attributes that user metadata keeps.
struct AttributeChange {
  PosixAttributes posix = {};
  std::optional<ExtendedAttributeChange> extended = {};
};

/// A symbolic link's target is at most so long: PATH_MAX of Linux, without the NUL at its end.
inline constexpr std::uint64_t kLinkBytesMax = 4095;
/// Whether an object of this size can be a symbolic link.
[[nodiscard]] constexpr bool may_have_target(std::uint64_t size_bytes) {
  return size_bytes > 0 && size_bytes <= kLinkBytesMax;
}

/// The attributes that stat(2) shows; fuse/ adds the mount's owner and permission bits where
/// `posix` has none.
struct Attributes {
  Ino ino = 0;
  bool is_directory = false;
  /// The size may grow; of a directory: the next commit of a file in it may change its time.
  bool is_being_written = false;
  std::uint64_t size_bytes = 0;
  std::chrono::system_clock::time_point modified;
  /// Of a file, where the mount shows them; its modification time is `modified`.
  PosixAttributes posix = {};
  /// False: a listing has shown a file that may be a symbolic link.
  bool is_type_known = true;
};

/// The answer to a lookup: an inode that the kernel now knows (its lookup count grew by one).
struct Entry {
  Attributes attributes;
  std::chrono::milliseconds valid_for{};  ///< how long the kernel may keep the name
};

/// The process that opened a file for writing; vfs/ only keeps it. 0: not known.
using ProcessId = std::int64_t;

/// How open(2) creates a file.
struct Creation {
  bool is_exclusive = false;    ///< O_EXCL
  bool truncates = false;       ///< O_TRUNC: replaces what is there
  bool writes = true;           ///< false: O_RDONLY, which reads what is there
  bool is_synchronous = false;  ///< O_SYNC, O_DSYNC
  PosixAttributes posix = {};   ///< of the new file: mode, owner and group
  /// The kernel can write the file by itself, if the answer has a descriptor for that.
  bool may_pass_through = false;
};

/// How open(2) opens a file that is there to write it.
struct OpenToWrite {
  bool truncates = false;       ///< O_TRUNC
  bool is_synchronous = false;  ///< O_SYNC, O_DSYNC
  /// Whether readers and writers can use the inode side by side. False where the kernel reads it
  /// by itself; the name then stands for another inode.
  bool shares_inode = true;
  /// As in Creation; with `truncates` only.
  bool may_pass_through = false;
  bool may_map = false;  ///< O_RDWR: a program can write through a shared mapping
};

/// A request of copy_file_range(2): from handle to handle.
struct CopyRange {
  std::uint64_t from = 0;  ///< a handle
  std::uint64_t from_offset_bytes = 0;
  std::uint64_t to = 0;  ///< a handle
  std::uint64_t to_offset_bytes = 0;
  std::uint64_t length_bytes = 0;
};

/// A request of fallocate(2).
struct Allocation {
  std::uint64_t offset_bytes = 0;
  std::uint64_t length_bytes = 0;
  bool zeroes = false;   ///< makes zeros of what is there
  bool extends = false;  ///< the file ends at the range's end or after it
};

}  // namespace s3rdmafs::vfs
