// SPDX-License-Identifier: Apache-2.0
#include "s3/joined/directory_store.h"

#include <algorithm>
#include <utility>

namespace s3rdmafs::s3 {
namespace {

std::unexpected<Error> not_a_directory(const std::string& key) {
  return fail(ErrorCode::kNotFound, "'" + key + "' is not a directory of a bucket");
}

}  // namespace

DirectoryStore::DirectoryStore(std::vector<std::string> directories)
    : directories_([&directories] {
        std::ranges::sort(directories);
        return std::move(directories);
      }()) {}

void DirectoryStore::head(std::string key, Deadline, Done<ObjectInfo> done) {
  if (!std::ranges::binary_search(directories_, key)) return done(not_a_directory(key));
  done(ObjectInfo{.key = std::move(key), .etag = "\"directory\"", .modified = {}});
}

void DirectoryStore::list(ListRequest request, Deadline, Done<ListPage> done) {
  ListPage page;
  for (const std::string& directory : directories_) {
    if (!directory.starts_with(request.prefix) || directory <= request.start_after) continue;
    if (request.delimiter == "/" && request.prefix != directory) {
      page.common_prefixes.push_back(directory);
    } else {
      page.objects.push_back({.key = directory, .etag = "\"directory\"", .modified = {}});
    }
  }
  done(std::move(page));
}

void DirectoryStore::get(GetRequest request, Deadline, GetDone done) {
  done(std::unexpected(GetFailure{.error = not_a_directory(request.key).error()}));
}

}  // namespace s3rdmafs::s3
