# SPDX-License-Identifier: Apache-2.0
"""Settings of the kernel that a test needs, put back afterwards."""

import os
from contextlib import contextmanager
from pathlib import Path

import pytest

MAX_PAGES_LIMIT = Path("/proc/sys/fs/fuse/max_pages_limit")
ENABLE_URING = Path("/sys/module/fuse/parameters/enable_uring")


@contextmanager
def setting(path, value):
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
    """What mount() makes, with FUSE over io_uring switched on meanwhile if the transport needs it."""
    if transport != "uring":
        return mount()
    if why := why_no_ring():
        pytest.skip(why)
    with setting(ENABLE_URING, "Y"):
        return mount()
