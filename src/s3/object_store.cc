// SPDX-License-Identifier: Apache-2.0
#include "s3/object_store.h"

namespace s3rdmafs::s3 {

void ObjectStore::describe(std::string key, Deadline deadline, Done<ObjectDescription> done) {
  head(std::move(key), deadline, [done = std::move(done)](Result<ObjectInfo> object) mutable {
    if (!object) return done(std::unexpected(std::move(object.error())));
    done(ObjectDescription{
        .object = std::move(*object), .version_id = {}, .checksum = {}, .url = {}});
  });
}

}  // namespace s3rdmafs::s3
