// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/fake_read_cache.h"
#include "fakes/s3/fake_object_store.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/file_system.h"

namespace s3rdmafs::vfs {

/// The answer to one asynchronous call, when it has come. Fails the test if it comes twice.
template <class T>
class Answer {
 public:
  [[nodiscard]] Done<T> done() {
    return [state = state_](Result<T> result) {
      EXPECT_FALSE(state->has_value()) << "done was called twice";
      *state = std::move(result);
    };
  }
  [[nodiscard]] bool has_come() const { return state_->has_value(); }
  [[nodiscard]] Result<T>& get() const { return state_->value(); }
  /// The error's name, "" for success, "pending" before the answer.
  [[nodiscard]] std::string_view error() const {
    if (!has_come()) return "pending";
    return get() ? "" : error_code_name(get().error().code);
  }

 private:
  std::shared_ptr<std::optional<Result<T>>> state_ = std::make_shared<std::optional<Result<T>>>();
};

/// The error's name, "" for success.
template <class T>
std::string_view error_of(const Result<T>& result) {
  return result ? "" : error_code_name(result.error().code);
}

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

  explicit MountedBucket(FileSystem::Options options = {.prefix = "",
                                                        .ttl = kTtl,
                                                        .negative_ttl = kNegativeTtl})
      : shared_fs(FileSystem::create(store, cache, clock, metrics, std::move(options))) {}

  Result<Entry> lookup(Ino parent, std::string_view name) {
    Answer<Entry> answer;
    fs.lookup(parent, name, {}, answer.done());
    return answer.get();
  }

  Result<std::vector<DirectoryEntry>> read_directory(std::uint64_t handle, std::uint64_t offset,
                                                     std::size_t entries_max) {
    Answer<std::vector<DirectoryEntry>> answer;
    fs.read_directory(handle, offset, entries_max, {}, answer.done());
    return answer.get();
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
    Answer<OpenFile> answer;
    fs.open(ino, {}, answer.done());
    return std::move(answer.get());
  }

  Result<std::string> read(std::uint64_t handle, std::uint64_t offset_bytes, std::size_t length) {
    Answer<cache::PinnedBytes> answer;
    fs.read(handle, offset_bytes, length, {}, answer.done());
    if (!answer.get()) return std::unexpected(answer.get().error());
    return text_of(*answer.get());
  }

  std::uint64_t counter(std::string_view name, std::string_view labels = {}) {
    return metrics.counter(name, "", labels).value();
  }
  std::int64_t gauge(std::string_view name) { return metrics.gauge(name, "").value(); }

  fakes::FakeClock clock;
  metrics::Registry metrics;  // before the store, whose end cancels what still counts here
  fakes::FakeObjectStore store{clock};
  fakes::FakeReadCache cache{store};
  std::shared_ptr<FileSystem> shared_fs;
  FileSystem& fs = *shared_fs;
};

}  // namespace s3rdmafs::vfs
