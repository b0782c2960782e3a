// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mounted_bucket.h"

namespace s3rdmafs::vfs {

/// A mounted bucket that may write, with the kernel's way to open a file for writing. Parts are
/// 4 KiB, so that a few writes make a multipart upload.
struct WritableBucket : MountedBucket {
  static constexpr std::size_t kPart = 4096;
  static constexpr ProcessId kProcess = 42;

  explicit WritableBucket(std::chrono::milliseconds ttl = kTtl, std::uint64_t staging_bytes = 0,
                          PosixMetadata posix = PosixMetadata::kOff)
      : MountedBucket(
            {.prefix = "",
             .ttl = ttl,
             .negative_ttl = ttl,
             .posix = posix,
             .on_etag_repeated = [this](std::string_view key,
                                        std::string_view) { repeated.emplace_back(key); }},
            upload::Uploads::Options{.part_bytes = kPart,
                                     .buffer_bytes = 16 * kPart,
                                     .parallel_parts = 2,
                                     .request_timeout = std::chrono::seconds(30),
                                     .lock = memory::Arena::Lock::kOff},
            staging_bytes) {}
  ~WritableBucket() { store.shut_down(); }

  Result<CreatedFile> create(Ino parent, std::string_view name, Creation how = {},
                             ProcessId process = kProcess) {
    return answer_of<CreatedFile>(
        [&](auto done) { fs.create(parent, name, how, process, {}, std::move(done)); });
  }
  Result<OpenFile> open_to_write(Ino ino, bool truncate, ProcessId process = kProcess) {
    return answer_of<OpenFile>([&](auto done) {
      fs.open_to_write(ino, {.truncates = truncate}, process, {}, std::move(done));
    });
  }
  /// As open(2) with O_WRONLY | O_CREAT and O_TRUNC.
  Result<std::uint64_t> open_truncated(Ino parent, std::string_view name,
                                       ProcessId process = kProcess) {
    return open_by_name(parent, name, /*truncate=*/true, process);
  }
  /// As open(2) with O_WRONLY | O_CREAT and O_APPEND.
  Result<std::uint64_t> open_to_append(Ino parent, std::string_view name,
                                       ProcessId process = kProcess) {
    return open_by_name(parent, name, /*truncate=*/false, process);
  }
  Result<void> write(std::uint64_t handle, std::uint64_t offset, std::string_view text) {
    return answer_of<void>([&](auto done) {
      fs.write(handle, offset, std::as_bytes(std::span(text)), clock.now() + std::chrono::hours(1),
               std::move(done));
    });
  }
  Result<void> sync(std::uint64_t handle) {
    return answer_of<void>([&](auto done) { fs.sync(handle, std::move(done)); });
  }
  Result<void> truncate(Ino ino, std::uint64_t size) {
    return answer_of<void>(
        [&](auto done) { fs.truncate(ino, size, /*shares_inode=*/true, {}, std::move(done)); });
  }
  Result<void> set_attributes(Ino ino, const PosixAttributes& set, ProcessId process = kProcess) {
    return answer_of<void>(
        [&](auto done) { fs.set_attributes(ino, set, process, {}, std::move(done)); });
  }
  Result<Entry> make_symlink(std::string_view name, std::string target) {
    return answer_of<Entry>([&](auto done) {
      fs.make_symlink(kRootIno, name, std::move(target), {.uid = 5, .gid = 6}, {}, std::move(done));
    });
  }
  Result<void> unlink(Ino parent, std::string_view name) {
    return answer_of<void>([&](auto done) { fs.unlink(parent, name, {}, std::move(done)); });
  }
  Result<void> rename(std::string_view from, std::string_view to, bool must_be_new = false) {
    return rename_in(kRootIno, from, kRootIno, to, must_be_new);
  }
  /// The kernel looks the old name up first.
  Result<void> rename_in(Ino parent, std::string_view from, Ino new_parent, std::string_view to,
                         bool must_be_new = false) {
    if (const auto found = lookup(parent, from); !found) return std::unexpected(found.error());
    return answer_of<void>(
        [&](auto done) { fs.rename(parent, from, new_parent, to, must_be_new, std::move(done)); });
  }
  Result<Entry> mkdir(Ino parent, std::string_view name) {
    return answer_of<Entry>(
        [&](auto done) { fs.make_directory(parent, name, {}, std::move(done)); });
  }
  Result<void> rmdir(Ino parent, std::string_view name) {
    return answer_of<void>(
        [&](auto done) { fs.remove_directory(parent, name, {}, std::move(done)); });
  }

  /// After ESTALE the kernel looks the name up again, once.
  Result<std::uint64_t> open_by_name(Ino parent, std::string_view name, bool truncate,
                                     ProcessId process) {
    for (int attempt = 0;; ++attempt) {
      const auto found = lookup(parent, name);
      const auto opened = found ? open_found(found->attributes.ino, truncate, process)
                                : make(parent, name, truncate, process);
      if (opened || attempt == 1 || opened.error().code != ErrorCode::kStale) return opened;
    }
  }

  std::vector<std::string> repeated;  ///< keys with an ETag that was repeated

 private:
  Result<std::uint64_t> open_found(Ino ino, bool truncate, ProcessId process) {
    const auto opened = open_to_write(ino, truncate, process);
    if (!opened) return std::unexpected(opened.error());
    return opened->handle;
  }
  Result<std::uint64_t> make(Ino parent, std::string_view name, bool truncate, ProcessId process) {
    const auto created = create(parent, name, {.truncates = truncate}, process);
    if (!created) return std::unexpected(created.error());
    return created->file.handle;
  }
};

}  // namespace s3rdmafs::vfs
