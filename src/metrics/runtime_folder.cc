// SPDX-License-Identifier: Apache-2.0
#include "metrics/runtime_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace s3rdmafs::metrics {
namespace {

enum class Owner { kNobody, kUser, kSomebodyElse };

// A symbolic link or a folder that others may change is as good as somebody else's.
Owner owner_of(const std::string& folder, uid_t user) {
  struct stat found{};
  if (::lstat(folder.c_str(), &found) != 0) return Owner::kNobody;
  const bool is_safe = S_ISDIR(found.st_mode) && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return is_safe && found.st_uid == user ? Owner::kUser : Owner::kSomebodyElse;
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

// The one at home stays chosen once it is there: a daemon may have its socket in it, although the
// other user's folder is gone by now.
std::string runtime_folder(const RuntimePlaces& places) {
  if (places.user == 0) return "/run/s3rdmafs";
  if (!places.runtime.empty()) return places.runtime + "/s3rdmafs";
  std::string temporary = places.temporary + "/s3rdmafs-" + std::to_string(places.user);
  if (places.home.empty()) return temporary;
  std::string at_home = places.home + "/.s3rdmafs";
  switch (owner_of(temporary, places.user)) {
    case Owner::kUser:
      return temporary;
    case Owner::kSomebodyElse:
      return at_home;
    case Owner::kNobody:
      break;
  }
  return owner_of(at_home, places.user) == Owner::kUser ? at_home : temporary;
}

}  // namespace s3rdmafs::metrics
