// SPDX-License-Identifier: Apache-2.0
#include "upload/early/postponed_jobs.h"

#include <utility>

namespace s3rdmafs::upload {

void PostponedJobs::add(Job job) {
  {
    const MutexLock lock(mutex_);
    if (!is_over_) return jobs_.push_back(std::move(job));
  }
  job(true);
}

void PostponedJobs::run() { run_all(false); }

void PostponedJobs::end() {
  {
    const MutexLock lock(mutex_);
    is_over_ = true;
  }
  run_all(true);
}

void PostponedJobs::run_all(bool is_over) {
  std::vector<Job> jobs;
  {
    const MutexLock lock(mutex_);
    jobs = std::exchange(jobs_, {});
  }
  for (Job& job : jobs) job(is_over);
}

}  // namespace s3rdmafs::upload
