// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "daemon/cli/verbs.h"
#include "s3rdmafs/base/printable.h"

namespace s3rdmafs::daemon {

int report(const Error& error) {
  std::fprintf(stderr, "s3rdmafs: %s\n", printable(error.detail).c_str());
  return kExitFailure;
}

int report_mistakes(const Error& error) {
  std::fprintf(stderr, "s3rdmafs: %s\n", printable_lines(error.detail).c_str());
  return kExitFailure;
}

namespace {

struct Run {
  int operator()(const MountCommand& command) const { return run_mount(command); }
  int operator()(const UmountCommand& command) const { return run_umount(command); }
  int operator()(const StatsCommand& command) const { return run_stats(command); }
  int operator()(const WarmCommand& command) const { return run_warm(command); }
  int operator()(const DoctorCommand& command) const { return run_doctor(command); }
  int operator()(const ConfigCommand& command) const { return run_config(command); }
  int operator()(const ShowText& show) const {
    std::fputs(show.text.c_str(), stdout);
    return kExitSuccess;
  }
};

int run(std::span<char*> argv) {
  const std::vector<std::string> arguments(argv.begin(), argv.end());
  const auto command = parse_command_line(arguments, S3RDMAFS_VERSION);
  if (!command) {
    std::fprintf(stderr, "s3rdmafs: %s\n", printable_lines(command.error().detail).c_str());
    const bool is_doctor = arguments.size() > 1 && arguments[1] == "doctor";
    return is_doctor ? kExitDoctorUsage : kExitUsage;
  }
  return std::visit(Run{}, *command);
}

}  // namespace
}  // namespace s3rdmafs::daemon

int main(int argc, char** argv) {
  try {
    return s3rdmafs::daemon::run({argv, static_cast<std::size_t>(argc)});
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "s3rdmafs: %s\n", problem.what());  // memory ran out, or a bug of ours
    return s3rdmafs::daemon::kExitFailure;
  }
}
