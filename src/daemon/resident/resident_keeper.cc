// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/resident_keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "config/path_glob.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/thread_name.h"

namespace s3rdmafs::daemon {
namespace {

// A server that restarts is back in seconds; later retries are as rare as regular rounds.
constexpr std::chrono::seconds kFirstPause{2};
// Soon enough for a person, at the price of listing each directory.
constexpr std::chrono::seconds kPauseMax{300};

// A glob without a wildcard is a path: a name is not looked for in every directory of the bucket.
config::PathGlob path_or_pattern(const std::string& glob) {
  return config::has_wildcard(glob) ? config::PathGlob::of_mount_file(glob)
                                    : config::PathGlob::anchored(glob);
}

constexpr std::string_view kObjects = "resident_objects";
constexpr std::string_view kObjectsHelp = "Objects of [[resident]] by state";

}  // namespace

ResidentKeeper::ResidentKeeper(Bucket bucket, cache::ObjectCache& cache, metrics::Registry& metrics,
                               std::vector<std::string> globs)
    : bucket_(std::move(bucket)),
      cache_(cache),
      globs_(std::move(globs)),
      wanted_(metrics.gauge(kObjects, kObjectsHelp, R"(state="wanted")")),
      resident_(metrics.gauge(kObjects, kObjectsHelp, R"(state="resident")")),
      no_room_(metrics.gauge(kObjects, kObjectsHelp, R"(state="no_room")")),
      failures_(metrics.counter("resident_failures_total",
                                "Rounds over [[resident]] in which something failed")) {}

void ResidentKeeper::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void ResidentKeeper::set_globs(std::vector<std::string> globs) {
  const MutexLock lock(mutex_);
  globs_ = std::move(globs);
  are_globs_new_ = true;
}

std::vector<std::string> ResidentKeeper::take_globs() {
  const MutexLock lock(mutex_);
  are_globs_new_ = false;
  return globs_;
}

bool ResidentKeeper::has_new_globs() {
  const MutexLock lock(mutex_);
  return are_globs_new_;
}

void ResidentKeeper::pause(const std::stop_token& stop, std::chrono::seconds duration) {
  constexpr std::chrono::milliseconds kStep{200};  // the delay after which the end is noticed
  const Deadline end = bucket_.clock.now() + duration;
  while (!stop.stop_requested() && bucket_.clock.now() < end && !has_new_globs()) {
    std::this_thread::sleep_for(kStep);
  }
}

void ResidentKeeper::run(const std::stop_token& stop) {
  set_thread_name("resident");
  std::chrono::seconds retry = kFirstPause;
  while (!stop.stop_requested()) {
    if (keep_all(stop)) {
      retry = kFirstPause;
      pause(stop, kPauseMax);
    } else {
      failures_.add();
      pause(stop, retry);
      retry = std::min(2 * retry, kPauseMax);
    }
  }
}

bool ResidentKeeper::keep_all(const std::stop_token& stop) {
  const auto goes_on = [&stop] { return !stop.stop_requested(); };
  bool is_complete = true;
  std::vector<s3::ObjectInfo> objects;
  std::set<std::string> keys;
  const std::vector<std::string> globs = take_globs();
  if (globs.empty() && keys_.empty()) return true;
  for (const std::string& glob : globs) {
    auto found = find_objects(bucket_, path_or_pattern(glob), goes_on);
    if (!found) {
      if (stop.stop_requested()) return true;
      log::warn("resident: '{}': {}", glob, found.error().detail);
      // A glob that matches nothing yet is not a failure: later rounds look again.
      is_complete = is_complete && found.error().code == ErrorCode::kNotFound;
      continue;
    }
    for (s3::ObjectInfo& object : *found) {
      if (keys.insert(object.key).second) objects.push_back(std::move(object));
    }
  }
  if (is_complete) {  // then keys that were not found are gone
    cache_.unpin([&](std::string_view key) {
      const std::string name(key);
      return keys_.contains(name) && !keys.contains(name);
    });
    keys_ = std::move(keys);
  }
  KeepOutcome outcome =
      keep_objects(cache_, objects, bucket_.request_timeout, Pace({}),
                   [&](const KeepProgress&) { return goes_on() && !has_new_globs(); });
  outcome.fail_replaced();
  if (outcome.was_cancelled) return true;
  report(objects.size(), outcome);
  return is_complete && outcome.failed == 0;
}

void ResidentKeeper::report(std::size_t objects, const KeepOutcome& outcome) {
  const std::size_t resident = outcome.fetched.objects + outcome.were_there.objects;
  wanted_.set(static_cast<std::int64_t>(objects));
  resident_.set(static_cast<std::int64_t>(resident));
  no_room_.set(static_cast<std::int64_t>(outcome.no_room.objects));
  std::string report = fmt::format("{} of {} objects are resident", resident, objects);
  for (const std::string& problem : outcome.problems) report += "; " + problem;
  if (report == std::exchange(last_report_, report)) return;
  log::line(outcome.is_whole() ? log::Level::kInfo : log::Level::kWarn, "resident: {}", report);
}

}  // namespace s3rdmafs::daemon
