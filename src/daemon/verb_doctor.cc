// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "daemon/doctor/checks.h"
#include "daemon/doctor/context.h"
#include "daemon/doctor/report.h"
#include "daemon/verbs.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {

int run_doctor(const DoctorCommand& command) {
  // What goes wrong is in the report; the log would say it twice.
  if (auto set = set_up_log("error", LogSink::kStandardError); !set) return report(set.error());
  doctor::Checks checks;
  doctor::add_machine_checks(checks);
  if (!command.file.empty()) {
    doctor::add_mount_file_checks(checks);
    doctor::add_network_checks(checks);
    doctor::add_bucket_checks(checks);
    doctor::add_transfer_checks(checks);
  }
  doctor::Context context;
  context.file = command.file;
  const doctor::Report findings = doctor::run_checks(checks, context);
  std::fputs((command.json ? doctor::to_json(findings) : doctor::to_text(findings)).c_str(),
             stdout);
  return doctor::exit_status(findings);
}

}  // namespace s3rdmafs::daemon
