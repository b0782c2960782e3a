// SPDX-License-Identifier: Apache-2.0
#include "vfs/names/absent_names.h"

#include <chrono>

namespace s3rdmafs::vfs {
namespace {

// The creation follows within microseconds, on a busy machine within this time.
constexpr std::chrono::milliseconds kLookupToCreation{250};

// More than there are system calls under way. Names that were only looked up are among them.
constexpr std::size_t kNamesMax = 1024;

}  // namespace

void AbsentNames::told(const std::string& key, const NameAnswer& answer) {
  if (answer.node || !answer.is_from_store) return forget(key);
  const SeenAt now = clock_.now();
  const MutexLock lock(mutex_);
  if (told_at_.size() >= kNamesMax) {
    std::erase_if(told_at_,
                  [now](const auto& each) { return now - each.second > kLookupToCreation; });
  }
  if (told_at_.size() >= kNamesMax) told_at_.clear();
  told_at_.insert_or_assign(key, now);
}

std::optional<NameAnswer> AbsentNames::take(const std::string& key) {
  const SeenAt now = clock_.now();
  const MutexLock lock(mutex_);
  const auto found = told_at_.extract(key);
  if (!found || now - found.mapped() > kLookupToCreation) return std::nullopt;
  return NameAnswer{.node = std::nullopt, .seen_at = found.mapped(), .is_from_store = true};
}

void AbsentNames::forget(const std::string& key) {
  const MutexLock lock(mutex_);
  told_at_.erase(key);
}

}  // namespace s3rdmafs::vfs
