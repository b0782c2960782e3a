// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/explain/causes.h"
#include "daemon/explain/look.h"
#include "daemon/top/top_model.h"

namespace s3rdmafs::daemon {

/// Makes a look of two samples: of the time between them, or, where nothing moved then, of all the
/// time since the mount.
[[nodiscard]] Look look_between(const TopSample& before, const TopSample& now);

/// Why a mount, or a file of it, is as fast as it is. Plain value.
struct Explanation {
  struct Named {
    std::string name;
    Finding finding;
  };
  std::string summary;            ///< what moves, in one line
  std::vector<std::string> file;  ///< of the file that was asked for, a line each
  std::vector<Named> causes;      ///< what costs most first
};

/// @param path  below the mount point; empty: no file
[[nodiscard]] Explanation explain(const Look& look, const std::string& path);

/// For a person.
[[nodiscard]] std::string to_text(const Explanation& explanation);
/// {"summary": TEXT, "file": [TEXT...], "causes": [{"name", "cause", "evidence", "advice"}...]}
[[nodiscard]] std::string to_json(const Explanation& explanation);

}  // namespace s3rdmafs::daemon
