// SPDX-License-Identifier: Apache-2.0
#include "target/rdma/rc/rc_sessions.h"

#include <sys/random.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {
namespace {

std::string new_id() {
  std::array<std::uint8_t, 16> random{};
  // 16 bytes never come short (getrandom(2)); without randomness no id would be safe to give.
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    std::abort();
  }
  std::string id;
  for (const std::uint8_t byte : random) id += fmt::format("{:02x}", byte);
  return id;
}

}  // namespace

RcSessions::Lease::~Lease() {
  if (!link_) return;
  // First the queue pair, then the entry: as long as the id is known, it does not count as free.
  link_.reset();
  const MutexLock lock(sessions_.mutex_);
  sessions_.sessions_.erase(id_);
}

void RcSessions::Lease::keep() {
  const MutexLock lock(sessions_.mutex_);
  Session& session = sessions_.sessions_.find(id_)->second;  // a busy session is never removed
  session.link = std::move(link_);
  session.used = sessions_.clock_.now();
}

Result<std::string> RcSessions::add(std::unique_ptr<RcLink> link) {
  std::string id = new_id();
  const MutexLock lock(mutex_);
  if (sessions_.size() >= kSessionsMax) {
    return fail(ErrorCode::kThrottled, "too many rc sessions are open");
  }
  sessions_[id] = {.link = std::move(link), .used = clock_.now()};
  return id;
}

Result<RcSessions::Lease> RcSessions::borrow(std::string_view id) {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) {
    return fail(ErrorCode::kUnreachable, "the token's rc session is not connected");
  }
  if (!found->second.link) {
    return fail(ErrorCode::kUnreachable, "the token's rc session is busy with another request");
  }
  return Lease(*this, found->first, std::move(found->second.link));
}

void RcSessions::remove(std::string_view id) {
  std::unique_ptr<RcLink> ended;  // destroyed after the lock is free
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || !found->second.link) return;
  ended = std::move(found->second.link);
  sessions_.erase(found);
}

void RcSessions::remove_idle() {
  std::vector<std::unique_ptr<RcLink>> ended;
  const MutexLock lock(mutex_);
  const auto oldest = clock_.now() - kIdleMax;
  for (auto session = sessions_.begin(); session != sessions_.end();) {
    const bool is_idle = session->second.link && session->second.used < oldest;
    if (is_idle) ended.push_back(std::move(session->second.link));
    session = is_idle ? sessions_.erase(session) : std::next(session);
  }
}

}  // namespace s3rdmafs::target
