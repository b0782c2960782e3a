// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "daemon/cli/program.h"
#include "daemon/cli/verbs.h"

int main(int argc, char** argv) {
  try {
    return s3rdmafs::daemon::run_program({argv, argv + argc});
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "s3rdmafs: %s\n", problem.what());  // memory ran out, or a bug of ours
    return s3rdmafs::daemon::kExitFailure;
  }
}
