// SPDX-License-Identifier: Apache-2.0
#include "config/file_globs.h"

#include <algorithm>

#include "s3rdmafs/base/ascii.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::config {
namespace {

std::vector<std::string> split_globs(std::string_view list) {
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

FileGlobs::FileGlobs(std::string_view list) {
  for (const std::string& pattern : split_globs(list)) {
    globs_.push_back(PathGlob::of_mount_file(pattern));
  }
}

bool FileGlobs::match(const std::string& path) const {
  return std::ranges::any_of(globs_, [&](const PathGlob& glob) { return glob.matches(path); });
}

Result<std::string> check_globs(std::string_view list) {
  std::string globs;
  for (const std::string& part : split_globs(list)) {
    const std::string_view glob = ascii_trimmed(part);  // a space inside belongs to the name
    if (!glob.empty() && !glob.ends_with('/') && !glob.contains("//")) {
      globs.append(globs.empty() ? "" : ",").append(glob);
      continue;
    }
    return fail_with_advice(ErrorCode::kInvalidArgument,
                            fmt::format("'{}' has a pattern that is empty, ends in \"/\" or has an "
                                        "empty component",
                                        list),
                            "expected patterns of files separated by commas, such as "
                            "\"*.safetensors,index/*.bin\"");
  }
  return globs;
}

}  // namespace s3rdmafs::config
