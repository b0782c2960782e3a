// SPDX-License-Identifier: Apache-2.0
#include "target/rdma/shm/shm_sessions.h"

#include <sys/random.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

namespace s3rdmafs::target {
namespace {

// Waits until this is the last owner and lets go, so that no transfer can touch the region any
// more. Only find() makes new owners, and it cannot reach a region that was taken out. A transfer
// is a copy of at most a few MiB; the poll is short against that and costs nothing where there is
// none.
void wait_idle(std::shared_ptr<ShmRegion> region) {
  constexpr std::chrono::microseconds kPoll{50};
  while (region.use_count() > 1) std::this_thread::sleep_for(kPoll);
  region.reset();
}

std::unexpected<Error> no_such_region() {
  return fail(ErrorCode::kInvalidArgument, "the token names no registered memory");
}

}  // namespace

rdma::shm::SessionId ShmSessions::open() {
  rdma::shm::SessionId id{};
  // 16 bytes never come short (getrandom(2)); without randomness no id would be safe to give.
  if (::getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) std::abort();
  const MutexLock lock(mutex_);
  sessions_[id];
  return id;
}

void ShmSessions::close(const rdma::shm::SessionId& id) {
  Session ended;
  {
    const MutexLock lock(mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    ended = std::move(found->second);
    sessions_.erase(found);
  }
  for (auto& [key, region] : ended.regions) wait_idle(std::move(region));
}

Result<std::uint64_t> ShmSessions::add(const rdma::shm::SessionId& id,
                                       std::shared_ptr<ShmRegion> region) {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return no_such_region();
  Session& session = found->second;
  const std::uint64_t key = session.next_key++;  // never reused: an old token stays dead
  session.regions.emplace(key, std::move(region));
  return key;
}

void ShmSessions::remove(const rdma::shm::SessionId& id, std::uint64_t region_key) {
  std::shared_ptr<ShmRegion> region;
  {
    const MutexLock lock(mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    auto node = found->second.regions.extract(region_key);
    if (node.empty()) return;
    region = std::move(node.mapped());
  }
  wait_idle(std::move(region));
}

Result<std::shared_ptr<ShmRegion>> ShmSessions::find(const rdma::shm::Token& token,
                                                     rdma::shm::WireAccess access) const {
  const MutexLock lock(mutex_);
  const auto session = sessions_.find(token.session_id);
  if (session == sessions_.end()) return no_such_region();
  const auto region = session->second.regions.find(token.region_key);
  if (region == session->second.regions.end()) return no_such_region();
  if (region->second->access() != access) {
    return fail(ErrorCode::kInvalidArgument,
                "the token's memory is not offered for this direction");
  }
  return region->second;
}

}  // namespace s3rdmafs::target
