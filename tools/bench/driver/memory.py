# SPDX-License-Identifier: Apache-2.0
"""Keeps freed memory from being handed back to the host while the benchmark runs.

A virtual machine that reports free pages gives free blocks of 2 MiB back to its host, and the next touch of
one costs up to 2.5 s/GB: a benchmark that frees and takes page cache then measures the hypervisor. So memory is
touched once, and all of it but one page in every MiB is let go again: what is free is there, and never in a
block large enough to be reported.
"""

import mmap

MIB = 1 << 20


def hold(size_bytes):
    """Returns the mapping that holds the pages; they go with it."""
    memory = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range(0, size_bytes, mmap.PAGESIZE):
        memory[page] = 1
    for begin in range(0, size_bytes, MIB):
        memory.madvise(mmap.MADV_DONTNEED, begin + mmap.PAGESIZE, MIB - mmap.PAGESIZE)
    return memory


def available_bytes():
    with open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0
