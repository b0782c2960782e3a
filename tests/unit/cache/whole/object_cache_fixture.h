// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "cache/whole/object_cache.h"
#include "fakes/cache_world.h"
#include "fakes/eventually.h"
#include "fakes/tmpfs_file.h"

namespace s3rdmafs::cache {

using fakes::FakeObjectStore;
using Object = std::shared_ptr<const ResidentObject>;

inline constexpr std::uint64_t kSize = 3 * kMiB;  // a file of 4 MiB

/// An object cache over a fake store. Its files are on a tmpfs of the test.
class ObjectCacheTest : public testing::Test, protected fakes::CacheWorld {
 protected:
  // Room for `files` objects of kSize.
  void start(std::size_t files, std::uint64_t spare_bytes = 0) {
    cache_ = std::make_unique<ObjectCache>(
        [this] { return make_file(); }, store_, fabric_, clock_, metrics_,
        ObjectCache::Options{.limits = {.bytes_max = files * 4 * kMiB, .files_max = 100},
                             .object_bytes_min = kMiB,
                             .object_bytes_max = 8 * kMiB,
                             .spare_bytes_max = spare_bytes,
                             .lock = memory::MemoryLock::kOff});
  }

  // The same, and an object that the server will not send before it is told to.
  ObjectVersion start_with_an_object_held_back(std::size_t files) {
    start(files);
    ObjectVersion held_back = put("a");
    store_.hold();
    return held_back;
  }

  // Room for two files: that of "a", and a spare. Neither is made until let_files_be_made().
  std::future<Result<Object>> open_beside_a_spare() {
    start(2, 4 * kMiB);
    files_wait_ = true;
    auto opened = open_later(put("a"));
    EXPECT_TRUE(fakes::eventually([&] { return files_begun_ == 2; }));
    return opened;
  }
  void let_files_be_made() {
    files_wait_ = false;
    files_wait_.notify_all();
  }

  void TearDown() override {
    let_files_be_made();
    store_.release_all();
    store_.shut_down();
    if (cache_) cache_->shut_down();
  }

  Result<UniqueFd> make_file() {
    ++files_begun_;
    files_wait_.wait(true);
    if (no_files_) return fail(ErrorCode::kSystem, "the test says no");
    return fakes::make_tmpfs_file();
  }

  ObjectVersion put(const std::string& key, std::uint64_t size = kSize) {
    return {
        .key = key, .etag = store_.put(key, std::string(size, key.front())), .size_bytes = size};
  }

  // Each run of bytes differs from its neighbours.
  ObjectVersion put_numbered(const std::string& key, std::uint64_t size) {
    std::string& bytes = contents_[key];
    while (bytes.size() < size) bytes += std::to_string(bytes.size()) + ' ';
    bytes.resize(size);
    return {.key = key, .etag = store_.put(key, bytes), .size_bytes = size};
  }
  const std::string& store_content(const std::string& key) { return contents_.at(key); }

  Result<Object> open_part(ObjectPart part) {
    std::promise<Result<Object>> promise;
    cache_->open_part(std::move(part), clock_.now() + std::chrono::seconds(30),
                      [&](Result<Object> object) { promise.set_value(std::move(object)); });
    return promise.get_future().get();
  }

  std::future<Result<Object>> open_later(ObjectVersion version) {
    auto promise = std::make_shared<std::promise<Result<Object>>>();
    auto future = promise->get_future();
    cache_->open(std::move(version), clock_.now() + std::chrono::seconds(30),
                 [promise](Result<Object> object) { promise->set_value(std::move(object)); });
    return future;
  }
  Result<Object> open(ObjectVersion version) { return open_later(std::move(version)).get(); }

  using Pinned = ObjectCache::Pinned;
  std::future<Result<Pinned>> pin_later(ObjectVersion version,
                                        std::function<bool(std::uint64_t)> on_part = {}) {
    auto promise = std::make_shared<std::promise<Result<Pinned>>>();
    auto future = promise->get_future();
    cache_->pin(std::move(version),
                {.part_timeout = std::chrono::seconds(30), .on_part = std::move(on_part)},
                [promise](Result<Pinned> pinned) { promise->set_value(std::move(pinned)); });
    return future;
  }
  Result<Pinned> pin(ObjectVersion version) { return pin_later(std::move(version)).get(); }

  std::int64_t gauge(std::string_view name) { return metrics_.gauge(name, "").value(); }

  static std::string content(const Object& object) {
    struct stat status{};
    ::fstat(object->fd(), &status);
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    EXPECT_EQ(::pread(object->fd(), text.data(), text.size(), 0),
              static_cast<ssize_t>(text.size()));
    return text;
  }

  std::size_t gets() const { return store_.count(FakeObjectStore::Operation::kGet); }
  std::uint64_t declined(std::string_view reason) {
    return metrics_
        .counter("passthrough_declined_total", "", "reason=\"" + std::string(reason) + "\"")
        .value();
  }

  std::atomic<bool> no_files_{false};
  std::atomic<bool> files_wait_{false};
  std::atomic<int> files_begun_{0};
  std::map<std::string, std::string> contents_;
  std::unique_ptr<ObjectCache> cache_;
};

}  // namespace s3rdmafs::cache
