// SPDX-License-Identifier: Apache-2.0
// User metadata of listed files.
//
// Why. A listing has no user metadata, so `ls -l` of a directory costs a HeadObject a file. One
// after another they would take as long as the network is far; so those of each part of a listing,
// and of the next names, are asked for side by side. At most so many at a time that reads of data
// do not wait for them.
//
// Lifetime. Each request under way keeps this alive. A store that is shut down answers on the
// caller's thread; advance() takes the next request in a loop, so the stack does not grow.
#include "vfs/metadata/metadata_fetcher.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

namespace s3rdmafs::vfs {
namespace {

// Guesses that wait. More are not worth their memory: what they guess is over by then.
constexpr std::size_t kGuessesMax = 1024;

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
                                 std::shared_ptr<NameCache> names, std::size_t requests_max,
                                 metrics::Registry& metrics)
    : store_(store),
      clock_(clock),
      names_(std::move(names)),
      requests_max_(requests_max),
      fetched_(metrics.counter("vfs_metadata_requests_total",
                               "HeadObject requests for user metadata of listed files.")) {}

std::optional<NameAnswer> MetadataFetcher::known(const Node& listed) const {
  std::optional<NameAnswer> answer = names_->find(listed.object.key);
  if (!answer || !answer->node || answer->node->is_directory) return std::nullopt;
  if (is_wanting(*answer->node)) return std::nullopt;
  return answer;
}

void MetadataFetcher::get(const Node& listed, SeenAt listed_at, Deadline deadline,
                          Done<NameAnswer> done) {
  ask(listed, listed_at, deadline, Urgency::kWaitedFor, std::move(done));
}

void MetadataFetcher::guess(const Node& listed, SeenAt listed_at, Deadline deadline) {
  ask(listed, listed_at, deadline, Urgency::kGuess, [](const Result<NameAnswer>&) {});
}

// A request that was sent before the listing may answer with a version of before.
void MetadataFetcher::ask(const Node& listed, SeenAt listed_at, Deadline deadline, Urgency urgency,
                          Done<NameAnswer> done) {
  {
    const MutexLock lock(mutex_);
    std::shared_ptr<Request>& request = newest_[listed.object.key];
    const bool is_new = !request || (request->sent_at && *request->sent_at < listed_at);
    if (is_new) request = std::make_shared<Request>(listed, deadline, urgency);
    if (is_new || (urgency == Urgency::kWaitedFor && request->urgency == Urgency::kGuess)) {
      request->urgency = urgency;
      (urgency == Urgency::kGuess ? guesses_ : waited_for_).push_back(request);
    }
    request->deadline = std::max(request->deadline, deadline);
    request->waiting.push_back(std::move(done));
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
    get(listed, name.seen_at, deadline, [filling, &name](Result<NameAnswer> answer) {
      if (answer) {
        name.node = *std::move(answer->node);
        name.seen_at = answer->seen_at;
      }
      filling->end_one();
    });
  }
  filling->end_one();
}

bool MetadataFetcher::has_room_for_guesses() {
  const MutexLock lock(mutex_);
  return guesses_.size() < kGuessesMax;
}

void MetadataFetcher::fill_ahead(const std::vector<ListedName>& names, Deadline deadline) {
  if (!has_room_for_guesses()) return;
  for (const ListedName& name : names) {
    if (is_wanting(name.node) && !known(name.node)) guess(name.node, name.seen_at, deadline);
  }
}

void MetadataFetcher::fill_ahead(const std::vector<s3::ObjectInfo>& files, Deadline deadline) {
  if (!has_room_for_guesses()) return;
  for (const s3::ObjectInfo& file : files) {
    const std::optional<NameAnswer> listed = names_->find(file.key);
    if (!listed || !listed->node || !is_wanting(*listed->node)) continue;
    guess(*listed->node, listed->seen_at, deadline);
  }
}

void MetadataFetcher::invalidate(const std::string& key) {
  const MutexLock lock(mutex_);
  newest_.erase(key);
}

std::shared_ptr<MetadataFetcher::Request> MetadataFetcher::take_next() {
  for (Queue* queue : {&waited_for_, &guesses_}) {
    while (!queue->empty()) {
      std::shared_ptr<Request> next = std::move(queue->front());
      queue->pop_front();
      if (!next->sent_at) return next;
    }
  }
  return nullptr;
}

// Another thread that is here already sees the change of the state before it leaves.
void MetadataFetcher::advance() {
  for (;;) {
    std::shared_ptr<Request> next;
    Deadline deadline;
    const SeenAt now = clock_.now();
    {
      const MutexLock lock(mutex_);
      if (advancing_ || under_way_ >= requests_max_) return;
      next = take_next();
      if (!next) return;
      next->sent_at = now;
      deadline = next->deadline;
      advancing_ = true;
      ++under_way_;
    }
    send(next, deadline, now);
    const MutexLock lock(mutex_);
    advancing_ = false;
  }
}

void MetadataFetcher::send(const std::shared_ptr<Request>& request, Deadline deadline,
                           SeenAt sent_at) {
  fetched_.add();
  store_.head(request->listed.object.key, deadline,
              [self = shared_from_this(), request, sent_at](Result<s3::ObjectInfo> object) {
                if (!object) return self->finish(request, std::unexpected(object.error()));
                // Null would be asked for again and again.
                if (!object->metadata) object->metadata = std::make_shared<s3::UserMetadata>();
                Node found = Node::file(*std::move(object));
                const s3::ObjectInfo& listed = request->listed.object;
                if (is_same_store(found.object, listed)) {
                  // Finer than the answer's. A later change has a later time in the next listing.
                  found.object.modified = listed.modified;
                  const auto second = std::chrono::floor<std::chrono::seconds>(listed.modified);
                  found.is_posix_settled |= listed.modified != second;
                }
                self->finish(request, NameAnswer{.node = std::move(found), .seen_at = sent_at});
              });
}

// HeadObject does not see that the name has become a directory's: it is believed to be a file for
// up to twice the ttl, once since the listing and once since this answer. Else the names of a
// directory whose requests take longer than the ttl would be asked for twice.
void MetadataFetcher::finish(const std::shared_ptr<Request>& request, Result<NameAnswer> outcome) {
  const std::string& key = request->listed.object.key;
  if (outcome) names_->insert(key, *outcome);  // first: a later call must find it there
  std::vector<Done<NameAnswer>> waiting;
  {
    const MutexLock lock(mutex_);
    --under_way_;
    const auto found = newest_.find(key);
    if (found != newest_.end() && found->second == request) newest_.erase(found);
    waiting = std::exchange(request->waiting, {});
  }
  for (Done<NameAnswer>& done : waiting) done(outcome);
  advance();
}

}  // namespace s3rdmafs::vfs
