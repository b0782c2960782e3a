// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/program.h"

#include <cstdio>
#include <variant>

#include "daemon/cli/verbs.h"
#include "daemon/cli/version.h"
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

struct RunCommand {
  int operator()(const MountCommand& command) const { return run_mount(command); }
  int operator()(const UmountCommand& command) const { return run_umount(command); }
  int operator()(const StatsCommand& command) const { return run_stats(command); }
  int operator()(const TopCommand& command) const { return run_top(command); }
  int operator()(const ExplainCommand& command) const { return run_explain(command); }
  int operator()(const WarmCommand& command) const { return run_warm(command); }
  int operator()(const RecordCommand& command) const { return run_record(command); }
  int operator()(const ReloadCommand& command) const { return run_reload(command); }
  int operator()(const PastFuseCommand& command) const { return run_past_fuse(command); }
  int operator()(const RecoverCommand& command) const { return run_recover(command); }
  int operator()(const DoctorCommand& command) const { return run_doctor(command); }
  int operator()(const ManifestCommand& command) const { return run_manifest(command); }
  int operator()(const ConfigCommand& command) const { return run_config(command); }
  int operator()(const ShowText& show) const {
    std::fputs(show.text.c_str(), stdout);
    return kExitSuccess;
  }
};

}  // namespace

int run_program(const std::vector<std::string>& arguments) {
  const auto command = parse_command_line(arguments, version_text());
  if (command) return std::visit(RunCommand{}, *command);
  static_cast<void>(report_mistakes(command.error()));
  const bool is_doctor = arguments.size() > 1 && arguments[1] == "doctor";
  return is_doctor ? kExitDoctorUsage : kExitUsage;
}

}  // namespace s3rdmafs::daemon
