// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/process/readiness.h"

#ifdef S3RDMAFS_HAVE_SYSTEMD
#include <systemd/sd-daemon.h>

#include "s3rdmafs/base/printable.h"
#endif

namespace s3rdmafs::daemon {

#ifdef S3RDMAFS_HAVE_SYSTEMD
void notify_ready(const std::string& status) {
  sd_notify(/*unset_environment=*/0, ("READY=1\nSTATUS=" + printable(status)).c_str());
}
void notify_stopping() { sd_notify(/*unset_environment=*/0, "STOPPING=1"); }
#else
void notify_ready(const std::string&) {}
void notify_stopping() {}
#endif

}  // namespace s3rdmafs::daemon
