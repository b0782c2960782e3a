// SPDX-License-Identifier: Apache-2.0
#include "target/auth/keys.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <span>

#include "s3rdmafs/base/log.h"
#include "target/digest/digests.h"

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

void Keys::take_temporary(std::string_view secret) {
  Hash hash(Hash::Kind::kSha256);
  hash.update(std::as_bytes(std::span(secret)));
  const std::string digest = hash.finish();
  std::ranges::copy(std::as_bytes(std::span(digest)), temporary_.emplace().begin());
}

std::optional<Key> Keys::find(const std::string& access_key) const {
  if (const auto found = secrets_.find(access_key); found != secrets_.end()) {
    return Key{.secret = found->second};
  }
  constexpr std::string_view kPrefix = "ASIA";
  if (!temporary_ || !access_key.starts_with(kPrefix)) return std::nullopt;
  std::int64_t end_s = 0;
  const char* const begin = access_key.data() + kPrefix.size();
  const auto [stop, error] = std::from_chars(begin, access_key.data() + access_key.size(), end_s);
  if (error != std::errc() || stop == begin) return std::nullopt;
  return Key{.secret = s3::signature(*temporary_, "secret " + access_key),
             .session_token = s3::signature(*temporary_, "token " + access_key),
             .end = std::chrono::system_clock::time_point(std::chrono::seconds(end_s))};
}

}  // namespace s3rdmafs::target
