// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace s3rdmafs::vfs {

/// Which keys show, as src/vfs/file_system.h promises, written as simply as possible and without a
/// line of src/vfs/: for one state of a bucket, by checking every key. Plain value.
struct ReferenceModel {
  struct Object {
    std::string bytes;
    std::string etag;
  };
  std::map<std::string, Object> objects;

  /// The names in a directory with what each stands for: "directory PREFIX" or "file KEY ETAG".
  struct Directory {
    std::map<std::string, std::string> names;
    std::size_t hidden = 0;
  };

  [[nodiscard]] static bool can_be_a_name(std::string_view component) {
    return !component.empty() && component != "." && component != "..";
  }

  [[nodiscard]] Directory directory(const std::string& prefix) const {
    std::set<std::string> files;
    std::set<std::string> directories;
    for (const auto& [key, object] : objects) {
      if (!key.starts_with(prefix) || key == prefix) continue;
      const std::string below = key.substr(prefix.size());
      const std::size_t slash = below.find('/');
      (slash == std::string::npos ? files : directories).insert(below.substr(0, slash));
    }
    Directory result;
    for (const std::string& name : directories) {
      if (!can_be_a_name(name)) {
        ++result.hidden;
      } else {
        result.names[name] = "directory " + prefix + name + "/";
      }
    }
    for (const std::string& name : files) {
      if (!can_be_a_name(name) || directories.contains(name)) {
        ++result.hidden;
      } else {
        result.names[name] = "file " + prefix + name + " " + objects.at(prefix + name).etag;
      }
    }
    return result;
  }

  /// The node that one name stands for, or "nothing".
  [[nodiscard]] std::string child(const std::string& prefix, const std::string& name) const {
    const Directory all = directory(prefix);
    const auto found = all.names.find(name);
    return found == all.names.end() ? "nothing" : found->second;
  }

  [[nodiscard]] bool has_version(const std::string& key, const std::string& etag) const {
    const auto found = objects.find(key);
    return found != objects.end() && found->second.etag == etag;
  }
};

}  // namespace s3rdmafs::vfs
