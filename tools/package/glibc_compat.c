// SPDX-License-Identifier: Apache-2.0
//
// Functions that glibc 2.31 lacks for the static libraries of Debian 12, which were built for 2.36, and for our own code.
// Linked into the portable build's programs and hidden in them: a newer glibc never sees these.
#include "glibc_compat.h"

#include <stdint.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

// sys/single_threaded.h, 2.32: libstdc++ counts references without atomics while it is true. Never is safe.
char __libc_single_threaded = 0;

// stdlib.h, 2.36: the seed of std::random_device.
uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
  }
  return value;
}

int fsopen(const char* type, unsigned flags) { return (int)syscall(SYS_fsopen, type, flags); }

int fsconfig(int context, unsigned command, const char* key, const void* value, int aux) {
  return (int)syscall(SYS_fsconfig, context, command, key, value, aux);
}

int fsmount(int context, unsigned flags, unsigned attributes) {
  return (int)syscall(SYS_fsmount, context, flags, attributes);
}

int move_mount(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return (int)syscall(SYS_move_mount, from_folder, from, to_folder, to, flags);
}
