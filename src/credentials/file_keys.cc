// SPDX-License-Identifier: Apache-2.0
#include "credentials/file_keys.h"

#include <sys/stat.h>

#include <utility>

namespace s3rdmafs::credentials {

s3::Credentials keys_of(const config::Credentials& found) {
  return {.anonymous = found.anonymous,
          .access_key_id = found.access_key_id,
          .secret_access_key = found.secret_access_key,
          .session_token = found.session_token};
}

// The keys were read just before, when the choice was made.
FileKeys::FileKeys(config::KeysInFile source) : source_(std::move(source)), read_(stamp()) {}

// Of a file that is gone for a moment, as while it is replaced, all are 0.
FileKeys::Stamp FileKeys::stamp() const {
  Stamp stamp{};
  std::size_t next = 0;
  for (const auto& file : {source_.credentials_file, source_.config_file}) {
    struct stat status{};
    if (::stat(file.c_str(), &status) != 0) status = {};
    for (const std::int64_t part :
         {static_cast<std::int64_t>(status.st_ino), static_cast<std::int64_t>(status.st_size),
          std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
          std::int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec}) {
      stamp[next++] = part;
    }
  }
  return stamp;
}

// The stamp of before: what is written meanwhile is read again.
Result<FetchedKeys> FileKeys::fetch(const std::stop_token&) {
  const Stamp before = stamp();
  read_.reset();  // after a failure it is tried again
  const auto keys = config::read_keys(source_);
  if (!keys) return std::unexpected(keys.error());
  read_ = before;
  return FetchedKeys{.keys = keys_of(*keys)};
}

bool FileKeys::may_have_changed() { return read_ != stamp(); }

}  // namespace s3rdmafs::credentials
