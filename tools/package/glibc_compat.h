// SPDX-License-Identifier: Apache-2.0
#pragma once

// Names that the code uses of glibc 2.32 to 2.36, for the headers of 2.31. The portable build
// includes it before every source file of C++ (tools/package/sysroot.sh).

// In this order: glibc before 2.36 defines the kernel's names of mount flags as an enumeration.
// clang-format off
#include <sys/mount.h>
#include <linux/mount.h>
// clang-format on

// madvise(2), Linux 5.14.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#ifdef __cplusplus
extern "C" {
#endif

// The system calls of the same names, Linux 5.2; glibc has functions for them since 2.36.
int fsopen(const char* type, unsigned flags);
int fsconfig(int context, unsigned command, const char* key, const void* value, int aux);
int fsmount(int context, unsigned flags, unsigned attributes);
int move_mount(int from_folder, const char* from, int to_folder, const char* to, unsigned flags);

#ifdef __cplusplus
}
#endif
