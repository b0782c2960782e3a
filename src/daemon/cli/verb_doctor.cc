// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <optional>

#include "daemon/cli/verbs.h"
#include "daemon/doctor/context.h"
#include "daemon/doctor/examination.h"
#include "daemon/doctor/report/full_report.h"
#include "daemon/doctor/report/report.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/new_file.h"

namespace s3rdmafs::daemon {
namespace {

int report_failure(const Error& error) {
  static_cast<void>(report(error));
  return kExitDoctorReport;
}

}  // namespace

int run_doctor(const DoctorCommand& command) {
  // The report has every finding; the log would repeat them.
  if (auto set = set_up_log("error", LogSink::kStandardError); !set) return report(set.error());
  std::optional<NewFile> file;
  if (!command.report.empty()) {
    auto created = NewFile::create("report", command.report);
    if (!created) return report_failure(created.error());  // fails before minutes of checks
    file.emplace(std::move(*created));
  }
  doctor::Context context;
  context.file = command.file;
  context.measures_long = command.measure;
  if (command.measure) context.test_bytes = doctor::TestMemory::kLongBytes;
  const doctor::Report findings = doctor::examine(context);
  std::fputs((command.json ? doctor::to_json(findings) : doctor::to_text(findings)).c_str(),
             stdout);
  if (file) {
    const auto written = file->commit(doctor::full_report(findings, context, S3RDMAFS_VERSION));
    if (!written) return report_failure(written.error());
  }
  return doctor::exit_status(findings);
}

}  // namespace s3rdmafs::daemon
