// SPDX-License-Identifier: Apache-2.0
// One listing for each directory that a pattern passes through: "data/*/x.bin" lists data/ and
// nothing below it. Names have the same meaning as in the mount. From a "**" on, everything below
// is listed, and each file's path is compared with the whole pattern, so no directory is listed
// twice.
//
// Directories still to be listed are kept in a vector; a recursion would be as deep as the server
// wants its directories to be.
#include "daemon/resident/find_objects.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "daemon/mount/await.h"
#include "s3rdmafs/base/log.h"
#include "vfs/directories/directory_listing.h"
#include "vfs/directories/listing_cursor.h"
#include "vfs/names/key_path.h"
#include "vfs/names/probe.h"

namespace s3rdmafs::daemon {
namespace {

class Finder {
 public:
  Finder(const Bucket& bucket, const config::PathGlob& glob, const std::function<bool()>& goes_on)
      : bucket_(bucket), glob_(glob), goes_on_(goes_on) {}

  Result<std::vector<s3::ObjectInfo>> find() {
    const Components components = glob_.components();
    Result<void> done =
        components.empty() ? plan(bucket_.prefix, {}) : add_named(bucket_.prefix + glob_.text());
    if (done) done = work_off();
    const bool may_match = done && found_.empty() && glob_.has_wildcard();
    if (may_match) done = plan(bucket_.prefix, components);
    if (done) done = work_off();
    if (!done) return std::unexpected(done.error());
    if (found_.empty()) {
      return fail(ErrorCode::kNotFound,
                  glob_.has_wildcard() ? "no file matches" : "no such file or directory");
    }
    return std::move(found_);
  }

 private:
  using Components = config::PathGlob::Components;
  struct Listing {
    explicit Listing(const std::string& prefix) : names(prefix) {}
    vfs::DirectoryListing names;
    vfs::ListingCursor cursor;
  };
  /// A directory to search for these components of the pattern; without any, all below it is
  /// wanted.
  struct Directory {
    std::string prefix;
    Components wanted;
    std::unique_ptr<Listing> begun = nullptr;
  };

  Result<void> plan(std::string prefix, Components wanted) {
    if (++directories_ > bucket_.directories_max) {
      return too_many(bucket_.directories_max, "directories");
    }
    planned_.push_back({std::move(prefix), wanted});
    return {};
  }

  Result<void> work_off() {
    while (!planned_.empty()) {
      Directory next = std::move(planned_.back());
      planned_.pop_back();
      if (auto done = look_through(std::move(next)); !done) return done;
    }
    return {};
  }

  Result<void> look_through(Directory directory) {
    while (!directory.begun && !directory.wanted.empty() &&
           !config::has_wildcard(directory.wanted.front())) {
      const std::string key = directory.prefix + directory.wanted.front();
      directory.wanted = directory.wanted.subspan(1);
      if (directory.wanted.empty()) return add_named(key);
      directory.prefix = vfs::directory_prefix(key);
    }
    return list_page(std::move(directory));
  }

  // Directories of this page come before the next page, so that too many objects are noticed soon.
  Result<void> list_page(Directory directory) {
    if (!goes_on_()) return cancelled();
    if (!directory.begun) directory.begun = std::make_unique<Listing>(directory.prefix);
    vfs::ListingCursor& cursor = directory.begun->cursor;
    const vfs::SeenAt seen_at = bucket_.clock.now();
    auto page = await<Result<s3::ListPage>>([&](auto done) {
      bucket_.store.list(
          {.prefix = directory.prefix, .delimiter = "/", .continuation_token = cursor.token()},
          deadline(), std::move(done));
    });
    if (!page) return std::unexpected(page.error());
    if (auto passed = cursor.pass(*page); !passed) return passed;
    std::vector<vfs::ListedName> names = directory.begun->names.add(std::move(*page), seen_at);
    const Components wanted = directory.wanted;
    if (!cursor.is_at_end()) planned_.push_back(std::move(directory));

    const std::size_t planned_before = planned_.size();
    for (vfs::ListedName& listed : names) {
      if (auto done = take(wanted, listed); !done) return done;
    }
    // The last directory planned is the next one searched.
    std::reverse(planned_.begin() + static_cast<std::ptrdiff_t>(planned_before), planned_.end());
    return {};
  }

  Result<void> take(Components wanted, vfs::ListedName& listed) {
    s3::ObjectInfo& object = listed.node.object;
    if (!wanted.empty() && wanted.front() == config::kAnyDirectories) {
      if (listed.node.is_directory) return plan(std::move(object.key), wanted);
      const auto path = std::string_view(object.key).substr(bucket_.prefix.size());
      return glob_.covers(path) ? add(object) : Result<void>();
    }
    if (!wanted.empty()) {
      if (!config::matches_name(wanted.front(), listed.name)) return {};
      wanted = wanted.subspan(1);
    }
    if (listed.node.is_directory) return plan(std::move(object.key), wanted);
    return wanted.empty() ? add(object) : Result<void>();
  }

  Result<void> add_named(const std::string& key) {
    if (key.size() > vfs::kKeyBytesMax) return {};
    if (!goes_on_()) return cancelled();
    auto found = await<Result<vfs::Found>>(
        [&](auto done) { vfs::probe(bucket_.store, key, deadline(), std::move(done)); });
    if (!found) return std::unexpected(found.error());
    if (!found->node) return {};
    if (found->node->is_directory) return plan(found->node->object.key, {});
    return add(found->node->object);
  }

  Result<void> add(s3::ObjectInfo& object) {
    if (found_.size() >= bucket_.objects_max) return too_many(bucket_.objects_max, "objects");
    found_.push_back(std::move(object));
    return {};
  }

  static std::unexpected<Error> too_many(std::size_t most, std::string_view what) {
    return fail(ErrorCode::kTooLarge, fmt::format("more than {} {}; name fewer", most, what));
  }

  [[nodiscard]] Deadline deadline() const { return bucket_.clock.now() + bucket_.request_timeout; }
  static std::unexpected<Error> cancelled() {
    return fail(ErrorCode::kCancelled, "the request was cancelled");
  }

  const Bucket& bucket_;
  const config::PathGlob& glob_;
  const std::function<bool()>& goes_on_;
  std::vector<s3::ObjectInfo> found_;
  std::vector<Directory> planned_;  ///< the next one is last
  std::size_t directories_ = 0;     ///< planned so far
};

}  // namespace

Result<std::vector<s3::ObjectInfo>> find_objects(const Bucket& bucket, const config::PathGlob& glob,
                                                 const std::function<bool()>& goes_on) {
  return Finder(bucket, glob, goes_on).find();
}

}  // namespace s3rdmafs::daemon
