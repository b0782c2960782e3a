// SPDX-License-Identifier: Apache-2.0
#include "metrics/runtime_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace s3rdmafs::metrics {
namespace {

enum class Owner { kNone, kUser, kOther };

// A symbolic link, or a folder that others may change, counts as another user's.
Owner owner_of(const std::string& folder, uid_t user) {
  struct stat found{};
  if (::lstat(folder.c_str(), &found) != 0) return Owner::kNone;
  const bool is_safe = S_ISDIR(found.st_mode) && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return is_safe && found.st_uid == user ? Owner::kUser : Owner::kOther;
}

std::string variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

RuntimePlaces RuntimePlaces::of_this_process() {
  return {.user = ::geteuid(), .runtime = variable("XDG_RUNTIME_DIR"), .home = variable("HOME")};
}

// The folder at home stays in use once it exists: a daemon may have its socket there, although the
// other user's folder has gone since.
std::string runtime_folder(const RuntimePlaces& places) {
  if (places.user == 0) return "/run/s3rdmafs";
  if (!places.runtime.empty()) return places.runtime + "/s3rdmafs";
  std::string temporary = places.temporary + "/s3rdmafs-" + std::to_string(places.user);
  if (places.home.empty()) return temporary;
  std::string at_home = places.home + "/.s3rdmafs";
  switch (owner_of(temporary, places.user)) {
    case Owner::kUser:
      return temporary;
    case Owner::kOther:
      return at_home;
    case Owner::kNone:
      break;
  }
  return owner_of(at_home, places.user) == Owner::kUser ? at_home : temporary;
}

}  // namespace s3rdmafs::metrics
