// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/warm_request.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "config/path_glob.h"
#include "daemon/resident/keep_objects.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

using Paths = std::span<const std::string>;

// The objects in the order of the paths, each once.
struct Found {
  std::vector<s3::ObjectInfo> objects;
  std::uint64_t bytes = 0;
  std::size_t failed = 0;
};

Found find_all(const Bucket& bucket, Paths paths, ControlRequest& request) {
  Found found;
  std::set<std::string> keys;
  for (const std::string& path : paths) {
    auto objects = find_objects(bucket, config::PathGlob::anchored(path),
                                [&request] { return request.is_wanted(); });
    if (!objects) {
      request.say(fmt::format("problem {}: {}", path, objects.error().detail));
      ++found.failed;
      continue;
    }
    for (s3::ObjectInfo& object : *objects) {
      if (!keys.insert(object.key).second) continue;
      if (found.objects.size() >= bucket.objects_max) {
        request.say(fmt::format(
            "problem {}: more than {} objects together with the paths before it; name fewer", path,
            bucket.objects_max));
        ++found.failed;
        return found;
      }
      found.bytes += object.size_bytes;
      found.objects.push_back(std::move(object));
    }
  }
  return found;
}

void warm(const Bucket& bucket, cache::ObjectCache& cache, Paths paths, ControlRequest& request) {
  const Found found = find_all(bucket, paths, request);
  request.say(fmt::format("found {} {}", found.objects.size(), found.bytes));
  const KeepOutcome outcome = keep_objects(
      cache, found.objects, bucket.request_timeout, [&request](const KeepProgress& so_far) {
        return request.say(fmt::format("progress {} {}", so_far.objects, so_far.bytes)) &&
               request.is_wanted();
      });
  spdlog::info("warm: {} objects fetched, {} were resident, {} found no room, {} failed{}",
               outcome.fetched.objects, outcome.were_there.objects, outcome.no_room.objects,
               outcome.failed + found.failed, outcome.was_cancelled ? "; cancelled" : "");
  for (const std::string& problem : outcome.problems) request.say("problem " + problem);
  request.say(fmt::format("fetched {} {}", outcome.fetched.objects, outcome.fetched.bytes));
  request.say(
      fmt::format("were_there {} {}", outcome.were_there.objects, outcome.were_there.bytes));
  request.say(fmt::format("no_room {} {} {}", outcome.no_room.objects, outcome.no_room.bytes,
                          cache.bytes_max()));
  request.say(fmt::format("failed {}", outcome.failed + found.failed));
  if (!outcome.was_cancelled && request.is_wanted()) request.say("end");
}

void release(const Bucket& bucket, cache::ObjectCache& cache, Paths paths,
             ControlRequest& request) {
  std::vector<config::PathGlob> globs;
  for (const std::string& path : paths) globs.push_back(config::PathGlob::anchored(path));
  const auto amount = cache.unpin([&](std::string_view key) {
    key.remove_prefix(std::min(key.size(), bucket.prefix.size()));
    return std::ranges::any_of(globs,
                               [key](const config::PathGlob& glob) { return glob.covers(key); });
  });
  request.say(fmt::format("released {} {}", amount.objects, amount.bytes));
  request.say("end");
}

}  // namespace

void answer_request(const Bucket& bucket, cache::ObjectCache* cache, ControlRequest& request) {
  const std::vector<std::string>& words = request.words();
  const std::string command = words.empty() ? "" : words.front();
  if (command != kWarmCommand && command != kReleaseCommand) {
    request.say("error unknown request '" + command + "': the daemon is of another version");
    return;
  }
  if (cache == nullptr) {
    request.say(
        "error this mount keeps no whole objects: it needs Linux 6.9, CAP_SYS_ADMIN, and "
        "cache.passthrough_max and cache.resident_size above 0");
    return;
  }
  request.say("accepted");
  const Paths paths = Paths(words).subspan(1);
  if (command == kWarmCommand) return warm(bucket, *cache, paths, request);
  release(bucket, *cache, paths, request);
}

}  // namespace s3rdmafs::daemon
