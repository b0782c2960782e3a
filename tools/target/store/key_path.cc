// SPDX-License-Identifier: Apache-2.0
#include "target/store/key_path.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>

namespace s3rdmafs::target {
namespace {

/// Why no file can have this key; empty if one can.
std::string_view why_not_storable(std::string_view key) {
  if (key.empty()) return "The key is empty.";
  if (key.front() == '/')
    return "This server keeps objects as files: a key cannot begin with \"/\".";
  if (key.find('\0') != std::string_view::npos) return "The key contains a NUL byte.";
  if (key.back() == '/') key.remove_suffix(1);
  for (;;) {
    const std::size_t slash = std::min(key.find('/'), key.size());
    const std::string_view component = key.substr(0, slash);
    if (component.empty())
      return "This server keeps objects as files: a key cannot contain \"//\".";
    if (component == "." || component == "..") {
      return "This server keeps objects as files: no part of a key can be \".\" or \"..\".";
    }
    if (component.size() > NAME_MAX) {
      return "This server keeps objects as files: no part of a key between \"/\" can be longer "
             "than "
             "255 bytes.";
    }
    if (slash == key.size()) return {};
    key.remove_prefix(slash + 1);
  }
}

}  // namespace

bool is_storable_key(std::string_view key) {
  return key.size() <= kKeyMaxBytes && why_not_storable(key).empty();
}

S3Result<void> check_new_key(std::string_view key) {
  if (key.size() > kKeyMaxBytes) return refuse(kKeyTooLong);
  if (const std::string_view why = why_not_storable(key); !why.empty()) {
    return refuse(kInvalidArgument, std::string(why));
  }
  return {};
}

SplitKey split_key(std::string_view key) {
  // A folder's own trailing "/" belongs to its name.
  const std::size_t slash =
      key.size() < 2 ? std::string_view::npos : key.rfind('/', key.size() - 2);
  if (slash == std::string_view::npos) return {.parent = {}, .name = std::string(key)};
  return {.parent = std::string(key.substr(0, slash + 1)),
          .name = std::string(key.substr(slash + 1))};
}

bool is_bucket_folder_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.size() <= NAME_MAX &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

bool is_new_bucket_name(std::string_view name) {
  // Amazon S3 user guide, "Bucket naming rules".
  const auto is_edge = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return name.size() >= 3 && name.size() <= 63 && is_edge(name.front()) && is_edge(name.back()) &&
         name.find("..") == std::string_view::npos &&
         std::ranges::all_of(name, [&](char c) { return is_edge(c) || c == '-' || c == '.'; });
}

UniqueFd open_beneath(int folder, const std::string& path, int flags, mode_t mode) noexcept {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const char* name = path.empty() ? "." : path.c_str();
  // EAGAIN: a rename raced with the resolution (openat2(2)); a few tries outlast any rename.
  for (int tries = 0; tries < 8; ++tries) {
    const long fd = ::syscall(__NR_openat2, folder, name, &how, sizeof(how));
    if (fd >= 0) return UniqueFd(static_cast<int>(fd));
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return UniqueFd();
}

}  // namespace s3rdmafs::target
