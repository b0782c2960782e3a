// SPDX-License-Identifier: Apache-2.0
// Finds what a key stands for, by two requests at once.
//
// Both requests hold the probe; it ends with the later answer. The answer that makes the outcome
// certain calls `done`. The lock is a leaf and guards only the comparison of the two answers.
#include "vfs/names/probe.h"

#include <memory>
#include <utility>

#include "s3rdmafs/base/mutex.h"
#include "vfs/directories/listing_cursor.h"
#include "vfs/names/key_path.h"

namespace s3rdmafs::vfs {
namespace {

class Probe : public std::enable_shared_from_this<Probe> {
 public:
  using Outcome = Result<Found>;

  Probe(s3::ObjectStore& store, std::string key, Deadline deadline, Done<Found> done)
      : store_(store), key_(std::move(key)), deadline_(deadline), done_(std::move(done)) {}

  void start() {
    list();
    store_.head(key_, deadline_, [self = shared_from_this()](Result<s3::ObjectInfo> object) {
      self->on_head(std::move(object));
    });
  }

 private:
  void list() {
    store_.list({.prefix = directory_prefix(key_),
                 .delimiter = "/",
                 .continuation_token = cursor_.token(),
                 .keys_max = kNamesWithDirectory},
                deadline_, [self = shared_from_this()](Result<s3::ListPage> page) {
                  self->on_page(std::move(page));
                });
  }

  void on_head(Result<s3::ObjectInfo> object) {
    Outcome outcome;
    if (object) {
      outcome->node = Node::file(std::move(*object));
    } else if (object.error().code != ErrorCode::kNotFound) {
      outcome = std::unexpected(std::move(object.error()));
    }
    {
      const MutexLock lock(mutex_);
      if (!no_directory_) {
        if_no_directory_ = std::move(outcome);
        return;
      }
    }
    finish(std::move(outcome));
  }

  void on_page(Result<s3::ListPage> page) {
    if (!page) return finish(std::unexpected(std::move(page.error())));
    if (!page->objects.empty() || !page->common_prefixes.empty()) {
      return finish(
          Found{.node = Node::directory(directory_prefix(key_)), .page = std::move(*page)});
    }
    // A page may be empty although others follow it.
    if (auto passed = cursor_.pass(*page); !passed) {
      return finish(std::unexpected(std::move(passed.error())));
    }
    if (!cursor_.is_at_end()) return list();
    std::optional<Outcome> outcome;
    {
      const MutexLock lock(mutex_);
      no_directory_ = true;
      outcome = std::exchange(if_no_directory_, std::nullopt);
    }
    if (outcome) finish(std::move(*outcome));
  }

  // Called once. on_page() ends either here or by setting no_directory_, without which on_head()
  // never calls this. Of on_head() and on_page(), the later one sees what the other has set.
  void finish(Outcome outcome) { done_(std::move(outcome)); }

  s3::ObjectStore& store_;
  const std::string key_;
  const Deadline deadline_;
  Done<Found> done_;
  ListingCursor cursor_;  ///< of one page after another

  Mutex mutex_;                                                // leaf
  bool no_directory_ GUARDED_BY(mutex_) = false;               ///< the listing was empty
  std::optional<Outcome> if_no_directory_ GUARDED_BY(mutex_);  ///< what HeadObject said
};

}  // namespace

void probe(s3::ObjectStore& store, std::string key, Deadline deadline, Done<Found> done) {
  std::make_shared<Probe>(store, std::move(key), deadline, std::move(done))->start();
}

}  // namespace s3rdmafs::vfs
