// SPDX-License-Identifier: Apache-2.0
// Each bucket of several is examined as if it were a mount's only one, in a context of its own that
// ends before the next begins: its test objects are removed, and its memory is free.
#include "daemon/doctor/examination.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "daemon/doctor/report/full_report.h"

namespace s3rdmafs::daemon::doctor {
namespace {

std::unique_ptr<Context> context_of(const Context& whole,
                                    const config::MountConfig::Directory& directory) {
  auto own = std::make_unique<Context>();
  own->file = whole.file;
  own->measures_long = whole.measures_long;
  own->test_bytes = whole.test_bytes;
  own->machine = whole.machine;
  own->environment = whole.environment;
  own->loaded = whole.loaded;
  own->bucket = directory.config;
  return own;
}

}  // namespace

Report examine(Context& context, const Checks& of_bucket) {
  const bool has_file = !context.file.empty();
  Report report = run_checks(machine_checks(has_file), context);
  if (!has_file) return report;
  if (!context.loaded || context.loaded->config.directories.empty()) {
    return run_checks(of_bucket, context, std::move(report));
  }
  for (const auto& directory : context.loaded->config.directories) {
    const auto own = context_of(context, directory);
    for (Entry& entry : run_checks(of_bucket, *own)) {
      entry.name = directory.name + ": " + entry.name;
      report.push_back(std::move(entry));
    }
    std::ranges::move(secrets_of(*own), std::back_inserter(context.secrets));
  }
  return report;
}

}  // namespace s3rdmafs::daemon::doctor
