// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fakes/temporary_folder.h"
#include "manifest/manifest.h"
#include "manifest/writer.h"
#include "s3rdmafs/base/callback.h"

namespace s3rdmafs::manifest {

/// The error's name, "" for success.
template <class T>
std::string_view error_of(const Result<T>& result) {
  return result ? "" : error_code_name(result.error().code);
}

/// The answer to one asynchronous call, which may come on any thread.
template <class T, class Call>
Result<T> answer_of(Call call) {
  std::promise<Result<T>> answer;
  auto answered = answer.get_future();
  call([&answer](Result<T> result) { answer.set_value(std::move(result)); });
  return answered.get();
}

inline Entry make_entry(std::string key, std::uint64_t size_bytes = 1, std::string etag = "\"e\"",
                        int second = 0) {
  return {
      .object = {.key = std::move(key),
                 .etag = std::move(etag),
                 .size_bytes = size_bytes,
                 .modified = std::chrono::system_clock::time_point(std::chrono::seconds(second))}};
}

/// Keys out of few letters, so that many share a beginning and directories nest; all bytes occur.
class RandomKeys {
 public:
  explicit RandomKeys(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }
  std::string text(std::size_t length) {
    static constexpr std::string_view kLetters = "ab//-\xff\x01z";
    std::string made;
    while (made.size() < length) {
      made += below(20) == 0 ? static_cast<char>(1 + below(255)) : kLetters[below(kLetters.size())];
    }
    return made;
  }
  std::string key() { return text(1 + below(7)); }

 private:
  std::mt19937 random_;
};

class ManifestTest : public testing::Test {
 protected:
  static Origin origin() {
    return {.endpoints = {"http://a:9000", "http://b:9000"}, .bucket = "data", .prefix = "p/"};
  }
  [[nodiscard]] std::string path(const std::string& name = "manifest") const {
    return folder_.path() / name;
  }
  void write(const std::vector<Entry>& entries, const std::string& name = "manifest") {
    auto writer = Writer::create(path(name));
    ASSERT_TRUE(writer) << writer.error().detail;
    for (const Entry& entry : entries) {
      const auto added = writer->add(entry);
      ASSERT_TRUE(added) << added.error().detail;
    }
    const auto finished = writer->finish(origin(), {});
    ASSERT_TRUE(finished) << finished.error().detail;
  }
  std::unique_ptr<Manifest> open(const std::string& name = "manifest") {
    auto opened = Manifest::open(path(name));
    EXPECT_TRUE(opened) << opened.error().detail;
    return opened ? std::move(*opened) : nullptr;
  }
  /// So many entries that they fill several blocks, sorted.
  static std::vector<Entry> many(std::size_t count) {
    std::vector<Entry> entries;
    for (std::size_t n = 0; n < count; ++n) {
      std::string number = std::to_string(n);
      number.insert(0, 8 - number.size(), '0');
      entries.push_back(make_entry("d/" + number, n, "\"etag-" + number + "\"", int(n % 1000)));
    }
    return entries;
  }

  fakes::TemporaryFolder folder_;
};

}  // namespace s3rdmafs::manifest
