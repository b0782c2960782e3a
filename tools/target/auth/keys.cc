// SPDX-License-Identifier: Apache-2.0
#include "target/auth/keys.h"

#include <cerrno>
#include <fstream>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {

Result<void> Keys::add(std::string_view access_and_secret) {
  const std::size_t colon = access_and_secret.find(':');
  if (colon == 0 || colon == std::string_view::npos || colon + 1 == access_and_secret.size()) {
    return fail(ErrorCode::kInvalidArgument, "a key must be written ACCESS:SECRET");
  }
  secrets_.insert_or_assign(std::string(access_and_secret.substr(0, colon)),
                            std::string(access_and_secret.substr(colon + 1)));
  return {};
}

Result<void> Keys::add_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail_errno(fmt::format("--key-file {}", path), errno);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    if (auto added = add(line); !added) {
      return fail_with_context(fmt::format("--key-file {}, line {}", path, number), added.error());
    }
  }
  return {};
}

const std::string* Keys::secret_of(const std::string& access_key) const {
  const auto found = secrets_.find(access_key);
  return found == secrets_.end() ? nullptr : &found->second;
}

}  // namespace s3rdmafs::target
