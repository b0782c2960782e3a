// SPDX-License-Identifier: Apache-2.0
#include "matrix_row.h"

#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::fault {
namespace {

// Small enough for NooBaa to send it in the body; large enough for several blocks and parts.
constexpr std::size_t kSmallBytes = 2'000;
constexpr std::size_t kLargeBytes = 5 * kMiB + 12'345;
constexpr std::size_t kPartBytes = 5 * kMiB;  // S3's least, for all but the last
constexpr std::size_t kOverwriteBytes = 300'000;

// Rows that run at the same time: each of them mostly waits for others.
constexpr std::size_t kRowsAtOnce = 8;

/// Bytes in which every eight tell object and place.
std::string pattern(std::uint64_t seed, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at + 8 <= size; at += 8) {
    const std::uint64_t word = (seed * 1'000'003 + at) * 0x9E3779B97F4A7C15;
    std::memcpy(&bytes[at], &word, sizeof(word));
  }
  return bytes;
}

/// Nothing where there is no such object.
std::optional<std::string> stored(const TargetProcess& target, const std::string& key) {
  std::ifstream file(target.object(key), std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// One server and one mode, with every operation.
class Row {
 public:
  explicit Row(const Case& what)
      : target_(what.options), client_(target_, what.rdma, what.patience, what.fence) {}

  Ended run() {
    target_.put_object("small", small_);
    target_.put_object("large", large_);
    target_.put_object("overwritten", old_);
    ended_.cells = {
        get("small", small_, 0, small_.size()),
        get("large", large_, 0, large_.size()),
        get("large", large_, large_.size() - 100, 100),
        get_past_the_end(),
        put_empty(),
        put("new", pattern(4, kSmallBytes), std::nullopt),
        put_in_parts(),
        put("overwritten", pattern(5, kOverwriteBytes), old_),
        copy("copied", client_.copy("small", "copied"), small_),
        copy("part", client_.copy_part("small", 100, 1000, "part"), small_.substr(100, 1000)),
        put_over_a_version()};
    ended_.faults_struck = target_.counter("target_faults_total");
    // Late transfers are over when the server has ended.
    target_.stop();
    for (const Written& written : written_)
      note(problem_with(written, stored(target_, written.key)));
    note(client_.trespasses());
    return std::move(ended_);
  }

 private:
  void note(std::string problem) {
    if (!problem.empty()) ended_.problems.push_back(std::move(problem));
  }

  std::string get(const std::string& key, const std::string& content, std::size_t offset,
                  std::size_t length) {
    std::string bytes;
    const Outcome outcome = client_.get(key, offset, length, bytes);
    if (outcome.is_good() && bytes != content.substr(offset, length)) note("wrong bytes of " + key);
    return outcome.text();
  }

  std::string get_past_the_end() {
    std::string bytes;
    const Outcome outcome = client_.get("large", large_.size(), 100, bytes);
    if (outcome.is_good()) note("bytes came from where there are none");
    return outcome.text();
  }

  std::string put_empty() {
    const Outcome outcome = client_.put("empty", "");
    if (!outcome.is_good() || client_.size_of("empty") != 0U || stored(target_, "empty") != "") {
      note("an empty object cannot be made");
    }
    return outcome.text();
  }

  std::string put(const std::string& key, const std::string& bytes,
                  const std::optional<std::string>& before) {
    const Outcome outcome = client_.put(key, bytes);
    check({.key = key, .bytes = bytes, .before = before, .is_good = outcome.is_good()});
    return outcome.text();
  }

  std::string copy(const std::string& key, const Outcome& outcome, const std::string& bytes) {
    if (!outcome.is_good()) return outcome.text();
    if (stored(target_, key) != bytes) note("wrong bytes of " + key);
    return "copied";
  }

  /// Three writers: one that knows the version that is there, and two that do not.
  std::string put_over_a_version() {
    target_.put_object("versioned", old_);
    const std::string bytes = pattern(7, kSmallBytes);
    const Outcome outcome =
        client_.put("versioned", bytes, s3::Precondition::matches(client_.etag_of("versioned")));
    check({.key = "versioned", .bytes = bytes, .before = old_, .is_good = outcome.is_good()});
    const auto now = stored(target_, "versioned");
    for (const s3::Precondition& when :
         {s3::Precondition::matches("\"never\""), s3::Precondition::absent()}) {
      const bool was_stored = client_.put("versioned", pattern(8, kSmallBytes), when).is_good();
      if (was_stored || stored(target_, "versioned") != now) note("a version was overwritten");
    }
    return outcome.text();
  }

  std::string put_in_parts() {
    const std::string bytes = pattern(6, kPartBytes + 1'000'000);
    const Outcome outcome =
        client_.put_in_parts("parts", {bytes.substr(0, kPartBytes), bytes.substr(kPartBytes)});
    check({.key = "parts", .bytes = bytes, .before = {}, .is_good = outcome.is_good()});
    return outcome.text();
  }

  /// Now, and again at the end.
  void check(Written written) {
    note(problem_with(written, stored(target_, written.key)));
    written_.push_back(std::move(written));
  }

  const std::string small_ = pattern(1, kSmallBytes);
  const std::string large_ = pattern(2, kLargeBytes);
  const std::string old_ = pattern(3, kOverwriteBytes);
  TargetProcess target_;
  Client client_;
  std::vector<Written> written_;
  Ended ended_;
};

}  // namespace

std::string problem_with(const Written& written, const std::optional<std::string>& now) {
  if (now == written.bytes) return "";
  if (now == written.before && !written.is_good) return "";
  return fmt::format("{} holds {} after a PUT that {}", written.key,
                     now ? std::to_string(now->size()) + " bytes" : "nothing",
                     written.is_good ? "succeeded" : "failed");
}

std::vector<Ended> run_all(const std::vector<Case>& cases) {
  std::vector<Ended> ended(cases.size());
  std::atomic<std::size_t> next{0};
  const auto run_some = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      SCOPED_TRACE(fmt::format("{}, {}", cases[i].name, cases[i].mode.name));
      ended[i] = run_one(cases[i]);
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kRowsAtOnce; ++i) threads.emplace_back(run_some);
  threads.clear();
  return ended;
}

Ended run_one(const Case& what) { return Row(what).run(); }

}  // namespace s3rdmafs::fault
