// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fakes/fake_clock.h"
#include "fakes/fake_read_cache.h"
#include "fakes/rdma/fake_fabric.h"
#include "fakes/s3/fake_object_store.h"
#include "mounted_bucket.h"
#include "s3rdmafs/metrics/registry.h"
#include "upload/uploads.h"
#include "vfs/file_system.h"

namespace s3rdmafs::vfs {

/// A file system over a fake bucket that may write, with calls that wait, and the kernel's way to
/// open a file for writing. Parts are 4 KiB, so that a few writes make a multipart upload.
struct WritableBucket {
  static constexpr std::size_t kPart = 4096;
  static constexpr ProcessId kProcess = 42;

  explicit WritableBucket(std::chrono::milliseconds ttl = std::chrono::seconds(30))
      : uploads(upload::Uploads::create(store, fabric, clock, metrics,
                                        {.part_bytes = kPart,
                                         .buffer_bytes = 16 * kPart,
                                         .parallel_parts = 2,
                                         .request_timeout = std::chrono::seconds(30),
                                         .lock = memory::Arena::Lock::kOff})
                    .value()),
        shared_fs(FileSystem::create(
            store, cache, clock, metrics,
            {.prefix = "",
             .ttl = ttl,
             .negative_ttl = ttl,
             .on_etag_repeated = [this](std::string_view key,
                                        std::string_view) { repeated.emplace_back(key); }},
            FileSystem::Writing{store, *uploads})) {}
  ~WritableBucket() { store.shut_down(); }

  template <class T, class Call>
  static Result<T> wait(Call call) {
    Answer<T> answer;
    call(answer.done());
    return std::move(answer.get());
  }

  Result<Entry> lookup(Ino parent, std::string_view name) {
    return wait<Entry>([&](auto done) { fs.lookup(parent, name, {}, std::move(done)); });
  }
  Result<CreatedFile> create(Ino parent, std::string_view name, Creation how = {},
                             ProcessId process = kProcess) {
    return wait<CreatedFile>(
        [&](auto done) { fs.create(parent, name, how, process, {}, std::move(done)); });
  }
  Result<OpenFile> open_to_write(Ino ino, bool truncate, ProcessId process = kProcess) {
    return wait<OpenFile>(
        [&](auto done) { fs.open_to_write(ino, truncate, process, {}, std::move(done)); });
  }
  /// As open(2) with O_WRONLY | O_CREAT and O_TRUNC.
  Result<std::uint64_t> open_anew(Ino parent, std::string_view name, ProcessId process = kProcess) {
    return open_by_name(parent, name, /*truncate=*/true, process);
  }
  /// As open(2) with O_WRONLY | O_CREAT and O_APPEND.
  Result<std::uint64_t> open_to_append(Ino parent, std::string_view name,
                                       ProcessId process = kProcess) {
    return open_by_name(parent, name, /*truncate=*/false, process);
  }
  Result<void> write(std::uint64_t handle, std::uint64_t offset, std::string_view text) {
    return wait<void>([&](auto done) {
      fs.write(handle, offset, std::as_bytes(std::span(text)), clock.now() + std::chrono::hours(1),
               std::move(done));
    });
  }
  Result<void> sync(std::uint64_t handle) {
    return wait<void>([&](auto done) { fs.sync(handle, std::move(done)); });
  }
  Result<void> truncate(Ino ino, std::uint64_t size) {
    return wait<void>([&](auto done) { fs.truncate(ino, size, {}, std::move(done)); });
  }
  Result<void> unlink(Ino parent, std::string_view name) {
    return wait<void>([&](auto done) { fs.unlink(parent, name, {}, std::move(done)); });
  }
  Result<Entry> mkdir(Ino parent, std::string_view name) {
    return wait<Entry>([&](auto done) { fs.make_directory(parent, name, {}, std::move(done)); });
  }
  Result<void> rmdir(Ino parent, std::string_view name) {
    return wait<void>([&](auto done) { fs.remove_directory(parent, name, {}, std::move(done)); });
  }

  /// With ESTALE the kernel looks again, once.
  Result<std::uint64_t> open_by_name(Ino parent, std::string_view name, bool truncate,
                                     ProcessId process) {
    for (int attempt = 0;; ++attempt) {
      const auto found = lookup(parent, name);
      const auto opened = found ? open_found(found->attributes.ino, truncate, process)
                                : make(parent, name, truncate, process);
      if (opened || attempt == 1 || opened.error().code != ErrorCode::kStale) return opened;
    }
  }

  std::vector<std::string> repeated;  ///< keys of which an ETag came back
  fakes::FakeClock clock;
  metrics::Registry metrics;
  fakes::FakeFabric fabric;
  fakes::FakeObjectStore store{clock};
  fakes::FakeReadCache cache{store};
  std::unique_ptr<upload::Uploads> uploads;
  std::shared_ptr<FileSystem> shared_fs;
  FileSystem& fs = *shared_fs;

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
