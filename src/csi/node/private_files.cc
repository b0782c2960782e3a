// SPDX-License-Identifier: Apache-2.0
#include "csi/node/private_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::csi {
namespace {

// Many times what a record with a Secret takes.
constexpr std::size_t kFileBytesMax = 16 * kMiB;

}  // namespace

Result<void> replace_file(const std::string& path, std::string_view text) {
  // One writer at a time has the name, so a fixed one does, and what a killed one left is used
  // again.
  const std::size_t slash = path.rfind('/');
  const std::string draft = path.substr(0, slash + 1) + "." + path.substr(slash + 1) + ".new";
  const UniqueFd file(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return fail_errno("make " + draft, errno);
  while (!text.empty()) {
    const ssize_t n = ::write(file.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("write " + draft, errno);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::rename(draft.c_str(), path.c_str()) != 0) return fail_errno("rename to " + path, errno);
  return {};
}

Result<std::optional<std::string>> read_private_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) return fail_errno("open " + path, errno);
  std::string text;
  std::array<char, 16'384> buffer{};
  while (text.size() <= kFileBytesMax) {
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read " + path, errno);
    if (n == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return fail(ErrorCode::kSystem, path + " is too large");
}

Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return fail_errno("make " + path, errno);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (!name.starts_with('.')) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

std::string hex_digest(std::string_view text, std::string_view key) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned length = 0;
  const auto* const data = reinterpret_cast<const unsigned char*>(text.data());
  if (key.empty()) {
    ::EVP_Digest(data, text.size(), bytes.data(), &length, ::EVP_sha256(), nullptr);
  } else {
    ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), data, text.size(),
           bytes.data(), &length);
  }
  std::string hex;
  for (unsigned at = 0; at < length; ++at) hex += fmt::format("{:02x}", bytes[at]);
  return hex;
}

}  // namespace s3rdmafs::csi
