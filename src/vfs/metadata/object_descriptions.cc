// SPDX-License-Identifier: Apache-2.0
#include "vfs/metadata/object_descriptions.h"

#include <chrono>
#include <utility>

#include "s3/wire/response_headers.h"

namespace s3rdmafs::vfs {
namespace {

constexpr auto kKeptFor = std::chrono::seconds(1);
// Files whose attributes are read at a time, by as many programs.
constexpr std::size_t kKeptMax = 16;

}  // namespace

void ObjectDescriptions::get(const s3::ObjectInfo& version, Deadline deadline,
                             Done<Description> done) {
  if (Description kept = find(version)) return done(std::move(kept));
  store_.describe(version.key, deadline,
                  [self = shared_from_this(), asked_at = clock_.now(),
                   done = std::move(done)](Result<s3::ObjectDescription> answer) mutable {
                    if (!answer) return done(std::unexpected(std::move(answer.error())));
                    auto description =
                        std::make_shared<const s3::ObjectDescription>(std::move(*answer));
                    self->keep(description, asked_at);
                    done(std::move(description));
                  });
}

ObjectDescriptions::Description ObjectDescriptions::find(const s3::ObjectInfo& version) {
  const Deadline now = clock_.now();
  const MutexLock lock(mutex_);
  for (const Kept& one : kept_) {
    const s3::ObjectInfo& object = one.description->object;
    const bool is_version =
        object.key == version.key && s3::is_same_etag(object.etag, version.etag);
    if (is_version && now < one.until) return one.description;
  }
  return nullptr;
}

void ObjectDescriptions::keep(const Description& description, Deadline asked_at) {
  const MutexLock lock(mutex_);
  if (asked_at <= changed_at_) return;
  kept_.push_front({.description = description, .until = asked_at + kKeptFor});
  if (kept_.size() > kKeptMax) kept_.pop_back();
}

void ObjectDescriptions::invalidate(const std::string& key) {
  const Deadline now = clock_.now();
  const MutexLock lock(mutex_);
  changed_at_ = now;
  kept_.remove_if([&](const Kept& one) { return one.description->object.key == key; });
}

}  // namespace s3rdmafs::vfs
