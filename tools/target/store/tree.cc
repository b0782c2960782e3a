// SPDX-License-Identifier: Apache-2.0
#include "target/store/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "target/store/key_path.h"
#include "target/store/metadata.h"

namespace s3rdmafs::target {
namespace {

unsigned char type_of(int folder, const char* name) {
  struct stat status{};
  if (::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return DT_UNKNOWN;
  return static_cast<unsigned char>(IFTODT(status.st_mode));
}

}  // namespace

int for_each_entry(int folder, const std::function<bool(const char*, unsigned char)>& visit) {
  // Its own open file: readdir() moves the position, and other threads read the same folder.
  UniqueFd own = open_beneath(folder, "", kOpenFolder);
  if (!own) return errno;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.get()), &::closedir);
  if (!stream) return errno;
  (void)own.release();
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) return errno;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    const unsigned char type =
        entry->d_type == DT_UNKNOWN ? type_of(folder, entry->d_name) : entry->d_type;
    if (!visit(entry->d_name, type)) return 0;
  }
}

bool contains_key(int folder) {
  bool found = false;
  std::vector<std::string> below;
  (void)for_each_entry(folder, [&](const char* name, unsigned char type) {
    found = type == DT_REG;
    if (type == DT_DIR) below.emplace_back(name);
    return !found;
  });
  for (std::size_t i = 0; i < below.size() && !found; ++i) {
    const UniqueFd next = open_beneath(folder, below[i], kOpenFolder);
    found = next && (is_marked_folder(next.get()) || contains_key(next.get()));
  }
  return found;
}

void remove_empty_folders(int folder) {
  std::vector<std::string> below;
  (void)for_each_entry(folder, [&](const char* name, unsigned char type) {
    if (type == DT_DIR) below.emplace_back(name);
    return true;
  });
  for (const std::string& name : below) {
    {
      const UniqueFd next = open_beneath(folder, name, kOpenFolder);
      if (next) remove_empty_folders(next.get());
    }
    ::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
  }
}

}  // namespace s3rdmafs::target
