// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/context.h"

#include <cstdio>

#include "daemon/mount/await.h"

namespace s3rdmafs::daemon::doctor {

Context::~Context() {
  for (const std::string& key : written) {
    const auto removed = await<Result<void>>(
        [&](auto done) { http->remove(key, clock.now() + kQuestionTimeout, std::move(done)); });
    if (!removed) {
      std::fprintf(stderr, "s3rdmafs: the test object %s is still there: %s\n", key.c_str(),
                   removed.error().detail.c_str());
    }
  }
  // Every answer must come before its memory goes.
  for (Rail& rail : rails) rail.shut_down();
  if (rdma) rdma->shut_down();
  if (http) http->shut_down();
  if (fabric) fabric->shut_down();
}

}  // namespace s3rdmafs::daemon::doctor
