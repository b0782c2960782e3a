// SPDX-License-Identifier: Apache-2.0
#include "config/file_globs.h"

#include <fnmatch.h>

#include <algorithm>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::config {
namespace {

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  if (list.empty()) return parts;
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    if (comma != std::string_view::npos) list.remove_prefix(comma + 1);
  }
  return parts;
}

}  // namespace

FileGlobs::FileGlobs(std::string_view list) : globs_(split(list)) {}

bool FileGlobs::match(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  const char* const name = path.c_str() + (slash == std::string::npos ? 0 : slash + 1);
  return std::ranges::any_of(globs_, [&](const std::string& glob) {
    const bool is_path = glob.find('/') != std::string::npos;
    return ::fnmatch(glob.c_str(), is_path ? path.c_str() : name, FNM_PATHNAME) == 0;
  });
}

Result<std::string> check_globs(std::string_view list) {
  std::string globs(list);
  std::erase(globs, ' ');
  for (const std::string& glob : split(globs)) {
    if (!glob.empty() && !glob.starts_with('/')) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is no list of patterns; expected them with commas between and no "
                            "\"/\" in front, such as \"*.safetensors,index/*.bin\"",
                            list));
  }
  return globs;
}

}  // namespace s3rdmafs::config
