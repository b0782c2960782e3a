// SPDX-License-Identifier: Apache-2.0
#include "target/store/rename/rename_tokens.h"

#include <utility>

namespace s3rdmafs::target {

RenameTokens::Known RenameTokens::find(const std::string& token, const std::string& request) const {
  const MutexLock lock(mutex_);
  const auto found = requests_.find(token);
  if (found == requests_.end()) return Known::kNew;
  return found->second == request ? Known::kSameRequest : Known::kOtherRequest;
}

void RenameTokens::made(const std::string& token, const std::string& request) {
  const MutexLock lock(mutex_);
  if (!requests_.try_emplace(token, request).second) return;
  oldest_first_.push_back(token);
  if (oldest_first_.size() <= kTokensMax) return;
  requests_.erase(oldest_first_.front());
  oldest_first_.pop_front();
}

}  // namespace s3rdmafs::target
