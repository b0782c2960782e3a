// SPDX-License-Identifier: Apache-2.0
#include "vfs/names/store_empty.h"

#include <utility>

namespace s3rdmafs::vfs {

void store_empty(s3::ObjectWriter& writer, std::shared_ptr<Names> names, std::string key,
                 s3::Precondition when, Deadline deadline, Done<void> done) {
  std::string name = key;
  writer.put(std::move(name), {}, {.when = std::move(when)}, deadline,
             [names = std::move(names), key = std::move(key),
              done = std::move(done)](s3::PutOutcome outcome) mutable {
               if (!outcome.etag) return done(std::unexpected(std::move(outcome.etag.error())));
               names->on_stored(key, *outcome.etag);
               done({});
             });
}

}  // namespace s3rdmafs::vfs
