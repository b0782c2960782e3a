// SPDX-License-Identifier: Apache-2.0
// The only place that includes libfuse, so that its version is named once.
#pragma once

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 18)
#include <fuse_lowlevel.h>
