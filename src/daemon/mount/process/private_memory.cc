// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/process/private_memory.h"

#include <sys/prctl.h>

namespace s3rdmafs::daemon {

// prctl(2) cannot fail with this argument.
void keep_memory_private() noexcept { ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

}  // namespace s3rdmafs::daemon
