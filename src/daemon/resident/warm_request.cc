// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/warm_request.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "config/path_glob.h"
#include "daemon/resident/keep_objects.h"
#include "daemon/resident/read_objects.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

using Words = std::span<const std::string>;

struct WarmOptions {
  bool into_cache = false;
  bool are_versions = false;
  Pace::Limits limits;
  Words names;
};

bool parse_number(std::string_view text, std::uint64_t& number) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size();
}

bool take_option(std::string_view word, WarmOptions& options) {
  if (word == kIntoCache) return options.into_cache = true;
  if (word == kNamesAreVersions) return options.are_versions = true;
  for (const auto& [name, limit] :
       {std::pair{std::string_view(kBytesPerSecond), &options.limits.bytes_per_second},
        std::pair{std::string_view(kRequestsPerSecond), &options.limits.requests_per_second}}) {
    if (word.starts_with(name)) return parse_number(word.substr(name.size()), *limit);
  }
  return false;
}

/// Nothing: a word is none of its options, or the empty word after them lacks.
std::optional<WarmOptions> options_of(Words words) {
  WarmOptions options;
  while (!words.empty() && !words.front().empty()) {
    if (!take_option(words.front(), options)) return std::nullopt;
    words = words.subspan(1);
  }
  if (words.empty()) return std::nullopt;
  options.names = words.subspan(1);
  return options;
}

// The objects in the order of the paths, each once.
struct Found {
  std::vector<s3::ObjectInfo> objects;
  std::uint64_t bytes = 0;
  std::size_t failed = 0;
};

/// One `s3rdmafs warm`.
class Warming {
 public:
  Warming(const Bucket& bucket, const WarmTargets& targets, const WarmOptions& options,
          ControlRequest& request)
      : bucket_(bucket), targets_(targets), options_(options), request_(request) {}

  void run() {
    Found found = options_.are_versions ? take_versions() : find_paths();
    request_.say(fmt::format("found {} {}", found.objects.size(), found.bytes));
    KeepOutcome outcome = fetch(found.objects);
    outcome.failed += found.failed;
    if (options_.are_versions && !outcome.was_cancelled) fetch_newer(outcome);
    outcome.fail_replaced();
    tell(outcome);
  }

 private:
  Result<std::vector<s3::ObjectInfo>> find(const config::PathGlob& glob) {
    return find_objects(bucket_, glob, [this] { return request_.is_wanted(); });
  }

  Found find_paths() {
    Found found;
    std::set<std::string> keys;
    for (const std::string& path : options_.names) {
      auto objects = find(config::PathGlob::anchored(path));
      if (!objects) {
        complain(path, objects.error().detail, found.failed);
        continue;
      }
      for (s3::ObjectInfo& object : *objects) {
        if (!keys.insert(object.key).second) continue;
        if (found.objects.size() >= bucket_.objects_max) {
          complain(path,
                   fmt::format("more than {} objects together with the paths before it; name fewer",
                               bucket_.objects_max),
                   found.failed);
          return found;
        }
        found.bytes += object.size_bytes;
        found.objects.push_back(std::move(object));
      }
    }
    return found;
  }

  Found take_versions() {
    Found found;
    for (Words words = options_.names; words.size() >= 3; words = words.subspan(3)) {
      s3::ObjectInfo version{.key = words[0], .etag = words[1], .modified = {}};
      if (!version.key.starts_with(bucket_.prefix)) {
        complain(version.key, "it is not below bucket.prefix of this mount", found.failed);
      } else if (version.etag.empty() || !parse_number(words[2], version.size_bytes)) {
        complain(version.key, "its ETag or its size is not readable", found.failed);
      } else {
        found.bytes += version.size_bytes;
        found.objects.push_back(std::move(version));
      }
    }
    return found;
  }

  void complain(std::string_view name, std::string_view text, std::size_t& failed) {
    request_.say(fmt::format("problem {}: {}", name, text));
    ++failed;
  }

  KeepOutcome fetch(const std::vector<s3::ObjectInfo>& objects) {
    const auto on_progress = [this](const KeepProgress& so_far) {
      return request_.say(fmt::format("progress {} {}", so_far.objects, so_far.bytes)) &&
             request_.is_wanted();
    };
    const Pace pace(options_.limits);
    if (options_.into_cache) {
      return read_objects(
          {.blocks = targets_.blocks, .whole = targets_.whole, .clock = bucket_.clock}, objects,
          bucket_.request_timeout, pace, on_progress);
    }
    return keep_objects(*targets_.whole, objects, bucket_.request_timeout, pace, on_progress);
  }

  // Once: one that is replaced again at that moment has failed.
  void fetch_newer(KeepOutcome& outcome) {
    std::vector<s3::ObjectInfo> newer;
    for (const s3::ObjectInfo& object : std::exchange(outcome.replaced, {})) {
      auto found = find(config::PathGlob::literal(object.key.substr(bucket_.prefix.size())));
      if (!found) {
        outcome.add_failure(object, found.error());
      } else if (found->front().key != object.key) {
        outcome.add_failure(object, {ErrorCode::kNotFound, "it has become a directory"});
      } else {
        newer.push_back(std::move(found->front()));
      }
    }
    outcome.add(fetch(newer));
  }

  void tell(const KeepOutcome& outcome) {
    log::info("warm: {} objects fetched{}, {} were resident, {} found no room, {} failed{}",
              outcome.fetched.objects, options_.into_cache ? " into the read cache" : "",
              outcome.were_there.objects, outcome.no_room.objects, outcome.failed,
              outcome.was_cancelled ? "; cancelled" : "");
    for (const std::string& problem : outcome.problems) request_.say("problem " + problem);
    request_.say(fmt::format("fetched {} {}", outcome.fetched.objects, outcome.fetched.bytes));
    request_.say(
        fmt::format("were_there {} {}", outcome.were_there.objects, outcome.were_there.bytes));
    request_.say(fmt::format("no_room {} {} {}", outcome.no_room.objects, outcome.no_room.bytes,
                             targets_.whole == nullptr ? 0 : targets_.whole->bytes_max()));
    request_.say(fmt::format("failed {}", outcome.failed));
    if (!outcome.was_cancelled && request_.is_wanted()) request_.say("end");
  }

  const Bucket& bucket_;
  const WarmTargets& targets_;
  const WarmOptions& options_;
  ControlRequest& request_;
};

void release(const Bucket& bucket, cache::ObjectCache& cache, Words paths,
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

void refuse_whole_objects(ControlRequest& request) {
  request.say(
      "error this mount keeps no whole objects: it needs Linux 6.9, CAP_SYS_ADMIN, and "
      "cache.passthrough_max and cache.resident_size above 0; --cached reads into the read cache");
}

}  // namespace

bool is_warm_request(const ControlRequest& request) {
  const std::vector<std::string>& words = request.words();
  return !words.empty() && (words.front() == kWarmCommand || words.front() == kReleaseCommand);
}

void answer_warm_request(const Bucket& bucket, const WarmTargets& targets,
                         ControlRequest& request) {
  const Words words = Words(request.words()).subspan(1);
  if (request.words().front() == kReleaseCommand) {
    if (targets.whole == nullptr) return refuse_whole_objects(request);
    request.say("accepted");
    return release(bucket, *targets.whole, words, request);
  }
  const auto options = options_of(words);
  if (!options) {
    request.say("error the daemon is of another version and does not know this option");
    return;
  }
  if (!options->into_cache && targets.whole == nullptr) return refuse_whole_objects(request);
  request.say("accepted");
  Warming(bucket, targets, *options, request).run();
}

}  // namespace s3rdmafs::daemon
