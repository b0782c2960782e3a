// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "answer.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_read_cache.h"
#include "fakes/fake_resident_objects.h"
#include "fakes/rdma/fake_fabric.h"
#include "fakes/s3/fake_object_store.h"
#include "fakes/temporary_folder.h"
#include "s3rdmafs/metrics/registry.h"
#include "upload/uploads.h"
#include "vfs/file_system.h"

namespace s3rdmafs::vfs {

using std::chrono::seconds;
using Operation = fakes::FakeObjectStore::Operation;

inline std::string text_of(const cache::PinnedBytes& bytes) {
  std::string text;
  for (const auto piece : bytes.pieces()) {
    for (const std::byte byte : piece) text += static_cast<char>(byte);
  }
  return text;
}

/// A file system over a fake bucket, with calls that wait. They are for stores that answer at once.
struct MountedBucket {
  static constexpr std::chrono::seconds kTtl{30};
  static constexpr std::chrono::seconds kNegativeTtl{5};

  /// @param upload_options  of a mount that may write
  /// @param staging_bytes   of the staging area; 0: files are written sequentially
  explicit MountedBucket(FileSystem::Options options = {.prefix = "",
                                                        .ttl = kTtl,
                                                        .negative_ttl = kNegativeTtl},
                         std::optional<upload::Uploads::Options> upload_options = std::nullopt,
                         std::uint64_t staging_bytes = 0)
      : staging(staging_bytes > 0 ? take_area(staging_bytes) : nullptr),
        uploads(
            upload_options
                ? upload::Uploads::create(store, fabric, clock, metrics, *upload_options).value()
                : nullptr),
        shared_fs(FileSystem::create(store, cache, clock, metrics, std::move(options), writing(),
                                     &whole)) {}

  Result<Entry> lookup(Ino parent, std::string_view name) {
    return answer_of<Entry>([&](auto done) { fs.lookup(parent, name, {}, std::move(done)); });
  }

  /// 0, and a failure of the test, where the name is not found.
  Ino ino_of(std::string_view name, Ino parent = kRootIno) {
    const Result<Entry> entry = lookup(parent, name);
    EXPECT_TRUE(entry) << name << ": " << error_of(entry);
    return entry ? entry->attributes.ino : 0;
  }

  Result<std::vector<DirectoryEntry>> read_directory(std::uint64_t handle, std::uint64_t offset,
                                                     std::size_t entries_max) {
    return answer_of<std::vector<DirectoryEntry>>(
        [&](auto done) { fs.read_directory(handle, offset, entries_max, {}, std::move(done)); });
  }

  Result<std::string> read_link(Ino ino) {
    return answer_of<std::string>([&](auto done) { fs.read_link(ino, {}, std::move(done)); });
  }

  /// All of a directory but "." and "..", read in bits of `entries_max`.
  Result<std::vector<DirectoryEntry>> list(Ino directory, std::size_t entries_max = 100) {
    const Result<std::uint64_t> handle = fs.open_directory(directory);
    if (!handle) return std::unexpected(handle.error());
    std::vector<DirectoryEntry> all;
    std::uint64_t offset = 0;
    for (;;) {
      auto some = read_directory(*handle, offset, entries_max);
      if (!some) {
        fs.release_directory(*handle);
        return some;
      }
      if (some->empty()) break;
      offset = some->back().next_offset;
      for (DirectoryEntry& entry : *some) {
        if (entry.name != "." && entry.name != "..") all.push_back(std::move(entry));
      }
    }
    fs.release_directory(*handle);
    return all;
  }

  Result<OpenFile> open(Ino ino) {
    return answer_of<OpenFile>([&](auto done) { fs.open(ino, {}, std::move(done)); });
  }

  Result<std::string> read(std::uint64_t handle, std::uint64_t offset_bytes, std::size_t length) {
    const auto bytes = answer_of<cache::PinnedBytes>(
        [&](auto done) { fs.read(handle, offset_bytes, length, {}, std::move(done)); });
    if (!bytes) return std::unexpected(bytes.error());
    return text_of(*bytes);
  }

  std::uint64_t counter(std::string_view name, std::string_view labels = {}) {
    return metrics.counter(name, "", labels).value();
  }
  std::int64_t gauge(std::string_view name) { return metrics.gauge(name, "").value(); }

  fakes::FakeClock clock;
  metrics::Registry metrics;  // before the store, whose end cancels what still counts here
  fakes::FakeFabric fabric;
  fakes::FakeObjectStore store{clock};
  fakes::FakeReadCache cache{store};
  fakes::FakeResidentObjects whole;  ///< asked by open_whole() alone
  fakes::TemporaryFolder staging_folder;
  std::unique_ptr<upload::StagingArea> staging;  ///< null where files are written sequentially
  std::unique_ptr<upload::Uploads> uploads;      ///< null where the mount may not write
  std::shared_ptr<FileSystem> shared_fs;
  FileSystem& fs = *shared_fs;

 private:
  std::optional<FileSystem::Writing> writing() {
    if (!uploads) return std::nullopt;
    return FileSystem::Writing{store, *uploads, staging.get()};
  }
  std::unique_ptr<upload::StagingArea> take_area(std::uint64_t size_bytes) {
    return upload::StagingArea::take(
               {.path = staging_folder.path() / "area", .size_bytes = size_bytes}, clock, metrics)
        .value();
  }
};

/// A fixture of tests that ask a mounted bucket.
class MountedBucketTest : public testing::Test {
 protected:
  Ino ino_of(std::string_view name, Ino parent = kRootIno) { return bucket_.ino_of(name, parent); }
  std::size_t requests() const { return store_.calls().size(); }

  MountedBucket bucket_;
  fakes::FakeObjectStore& store_ = bucket_.store;
  FileSystem& fs_ = bucket_.fs;
};

}  // namespace s3rdmafs::vfs
