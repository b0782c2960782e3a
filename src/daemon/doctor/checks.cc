// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/checks.h"

namespace s3rdmafs::daemon::doctor {

// In the order in which a mount needs the things checked, so that the first failure names the
// fault.
Checks machine_checks(bool has_mount_file) {
  Checks checks;
  add_machine_checks(checks);
  if (has_mount_file) add_mount_file_checks(checks);
  return checks;
}

Checks bucket_checks() {
  Checks checks;
  add_network_checks(checks);
  add_bucket_checks(checks);
  add_test_object_checks(checks);
  add_rail_checks(checks);
  add_transfer_checks(checks);
  add_fence_checks(checks);
  add_load_checks(checks);
  return checks;
}

}  // namespace s3rdmafs::daemon::doctor
