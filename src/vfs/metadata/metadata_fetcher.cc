// SPDX-License-Identifier: Apache-2.0
// User metadata of listed files.
//
// Why. A listing has no user metadata, so `ls -l` of a directory costs a HeadObject a file. One
// after another they would take as long as the network is far; so those of each part of a listing,
// and of the next names, are asked for side by side.
//
// Lifetime. Each request under way keeps this alive. A store that is shut down answers on the
// caller's thread; advance() takes the next request in a loop, so the stack does not grow.
#include "vfs/metadata/metadata_fetcher.h"

#include <atomic>
#include <utility>

namespace s3rdmafs::vfs {
namespace {

// As many as hide a round trip; each is small for the server.
constexpr std::size_t kHeadsMax = 64;
// Guesses end here: those who wait come first soon.
constexpr std::size_t kWaitingMax = 1024;

}  // namespace

/// The names that one call of fill() waits for. Each answer writes to its own name.
struct MetadataFetcher::Filling {
  std::vector<ListedName> names;
  Done<std::vector<ListedName>> done;
  std::atomic<std::size_t> left = 1;

  void end_one() {
    if (left.fetch_sub(1) == 1) done(std::move(names));
  }
};

MetadataFetcher::MetadataFetcher(s3::ObjectStore& store, const Clock& clock,
                                 std::shared_ptr<NameCache> names, metrics::Registry& metrics)
    : store_(store),
      clock_(clock),
      names_(std::move(names)),
      fetched_(metrics.counter("vfs_metadata_requests_total",
                               "HeadObject requests for user metadata of listed files.")) {}

std::optional<NameAnswer> MetadataFetcher::known(const Node& listed) const {
  std::optional<NameAnswer> answer = names_->find(listed.object.key);
  if (!answer || !answer->node || answer->node->is_directory) return std::nullopt;
  if (is_wanting(*answer->node)) return std::nullopt;
  return answer;
}

void MetadataFetcher::get(const Node& listed, Deadline deadline, Done<NameAnswer> done) {
  {
    const MutexLock lock(mutex_);
    const auto [at, is_first] = waiting_.try_emplace(listed.object.key);
    if (is_first) {
      at->second = std::make_shared<Waiting>();
      queue_.push_back({listed, at->second, deadline});
    }
    at->second->push_back(std::move(done));
  }
  advance();
}

void MetadataFetcher::fill(std::vector<ListedName> names, Deadline deadline,
                           Done<std::vector<ListedName>> done) {
  auto filling = std::make_shared<Filling>();
  filling->names = std::move(names);
  filling->done = std::move(done);
  for (ListedName& name : filling->names) {
    if (!is_wanting(name.node)) continue;
    if (auto answer = known(name.node)) {
      name.node = *std::move(answer->node);
      name.seen_at = answer->seen_at;
      continue;
    }
    ++filling->left;
    const Node listed = name.node;  // the answer may come before get() returns
    get(listed, deadline, [filling, &name](Result<NameAnswer> answer) {
      if (answer) {
        name.node = *std::move(answer->node);
        name.seen_at = answer->seen_at;
      }
      filling->end_one();
    });
  }
  filling->end_one();
}

void MetadataFetcher::fill_ahead(const std::vector<ListedName>& names, Deadline deadline) {
  {
    const MutexLock lock(mutex_);
    if (queue_.size() >= kWaitingMax) return;
  }
  for (const ListedName& name : names) {
    if (!is_wanting(name.node) || known(name.node)) continue;
    get(name.node, deadline, [](const Result<NameAnswer>&) {});
  }
}

void MetadataFetcher::invalidate(const std::string& key) {
  const MutexLock lock(mutex_);
  waiting_.erase(key);
}

// Another thread that is here already sees the change of the state before it leaves.
void MetadataFetcher::advance() {
  for (;;) {
    std::optional<Request> next;
    {
      const MutexLock lock(mutex_);
      if (advancing_ || under_way_ >= kHeadsMax || queue_.empty()) return;
      advancing_ = true;
      ++under_way_;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    send(*std::move(next));
    const MutexLock lock(mutex_);
    advancing_ = false;
  }
}

void MetadataFetcher::send(Request request) {
  fetched_.add();
  std::string key = request.listed.object.key;
  const Deadline deadline = request.deadline;
  store_.head(std::move(key), deadline,
              [self = shared_from_this(), request = std::move(request),
               seen_at = clock_.now()](Result<s3::ObjectInfo> object) {
                if (!object) return self->finish(request, std::unexpected(object.error()));
                const s3::ObjectInfo& listed = request.listed.object;
                if (is_same_store(*object, listed)) object->modified = listed.modified;
                // A store without metadata, such as a manifest, is not asked again.
                if (!object->metadata) object->metadata = std::make_shared<s3::UserMetadata>();
                self->finish(request, NameAnswer{.node = Node::file(*std::move(object)),
                                                 .seen_at = seen_at});
              });
}

void MetadataFetcher::finish(const Request& request, Result<NameAnswer> outcome) {
  const std::string& key = request.listed.object.key;
  if (outcome) names_->insert(key, *outcome);  // first: a later call must find it there
  Waiting waiting;
  {
    const MutexLock lock(mutex_);
    --under_way_;
    const auto found = waiting_.find(key);
    if (found != waiting_.end() && found->second == request.waiting) waiting_.erase(found);
    waiting = std::exchange(*request.waiting, {});
  }
  for (Done<NameAnswer>& done : waiting) done(outcome);
  advance();
}

}  // namespace s3rdmafs::vfs
