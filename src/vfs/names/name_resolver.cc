// SPDX-License-Identifier: Apache-2.0
// One question to the store for all lookups of a name.
//
// Why a failure is remembered. Where a lookup of an expired name fails, the kernel drops the name
// and looks it up once more, in the same system call. With a server that is silent the program
// would wait for twice the deadline. So a failure that took long is also the answer to a lookup
// that follows at once. Only for a name that was found before: the kernel asks once for a name that
// it never had, so a second lookup of it is another call, which must not hear of an outage that may
// be over. Cost: where no names are kept (a ttl of 0), the program does wait twice.
#include "vfs/names/name_resolver.h"

#include <chrono>
#include <utility>

#include "vfs/directories/directory_listing.h"
#include "vfs/names/key_path.h"

namespace s3rdmafs::vfs {
namespace {

// A second wait of this length is one that a user notices.
constexpr std::chrono::seconds kLongWait{1};
// The kernel's second lookup follows within microseconds, on a busy machine within this time.
constexpr std::chrono::seconds kSecondLookup{1};

metrics::Counter& lookups(metrics::Registry& metrics, std::string_view labels) {
  return metrics.counter("vfs_lookups_total", "Lookups of a name, by the source of the answer.",
                         labels);
}

}  // namespace

NameResolver::NameResolver(s3::ObjectStore& store, const Clock& clock, NameCache& names,
                           metrics::Registry& metrics, OnListed on_listed)
    : store_(store),
      clock_(clock),
      names_(names),
      on_listed_(std::move(on_listed)),
      from_cache_(lookups(metrics, R"(source="cache")")),
      from_store_(lookups(metrics, R"(source="store")")) {}

void NameResolver::resolve(const std::string& key, Deadline deadline, Done<NameAnswer> done) {
  if (std::optional<NameAnswer> known = names_.find(key)) {
    from_cache_.add();
    return done(*std::move(known));
  }
  ask(key, deadline, std::move(done));
}

void NameResolver::ask(const std::string& key, Deadline deadline, Done<NameAnswer> done) {
  if (const std::optional<Error> error = failed_just_now(key)) return done(std::unexpected(*error));
  from_store_.add();
  const SeenAt seen_at = clock_.now();
  std::shared_ptr<Waiting> waiting;
  {
    const MutexLock lock(mutex_);
    const auto [at, is_first] = waiting_.try_emplace(key);
    if (is_first) waiting = at->second = std::make_shared<Waiting>();
    at->second->push_back(std::move(done));
  }
  if (!waiting) return;
  probe(store_, key, deadline,
        [self = shared_from_this(), key, waiting, seen_at](Result<Found> outcome) {
          self->finish(key, waiting, seen_at, std::move(outcome));
        });
}

void NameResolver::invalidate(const std::string& key) {
  const MutexLock lock(mutex_);
  waiting_.erase(key);
  failures_.erase(key);
}

std::optional<Error> NameResolver::failed_just_now(const std::string& key) {
  const SeenAt now = clock_.now();
  const MutexLock lock(mutex_);
  const auto found = failures_.find(key);
  if (found == failures_.end() || now - found->second.failed_at > kSecondLookup) {
    return std::nullopt;
  }
  return found->second.error;
}

void NameResolver::remember_failure(const std::string& key, const Error& error, SeenAt asked_at) {
  const SeenAt now = clock_.now();
  if (now - asked_at < kLongWait || !names_.was_found(key)) return;
  const MutexLock lock(mutex_);
  std::erase_if(failures_,
                [now](const auto& each) { return now - each.second.failed_at > kSecondLookup; });
  failures_.insert_or_assign(key, Failure{error, now});
}

// The beginning of a listing is not told: it would take the place of a whole one that is known.
void NameResolver::keep(const std::string& prefix, s3::ListPage page, SeenAt seen_at) {
  const bool is_whole = page.next_token.empty();
  const std::vector<ListedName> names = DirectoryListing(prefix).add(std::move(page), seen_at);
  names_.insert(names);
  if (is_whole && on_listed_) on_listed_(prefix, names);
}

void NameResolver::finish(const std::string& key, const std::shared_ptr<Waiting>& joined,
                          SeenAt seen_at, Result<Found> outcome) {
  // The cache first: a lookup that can no longer join this one must find the answer there.
  if (outcome) {
    if (outcome->page) keep(directory_prefix(key), *std::move(outcome->page), seen_at);
    names_.insert(key, {outcome->node, seen_at});
  } else {
    remember_failure(key, outcome.error(), seen_at);
  }
  Waiting waiting;
  {
    const MutexLock lock(mutex_);
    const auto found = waiting_.find(key);
    if (found != waiting_.end() && found->second == joined) waiting_.erase(found);
    waiting = std::exchange(*joined, {});
  }
  for (Done<NameAnswer>& done : waiting) {
    if (outcome) {
      done(NameAnswer{outcome->node, seen_at, /*is_from_store=*/true});
    } else {
      done(std::unexpected(outcome.error()));
    }
  }
}

}  // namespace s3rdmafs::vfs
