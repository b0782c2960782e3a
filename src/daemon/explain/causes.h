// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/explain/look.h"

namespace s3rdmafs::daemon {

/// Why a mount is slower than it could be. For a person; each text is one sentence.
struct Finding {
  std::string cause;     ///< "reads wait for memory"
  std::string evidence;  ///< the numbers that show it
  std::string advice;    ///< what to do
};

/// One reason for slowness, and how it is told from the numbers.
struct Cause {
  std::string_view name;  ///< for tests and `--json`: "small_reads"
  std::optional<Finding> (*find)(const Look& look);
};

/// In the order in which they are told: what costs most comes first.
[[nodiscard]] std::vector<Cause> all_causes();
/// The rooms of that list.
[[nodiscard]] std::vector<Cause> server_causes();
[[nodiscard]] std::vector<Cause> read_causes();
[[nodiscard]] std::vector<Cause> write_causes();

}  // namespace s3rdmafs::daemon
