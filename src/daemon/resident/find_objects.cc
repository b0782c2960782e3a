// SPDX-License-Identifier: Apache-2.0
// One listing for each directory on the way, so that "data/*/x.bin" lists data/ and nothing below
// it, and each name means here what it means in the mount.
#include "daemon/resident/find_objects.h"

#include <optional>
#include <span>
#include <utility>

#include "daemon/await.h"
#include "daemon/resident/path_pattern.h"
#include "s3rdmafs/base/log.h"
#include "vfs/directory_listing.h"
#include "vfs/key_path.h"
#include "vfs/probe.h"

namespace s3rdmafs::daemon {
namespace {

class Finder {
 public:
  Finder(const Bucket& bucket, const std::function<bool()>& goes_on)
      : bucket_(bucket), goes_on_(goes_on) {}

  Result<std::vector<s3::ObjectInfo>> find(const std::string& pattern) {
    const std::vector<std::string> components = components_of(pattern);
    Result<void> done;
    if (components.empty()) {
      done = add_all_below(bucket_.prefix);
    } else {
      done = add_named(bucket_.prefix + pattern);
      const bool may_match = done && found_.empty() && has_wildcard(pattern);
      if (may_match) done = add_matches(bucket_.prefix, components);
    }
    if (!done) return std::unexpected(done.error());
    if (found_.empty()) {
      return fail(ErrorCode::kNotFound, has_wildcard(pattern)
                                            ? "no file matches it"
                                            : "there is no such file, and none below it");
    }
    return std::move(found_);
  }

 private:
  Result<void> add_named(const std::string& key) {
    if (key.size() > vfs::kKeyBytesMax) return {};
    if (!goes_on_()) return cancelled();
    auto node = await<Result<std::optional<vfs::Node>>>(
        [&](auto done) { vfs::probe(bucket_.store, key, deadline(), std::move(done)); });
    if (!node) return std::unexpected(node.error());
    if (!*node) return {};
    if ((*node)->is_directory) return add_all_below((*node)->object.key);
    return add((*node)->object);
  }

  Result<void> add_all_below(const std::string& prefix) {
    return for_each_name(prefix, [this](vfs::ListedName& listed) -> Result<void> {
      if (listed.node.is_directory) return add_all_below(listed.node.object.key);
      return add(listed.node.object);
    });
  }

  Result<void> add_matches(const std::string& prefix, std::span<const std::string> components) {
    const std::string& first = components.front();
    const auto rest = components.subspan(1);
    if (!has_wildcard(first)) {
      const std::string key = prefix + first;
      return rest.empty() ? add_named(key) : add_matches(vfs::directory_prefix(key), rest);
    }
    return for_each_name(prefix, [&](vfs::ListedName& listed) -> Result<void> {
      if (!matches(first, listed.name)) return {};
      if (listed.node.is_directory) {
        const std::string& below = listed.node.object.key;
        return rest.empty() ? add_all_below(below) : add_matches(below, rest);
      }
      return rest.empty() ? add(listed.node.object) : Result<void>();
    });
  }

  Result<void> add(s3::ObjectInfo& object) {
    if (found_.size() >= bucket_.objects_max) {
      return fail(ErrorCode::kTooLarge,
                  fmt::format("more than {} objects; name fewer", bucket_.objects_max));
    }
    found_.push_back(std::move(object));
    return {};
  }

  Result<void> for_each_name(const std::string& prefix,
                             const std::function<Result<void>(vfs::ListedName&)>& visit) {
    vfs::DirectoryListing listing(prefix);
    std::string token;
    do {
      if (!goes_on_()) return cancelled();
      const vfs::SeenAt seen_at = bucket_.clock.now();
      auto page = await<Result<s3::ListPage>>([&](auto done) {
        bucket_.store.list({.prefix = prefix, .delimiter = "/", .continuation_token = token},
                           deadline(), std::move(done));
      });
      if (!page) return std::unexpected(page.error());
      token = page->next_token;
      for (vfs::ListedName& listed : listing.add(std::move(*page), seen_at)) {
        if (auto done = visit(listed); !done) return done;
      }
    } while (!token.empty());
    return {};
  }

  [[nodiscard]] Deadline deadline() const { return bucket_.clock.now() + bucket_.request_timeout; }
  static std::unexpected<Error> cancelled() {
    return fail(ErrorCode::kCancelled, "nobody waits for it any more");
  }

  const Bucket& bucket_;
  const std::function<bool()>& goes_on_;
  std::vector<s3::ObjectInfo> found_;
};

}  // namespace

Result<std::vector<s3::ObjectInfo>> find_objects(const Bucket& bucket, const std::string& pattern,
                                                 const std::function<bool()>& goes_on) {
  return Finder(bucket, goes_on).find(pattern);
}

}  // namespace s3rdmafs::daemon
