// SPDX-License-Identifier: Apache-2.0
#include "fuse/watch/access_log.h"

#include <fcntl.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/chrono.h>

#include "fuse/process.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/printable.h"

namespace s3rdmafs::fuse {
namespace {

std::string_view way_of(int flags) {
  switch (flags & O_ACCMODE) {
    case O_RDONLY:
      return "r";
    case O_WRONLY:
      return "w";
    default:
      return "rw";
  }
}

// A name may have spaces, which would end the column.
std::string name_column(vfs::ProcessId process) {
  std::string name = name_of_process(process);
  std::ranges::replace(name, ' ', '_');
  return name.empty() ? "-" : name;
}

std::string time_text(std::chrono::system_clock::time_point time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(time - whole);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(whole)), rest.count());
}

}  // namespace

void AccessLog::add(Access access) {
  const MutexLock lock(mutex_);
  if (accesses_.size() < kAccessesMax) {
    accesses_.push_back(std::move(access));
  } else {
    accesses_[next_] = std::move(access);
    next_ = (next_ + 1) % kAccessesMax;
  }
}

std::vector<AccessLog::Access> AccessLog::in_order() const {
  const MutexLock lock(mutex_);
  std::vector<Access> ordered(accesses_.begin() + static_cast<std::ptrdiff_t>(next_),
                              accesses_.end());
  ordered.insert(ordered.end(), accesses_.begin(),
                 accesses_.begin() + static_cast<std::ptrdiff_t>(next_));
  return ordered;
}

std::string AccessLog::text() const {
  std::string lines;
  std::map<pid_t, std::pair<vfs::ProcessId, std::string>> processes;  // one look at each thread
  for (const Access& access : in_order()) {
    auto [known, is_new] = processes.try_emplace(access.thread);
    auto& [process, name] = known->second;
    if (is_new) {
      process = access.thread == 0 ? 0 : process_of_thread(access.thread);
      name = name_column(process);
    }
    lines += fmt::format("{} {} {} {} {} {}\n", time_text(access.time), process, name, access.uid,
                         way_of(access.flags), printable(access.path));
  }
  return lines;
}

}  // namespace s3rdmafs::fuse
