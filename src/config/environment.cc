// SPDX-License-Identifier: Apache-2.0
#include "config/environment.h"

#include <unistd.h>

#include <string_view>

namespace s3rdmafs::config {

std::optional<std::string> Environment::variable(const std::string& name) const {
  const auto found = variables.find(name);
  if (found == variables.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

Environment Environment::of_this_process() {
  Environment result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    result.variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  result.home = result.variable("HOME").value_or("");
  result.uid = ::getuid();
  result.gid = ::getgid();
  result.is_root = ::geteuid() == 0;
  return result;
}

}  // namespace s3rdmafs::config
