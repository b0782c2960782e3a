# SPDX-License-Identifier: Apache-2.0
"""The kernel as tests need it: settings, restored afterwards, and pages that it may not reclaim."""

import ctypes
import fcntl
import mmap
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

MAX_PAGES_LIMIT = Path("/proc/sys/fs/fuse/max_pages_limit")
ENABLE_URING = Path("/sys/module/fuse/parameters/enable_uring")


# Shared by the processes that run test files side by side.
_LOCK = Path(tempfile.gettempdir()) / f"s3rdmafs-tests-settings-{os.geteuid()}.lock"


@contextmanager
def setting(path, value):
    """`path` has `value` while entered. One process of a user at a time changes settings; the others wait."""
    with open(os.open(_LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "r") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = path.read_text()
        path.write_text(value)
        try:
            yield
        finally:
            path.write_text(before)


def why_no_ring():
    """Empty, or why FUSE over io_uring cannot be tested here."""
    if os.geteuid() != 0:
        return "not root: FUSE over io_uring cannot be switched on"
    return "" if ENABLE_URING.exists() else "this kernel has no FUSE over io_uring"


def mount_with(transport, mount):
    """Calls mount(), with FUSE over io_uring switched on meanwhile if the transport needs it."""
    if transport != "uring":
        return mount()
    if why := why_no_ring():
        pytest.skip(why)
    with setting(ENABLE_URING, "Y"):
        return mount()


@contextmanager
def pages_locked(path):
    """All pages of a file are in the page cache while entered: the kernel may not reclaim them, however short of memory.

    Needs root, or a limit on locked memory above the file's size. The file must not be opened for direct I/O.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mlock.argtypes = libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    file = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(file).st_size
        address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
        assert address not in (None, ctypes.c_void_p(-1).value), os.strerror(ctypes.get_errno())
        try:
            assert libc.mlock(address, size) == 0, os.strerror(ctypes.get_errno())
            yield
        finally:
            libc.munmap(address, size)
    finally:
        os.close(file)
