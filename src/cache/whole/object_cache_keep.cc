// SPDX-License-Identifier: Apache-2.0
// Objects that are made resident ahead of time and stay (`s3rdmafs warm`, [[resident]]).
//
// A kept object is one that the cache itself uses: busy in the pool, so that no open evicts it. It
// is counted under the same budget, and where all of that is kept, opens find no room and are
// answered as they would be without passthrough. Only one version of a key is kept: whoever asks
// for another one has seen that the first is gone.
#include <utility>

#include "cache/whole/object_cache.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::cache {

void ObjectCache::keep(ObjectVersion version, KeepTerms terms, Keeping done) {
  if (version.size_bytes == 0) {
    return done(fail(ErrorCode::kUnsupported, "an empty object has no bytes to be resident"));
  }
  Result<Kept> answer = Kept::kWasThere;
  std::shared_ptr<Preparation> preparation;
  {
    const MutexLock lock(mutex_);
    end_keep_of_others(version);
    const auto found = entries_.find(index_key(version));
    if (found != entries_.end() && found->second->is_resident) {
      mark_kept(found->second);
    } else if (found != entries_.end()) {
      found->second->keepers.push_back(std::move(done));
      return;
    } else if (is_shut_down_) {
      answer = fail(ErrorCode::kCancelled, "the mount ends");
    } else if (auto room = take_room(version)) {
      preparation = begin(
          *room, std::move(version),
          {.part_deadline = [this, after = terms.part_timeout] { return clock_.now() + after; },
           .on_part = std::move(terms.on_part)});
      preparation->entry->keepers.push_back(std::exchange(done, nullptr));
    } else if (may_fit_after_spare(version)) {
      after_spare_.push_back([this, version = std::move(version), terms = std::move(terms),
                              done = std::move(done)]() mutable {
        keep(std::move(version), std::move(terms), std::move(done));
      });
      return;
    } else {
      answer = std::unexpected(no_room_for(version.size_bytes));
    }
  }
  if (!preparation) return done(std::move(answer));
  start(std::move(preparation));
}

ObjectCache::Amount ObjectCache::let_go(const std::function<bool(std::string_view key)>& covers) {
  Amount amount;
  const MutexLock lock(mutex_);
  for (auto at = kept_.begin(); at != kept_.end();) {
    if (!covers(at->first)) {
      ++at;
      continue;
    }
    amount.objects += 1;
    amount.bytes += at->second->version.size_bytes;
    end_keep(*at->second);
    at = kept_.erase(at);
  }
  return amount;
}

void ObjectCache::mark_kept(const std::shared_ptr<Entry>& entry) {
  if (std::exchange(entry->is_kept, true)) return;
  end_keep_of_others(entry->version);  // it may have become resident meanwhile
  if (entry->users++ == 0) pool_.set_busy(entry->file_id);
  kept_.emplace(entry->version.key, entry);
  kept_objects_.add(1);
  kept_bytes_.add(static_cast<std::int64_t>(entry->version.size_bytes));
}

void ObjectCache::end_keep(Entry& entry) {
  entry.is_kept = false;
  if (--entry.users == 0) pool_.set_idle(entry.file_id);
  kept_objects_.add(-1);
  kept_bytes_.add(-static_cast<std::int64_t>(entry.version.size_bytes));
}

void ObjectCache::end_keep_of_others(const ObjectVersion& version) {
  const auto found = kept_.find(version.key);
  if (found == kept_.end() || found->second->version.etag == version.etag) return;
  end_keep(*found->second);
  kept_.erase(found);
}

Error ObjectCache::no_room_for(std::uint64_t size_bytes) const {
  constexpr std::string_view kAdvice = "raise cache.resident_size (and cache.size, which it is of)";
  const std::uint64_t wanted = file_bytes(size_bytes);
  if (wanted > bytes_max()) {
    return {ErrorCode::kNoMemory,
            fmt::format("it takes {}, and whole objects have {} in all: {}", format_size(wanted),
                        format_size(bytes_max()), kAdvice)};
  }
  return {ErrorCode::kNoMemory,
          fmt::format("it takes {}, and of the {} for whole objects {} are kept or in use: {}",
                      format_size(wanted), format_size(bytes_max()),
                      format_size(pool_.busy_bytes()), kAdvice)};
}

}  // namespace s3rdmafs::cache
