// SPDX-License-Identifier: Apache-2.0
#include "vfs/names/name_resolver.h"

#include <optional>
#include <utility>

#include "vfs/names/probe.h"

namespace s3rdmafs::vfs {
namespace {

metrics::Counter& lookups(metrics::Registry& metrics, std::string_view labels) {
  return metrics.counter("vfs_lookups_total", "Lookups of a name, by the source of the answer.",
                         labels);
}

}  // namespace

NameResolver::NameResolver(s3::ObjectStore& store, const Clock& clock, NameCache& names,
                           metrics::Registry& metrics)
    : store_(store),
      clock_(clock),
      names_(names),
      from_cache_(lookups(metrics, R"(source="cache")")),
      from_store_(lookups(metrics, R"(source="store")")) {}

void NameResolver::resolve(const std::string& key, Deadline deadline, Done<NameAnswer> done) {
  if (std::optional<NameAnswer> known = names_.find(key)) {
    from_cache_.add();
    return done(*std::move(known));
  }
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
        [self = shared_from_this(), key, waiting, seen_at](Result<std::optional<Node>> outcome) {
          self->finish(key, waiting, seen_at, std::move(outcome));
        });
}

void NameResolver::invalidate(const std::string& key) {
  const MutexLock lock(mutex_);
  waiting_.erase(key);
}

void NameResolver::finish(const std::string& key, const std::shared_ptr<Waiting>& joined,
                          SeenAt seen_at, Result<std::optional<Node>> outcome) {
  // The cache first: a lookup that can no longer join this one must find the answer there.
  if (outcome) names_.insert(key, {*outcome, seen_at});
  Waiting waiting;
  {
    const MutexLock lock(mutex_);
    const auto found = waiting_.find(key);
    if (found != waiting_.end() && found->second == joined) waiting_.erase(found);
    waiting = std::exchange(*joined, {});
  }
  for (Done<NameAnswer>& done : waiting) {
    if (outcome) {
      done(NameAnswer{*outcome, seen_at, /*is_from_store=*/true});
    } else {
      done(std::unexpected(outcome.error()));
    }
  }
}

}  // namespace s3rdmafs::vfs
