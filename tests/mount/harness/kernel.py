# SPDX-License-Identifier: Apache-2.0
"""Settings of the kernel that a test needs, put back afterwards."""

from contextlib import contextmanager
from pathlib import Path

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
