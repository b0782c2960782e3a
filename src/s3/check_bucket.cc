// SPDX-License-Identifier: Apache-2.0
#include "s3/check_bucket.h"

#include <utility>

namespace s3rdmafs::s3 {

void check_bucket(ObjectStore& store, std::string prefix, Deadline deadline, Done<void> done) {
  store.list(
      {.prefix = std::move(prefix), .delimiter = "", .continuation_token = "", .keys_max = 1},
      deadline, [done = std::move(done)](Result<ListPage> page) mutable {
        if (!page) return done(std::unexpected(std::move(page.error())));
        done({});
      });
}

}  // namespace s3rdmafs::s3
