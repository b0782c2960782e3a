// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "config/environment.h"
#include "config/load.h"
#include "config/print.h"
#include "daemon/cli/verbs.h"
#include "s3rdmafs/base/printable.h"

namespace s3rdmafs::daemon {

int run_config(const ConfigCommand& command) {
  const auto loaded = config::load_mount_config(
      command.file, config::Environment::of_this_process(), command.overrides);
  if (!loaded) return report_mistakes(loaded.error());
  for (const std::string& warning : loaded->warnings) {
    std::fprintf(stderr, "s3rdmafs: warning: %s\n", printable(warning).c_str());
  }
  std::fputs(config::print_config(*loaded).c_str(), stdout);
  return kExitSuccess;
}

}  // namespace s3rdmafs::daemon
